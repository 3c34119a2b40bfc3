"""Files made of texts, and the texts that values have."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from queries_orchestration.exports.file_writer import FileOptions
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.xlsx_stream.stream import XlsxStream
from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration_tests.exports.read_back import BERLIN, Cell, Sink, as_page, read_sheet

ZONE = ZoneInfo("Europe/Berlin")

TextRow = Sequence[str | None]


def streamed(
    columns: Sequence[Column],
    *pages: Sequence[TextRow],
    options: FileOptions = BERLIN,
) -> tuple[bytes, XlsxStream]:
    """Return the file that pages become, and its writer."""
    sink = Sink()
    with XlsxStream(sink, columns, options) as writer:
        for page in filter(None, pages):
            writer.write_page(as_page(page))
        writer.finish()
    return sink.content, writer


def cell(kind: ValueType, value: str | None) -> Cell | None:
    """The cell of one text, as it stands in the file."""
    return read_sheet(streamed([Column("a", kind)], [(value,)])[0])[1][0]


def as_texts(rows: Sequence[Sequence[object]]) -> list[list[str | None]]:
    """The texts of values, as a database hands them out."""
    form = TextForm(ZONE)
    return [[None if value is None else form(value) for value in row] for row in rows]


def text(content: str) -> Cell:
    return Cell("text", content)


def number(content: str, number_format: str = "") -> Cell:
    return Cell("number", content, number_format)
