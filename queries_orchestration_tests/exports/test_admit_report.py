"""An interactive export of a report: its lane, its files, and what each failure leaves."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import yaml
from pypdf import PdfReader
from python_calamine import CalamineWorkbook

from queries_orchestration.exports import make_file
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.exports.download import download
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.model.errors import (
    AccessLost,
    NotFound,
    QueriesError,
    ReceiveLost,
    SourceUnavailable,
)
from queries_orchestration.reports.receive import work
from queries_orchestration.settings import EXPORT_LANE, MAX_RECEIVES, REPORT_LANE
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export
from queries_orchestration_tests.downloads import click, export_of
from queries_orchestration_tests.exports.admitted import (
    admit,
    at_point,
    everything,
    requested,
)
from queries_orchestration_tests.exports.test_receive import is_bare, receives_of
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.report_house import report_catalog

HOUR, WEEK = timedelta(hours=1), timedelta(days=7)
REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("ada", {"file_format": "csv"}, "format_not_offered", "A report is made as pdf or xlsx"),
    (
        "ada",
        {"query": "large-orders", "file_format": "pdf"},
        "format_not_offered",
        "A query is made as csv or xlsx",
    ),
    ("cyd", {}, "access_lost", 'Section "Amounts by region"'),
    ("dan", {}, "actor_inactive", "not active"),
    ("ada", {"values": {"at_least": "many"}}, "invalid_value", "at_least"),
    ("ada", {"values": {"unheard-of": 1}}, "invalid_value", "The report has no parameter"),
    ("ada", {"query": "nothing"}, "not_found", "'nothing'"),
]
"""Who, what else they ask for, the code, and what the message says."""


@pytest.fixture
def house(house: House) -> House:
    """The house with the report, at its first slot."""
    catalog = yaml.safe_load(report_catalog())
    del catalog["schedules"]
    house.apply(yaml.safe_dump(catalog))
    house.clock.at = MONDAY
    return house


def test_an_export_of_a_report_waits_in_the_lane_of_reports(house: House) -> None:
    before = everything(house)

    export_id = admit_report(house, values={"at_least": 2_400}, file_format="pdf")

    export, claim = export_of(house, export_id), house.claim(export_id)
    assert (export.state, export.purpose, export.format) == ("queued", "interactive", "pdf")
    assert (export.actor_id, export.version) == (house.person("ada"), 1)
    assert export.runtime_values == {"at_least": 2_400}
    assert export.storage_key == f"{house.workspace_id}/{export_id}.pdf"
    assert requested(house) == [export_id]
    assert (claim.lane, claim.state, claim.offer_number) == ("report", "waiting", 0)
    after = everything(house)
    assert {name for name in after if after[name] != before[name]} == {
        "audit_events",
        "exports",
        "requests",
        "claims",
    }
    assert house.offer(EXPORT_LANE) == house.offer("delivery") == []
    (offer,) = house.offer(REPORT_LANE)
    assert offer.key == export_id


def test_what_cannot_be_exported_is_refused_by_code_and_name_and_writes_nothing(
    house: House,
) -> None:
    before = everything(house)

    for person, asked, code, named in REFUSED:
        with pytest.raises(QueriesError) as refused:
            admit_report(house, person, **asked)
        assert (refused.value.code, asked) == (code, asked)
        assert named in refused.value.message
        assert everything(house) == before, code


def test_it_is_made_in_both_formats_kept_seven_days_and_is_its_requesters(house: House) -> None:
    as_pdf = admit_report(house, values={"at_least": 2_400}, file_format="pdf")
    as_workbook = admit_report(house, values={"at_least": 2_499})
    house.clock.at += HOUR

    assert house.work(REPORT_LANE) == ["ready", "ready"]

    printed = download_of(house, as_pdf)
    assert printed[1:] == ("Sales of the week 2027-01-04.pdf", "application/pdf")
    pages = "".join(page.extract_text() for page in PdfReader(io.BytesIO(printed[0])).pages)
    assert "2,500" in pages
    assert "Ada Owner" in pages
    content, file_name, content_type = download_of(house, as_workbook)
    assert file_name == "Sales of the week 2027-01-04.xlsx"
    assert content_type.endswith("spreadsheetml.sheet")
    book = CalamineWorkbook.from_filelike(io.BytesIO(content))
    cells = [row[0] for row in book.get_sheet_by_name("Large orders").to_python()]
    assert [cell for cell in cells if cell in (2_498, 2_499, 2_500)] == [2_499, 2_500]
    for export_id, rows, data in ((as_pdf, 7 + 101, printed[0]), (as_workbook, 7 + 2, content)):
        export = export_of(house, export_id)
        assert (export.rows, export.rows_done, export.size) == (rows, rows, len(data))
        assert export.completed_at == MONDAY + HOUR
        assert export.expires_at == MONDAY + HOUR + WEEK
        assert receives_of(house, export_id) == [(1, None)]
        assert house.claim(export_id).state == "done"
    with pytest.raises(NotFound):
        download_of(house, as_pdf, "bob")
    house.clock.at += WEEK
    assert expire_files(house.backends) == 2
    assert is_bare(house, as_pdf)


def test_a_requester_who_lost_one_section_can_no_longer_download_it(house: House) -> None:
    export_id = admit_report(house)
    assert house.work(REPORT_LANE) == ["ready"]
    assert download_of(house, export_id)
    take_away_regions(house)

    with pytest.raises(AccessLost) as lost:
        download_of(house, export_id)

    assert lost.value.code == "access_lost"
    assert 'Section "Amounts by region": The person' in lost.value.message


def test_a_requester_who_lost_one_section_since_gets_nothing(house: House) -> None:
    export_id = admit_report(house)
    take_away_regions(house)

    assert house.work(REPORT_LANE) == ["access_lost"]

    export = export_of(house, export_id)
    assert (export.state, export.code) == ("failed", "access_lost")
    assert 'Section "Amounts by region"' in (export.message or "")
    assert is_bare(house, export_id)
    assert house.work(REPORT_LANE) == []


def test_cancelled_while_it_waits_no_run_renders_it(house: House) -> None:
    export_id = admit_report(house)
    (offer,) = house.offer(REPORT_LANE)

    cancel(house, export_id)

    export = export_of(house, export_id)
    assert (export.state, export.message) == ("cancelled", "Cancelled by who asked for it.")
    assert house.claim(export_id).state == "done"
    assert house.take(offer) == "nothing"
    assert house.work(REPORT_LANE) == []
    assert is_bare(house, export_id)


def test_cancelled_between_two_sections_the_render_stops_and_nothing_is_left(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(make_file, "PROGRESS_INTERVAL", 0.0)
    export_id = admit_report(house)
    steps: list[str] = []

    def look(step: str) -> None:
        steps.append(step)
        if steps.count("page written") == 2 and step == "page written":
            cancel(house, export_id)

    watched = house.with_backends(replace(house.backends, reached=look))
    assert watched.work(REPORT_LANE) == ["receive_lost"]

    # The second of four sections was the last one, and nothing of the worker's came after it.
    assert (steps[-1], steps.count("page written")) == ("page written", 2)
    export = export_of(house, export_id)
    assert (export.state, export.message) == ("cancelled", "Cancelled by who asked for it.")
    assert house.claim(export_id).state == "done"
    assert is_bare(house, export_id)
    assert house.work(REPORT_LANE) == []


def test_cancelled_when_the_file_is_complete_the_next_pass_removes_it(house: House) -> None:
    export_id = admit_report(house)
    cancelling = at_point(house, "file complete, not recorded", lambda: cancel(house, export_id))

    assert cancelling.work(REPORT_LANE) == ["receive_lost"]

    assert export_of(house, export_id).state == "cancelled"
    assert expire_files(house.backends) == 1
    assert is_bare(house, export_id)


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("file_format", ["pdf", "xlsx"])
def test_a_transient_failure_is_tried_again_with_the_same_export_and_key(
    house: House, file_format: str
) -> None:
    export_id = admit_report(house, file_format=file_format)
    key = export_of(house, export_id).storage_key

    assert at_point(house, "page written", away).work(REPORT_LANE) == ["source_unavailable"]

    export, claim = export_of(house, export_id), house.claim(export_id)
    assert (export.state, claim.state, claim.receive_number) == ("running", "waiting", 1)
    assert is_bare(house, export_id)
    assert work_again(house) == ["ready"]
    assert export_of(house, export_id).storage_key == key
    assert receives_of(house, export_id) == [(1, "source_unavailable"), (2, None)]
    assert download_of(house, export_id)


def test_after_three_receives_it_has_failed_with_the_code_and_the_section(house: House) -> None:
    export_id = admit_report(house)
    without_url = house.with_backends(
        replace(house.backends, environment={**house.environment, "SHOP_URL": ""})
    )

    for _ in range(MAX_RECEIVES):
        assert work_again(without_url) == ["source_unavailable"]

    export = export_of(house, export_id)
    assert (export.state, export.code) == ("failed", "source_unavailable")
    assert 'Section "Amounts by region"' in (export.message or "")
    assert "SHOP_URL" in (export.message or "")
    assert (requested(house), house.claim(export_id).state) == ([], "done")
    assert is_bare(house, export_id)
    assert house.work(REPORT_LANE) == []


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize("step", ["upload begun, not recorded", "upload recorded", "page written"])
def test_a_renderer_that_was_taken_over_leaves_no_file(
    house: House, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    monkeypatch.setattr(make_file, "PROGRESS_INTERVAL", 0.0)
    export_id = admit_report(house)
    (offer,) = house.offer(REPORT_LANE)
    late = at_point(house, step, lambda: take_over(house, export_id))

    with pytest.raises(ReceiveLost):
        work(late.backends, export_id, offer_number=offer.number, run_id="late")

    claim = house.claim(export_id)
    assert (claim.state, claim.receive_number) == ("running", 2)
    assert is_bare(house, export_id)
    assert export_of(house, export_id).state in ("queued", "running")


def test_the_file_of_who_took_it_over_stays(house: House) -> None:
    export_id = admit_report(house)
    (offer,) = house.offer(REPORT_LANE)
    made: list[Export] = []

    def overtake() -> None:
        number = wait_again(house, export_id)
        ready = work(house.backends, export_id, offer_number=number, run_id="new")
        assert isinstance(ready, Export)
        made.append(ready)

    late = at_point(house, "page written", overtake)
    with pytest.raises(ReceiveLost):
        work(late.backends, export_id, offer_number=offer.number, run_id="late")

    assert export_of(house, export_id) == made[0]
    assert house.backends.storage.size(made[0].storage_key) == made[0].size
    assert house.backends.storage.open_uploads("") == []
    assert len(download_of(house, export_id)[0]) == made[0].size


def admit_report(house: House, person: str = "ada", **asked: Any) -> str:
    """Ask for the report, as workbook if nothing else is said; returns the export's id."""
    return admit(house, person, **{"query": "sales", "file_format": "xlsx", **asked})


def download_of(house: House, export_id: str, person: str = "ada") -> tuple[bytes, str, str]:
    """Download a file: content, name and type."""
    link = download(
        house.backends.database,
        house.backends.storage,
        clock=house.clock,
        environment=house.environment,
        workspace_id=house.workspace_id,
        by=house.by(person),
        export_id=export_id,
    )
    return click(house, link)


def cancel(house: House, export_id: str) -> None:
    cancel_export(
        house.backends,
        house.workspace_id,
        by=house.by("ada"),
        export_id=export_id,
    )


def away() -> None:
    raise SourceUnavailable("The test's source is away.")


def work_again(house: House) -> list[str]:
    """Work the next receive, as soon as it may start."""
    ended: list[str] = []
    while not ended:
        ended = house.work(REPORT_LANE)
    return ended


def wait_again(house: House, export_id: str) -> int:
    """Let the work wait again, as recovery does when its worker is silent; returns the offer."""
    receive = Receive(house.workspace_id, export_id, 1)
    with house.backends.database.across.transaction() as connection:
        claims.wait_again(connection, receive, code="worker_lost", delay=0)
    (offer,) = house.offer(REPORT_LANE)
    return offer.number


def take_over(house: House, export_id: str) -> None:
    """Start the next receive of the work."""
    number = wait_again(house, export_id)
    with house.backends.database.across.transaction() as connection:
        taken = claims.start(
            connection, house.workspace_id, export_id, offer_number=number, run_id="new"
        )
    assert taken == Receive(house.workspace_id, export_id, 2)


def take_away_regions(house: House) -> None:
    """Let nobody but administrators see the dataset of one section."""
    regions = yaml.safe_load(report_catalog())["datasets"]["regions"]
    regions["access"] = [{"who": {"roles": ["administrator"]}, "fields": "all", "rows": "all"}]
    house.apply(yaml.safe_dump({"workspace": {"name": "acme"}, "datasets": {"regions": regions}}))
