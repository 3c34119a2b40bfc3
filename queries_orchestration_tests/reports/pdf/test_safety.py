"""Whatever a report says: nothing is run, fetched or logged, and nothing is lost silently."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
from pypdf import PdfReader

from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import TransientError
from queries_orchestration.reports.content import Chart, Series, Table, Text
from queries_orchestration.reports.pdf.document import write_pdf
from queries_orchestration_tests.reports.pdf.printed import (
    links_of,
    names_of,
    print_report,
    text_of,
)
from queries_orchestration_tests.reports.pdf.samples import (
    REGION,
    UNKIND,
    content,
    head,
    names_chart,
    number,
    numbered,
    weekly_report,
)


@pytest.fixture(scope="module")
def unkind() -> PdfReader:
    """A report that says harmful things wherever something can be said."""
    chart = Chart(
        kind="bar",
        x=Column(UNKIND[4], "text"),
        x_values=UNKIND,
        series=(Series(label=UNKIND[0], column=REGION, values=tuple(range(len(UNKIND)))),),
    )
    contents = numbered(
        content(Text(markdown="\n\n".join(UNKIND)), UNKIND[0], notices=UNKIND),
        content(
            Table(
                columns=(Column(UNKIND[1], "text"), Column(UNKIND[2], "json")),
                rows=[(text, text) for text in UNKIND],
                totals=None,
            ),
            UNKIND[2],
        ),
        content(chart, UNKIND[4]),
        content(number(UNKIND[1]), UNKIND[6]),
    )
    return print_report(
        contents,
        head(
            contents,
            title=UNKIND[6],
            workspace=UNKIND[2],
            reader=UNKIND[4],
            values=tuple((text, text) for text in UNKIND),
        ),
    )[0]


def test_what_is_written_is_printed_whatever_it_is(unkind: PdfReader) -> None:
    text = text_of(unkind).replace(" ", "")
    for each in UNKIND[:-1]:
        assert text.count(each.replace(" ", "")) >= 4


def test_nothing_in_a_report_is_run_attached_or_linked(unkind: PdfReader) -> None:
    assert links_of(unkind) == []
    assert unkind.attachments == {}
    names = names_of(unkind)
    assert not names & {
        "/JavaScript", "/JS", "/OpenAction", "/AA", "/EmbeddedFiles", "/EmbeddedFile", "/Filespec",
        "/Launch", "/URI", "/GoToR", "/AcroForm", "/RichMedia",
    }  # fmt: skip
    assert {"/Annots", "/Link"} <= names  # the contents': what we look for is looked at


def test_no_file_and_no_network_is_asked_for() -> None:
    script = """
import io, json, sys
asked = []
def listen(event, args):
    if event in ("open", "socket.connect", "socket.getaddrinfo", "subprocess.Popen"):
        asked.append(f"{event} {args[0]!r}")
    if event.startswith(("urllib.", "ftplib.", "http.")):
        asked.append(event)
from queries_orchestration_tests.reports.pdf.samples import UNKIND, content, head, names_chart
from queries_orchestration.reports.content import Text
from queries_orchestration.reports.pdf.document import write_pdf
sections = [content(Text(markdown=text), text, notices=(text,)) for text in UNKIND]
write_pdf(head(), [content(names_chart()), *sections], io.BytesIO())  # loads and reads fonts
sys.addaudithook(listen)
write_pdf(head(sections), [content(names_chart()), *sections], io.BytesIO())
print(json.dumps(asked))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    asked = json.loads(done.stdout)
    assert not [each for each in asked if not each.startswith("open")]
    assert not [each for each in asked if "passwd" in each or "localhost" in each]


def test_a_document_that_asks_for_anything_is_refused() -> None:
    from queries_orchestration.model.errors import PermanentError
    from queries_orchestration.reports.pdf.printer import print_pages

    for address in ("file:///etc/passwd", "http://localhost:9/x", "data:image/png,x", "chart:1"):
        with pytest.raises(PermanentError) as refused:
            print_pages(f'<img src="{address}" alt="x">', {"chart:0": "<svg/>"}, is_tagged=False)
        assert refused.value.code == "pdf_refused"
        assert address not in refused.value.message


def test_characters_that_cannot_be_shown_are_replaced_and_counted() -> None:
    bad = "a\x00b\ud800"
    contents = [
        content(
            Table(columns=(Column(bad, "text"),), rows=[(bad,)], totals=None), bad, notices=(bad,)
        ),
        content(Text(markdown=bad), None),
        content(names_chart(names=[bad, "b"]), None),
    ]
    reader, replaced = print_report(contents, head(contents, title=bad, values=((bad, bad),)))
    assert replaced == 2 * 9
    assert "a\ufffdb\ufffd" in text_of(reader)


def test_nothing_of_a_report_reaches_a_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    secret = "secret \U0010fffd [x](http://[secret)"
    contents = numbered(
        content(names_chart(names=[secret, "b"]), secret),
        content(Text(markdown=secret), secret),
        content(Table(columns=(REGION,), rows=[(secret,)], totals=None), secret),
    )
    print_report(contents, head(contents, title=secret))
    logging.getLogger("weasyprint").error("Failed to load %s", "secret")
    assert "secret" not in caplog.text
    assert "\U0010fffd" not in caplog.text
    assert [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR] == [
        f"printing a report: an error at test_safety:{caplog.records[-1].lineno}"
    ]


def test_our_style_is_the_only_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """WeasyPrint's has markers for every cell, which cost more memory than the cells."""
    from queries_orchestration.reports.pdf import printer

    asked = []

    def nothing(_self: object, forms: bool = False) -> list[object]:
        asked.append(forms)
        return []

    monkeypatch.setattr(printer._Document, "_ua_stylesheets", nothing)
    print_report([content(number(1))])
    assert asked


def test_the_style_has_no_fault(caplog: pytest.LogCaptureFixture) -> None:
    from queries_orchestration.reports.pdf.printer import _WITHOUT_ROWS

    log = logging.getLogger("weasyprint")
    log.removeFilter(_WITHOUT_ROWS)
    try:
        print_report(weekly_report())
    finally:
        log.addFilter(_WITHOUT_ROWS)
    assert [each for each in caplog.records if each.name.startswith("weasyprint")] == []


def test_without_pango_it_is_tried_again_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoPango(MetaPathFinder):
        def find_spec(
            self, name: str, path: object, target: ModuleType | None = None
        ) -> ModuleSpec | None:
            if name.partition(".")[0] == "weasyprint":
                raise OSError("cannot load library 'libpango-1.0-0'")
            return None

    for name in list(sys.modules):
        if name.partition(".")[0] == "weasyprint" or name.endswith("pdf.printer"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("queries_orchestration.reports.pdf.printer", raising=False)
    monkeypatch.setattr(sys, "meta_path", [NoPango(), *sys.meta_path])
    with pytest.raises(TransientError, match=r"libpango-1\.0-0 libpangoft2-1\.0-0") as raised:
        write_pdf(head(), [], io.BytesIO())
    assert raised.value.code == "pdf_unavailable"


def test_loading_it_loads_no_printer() -> None:
    script = """
import sys
import queries_orchestration.reports.pdf.document
slow = {"weasyprint", "matplotlib", "jinja2", "markdown_it"}
print(sorted(slow & set(sys.modules)))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, check=True, text=True
    )
    assert done.stdout.strip() == "[]"
