"""A report is delivered: rendered in its own lane, awaited, flagged when it changed."""

from __future__ import annotations

import io
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from pypdf import PdfReader
from python_calamine import CalamineWorkbook

from queries_orchestration.deliveries.recover import cancel
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.exports import receive as exports_receive
from queries_orchestration.model.errors import Refused, StorageUnavailable
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.reports import receive as reports_receive
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE, MAX_RECEIVES, REPORT_LANE
from queries_orchestration.storage.interface import PartReceipt
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.report_house import (
    SALES,
    SCHEDULE,
    SECTIONS,
    build_report_house,
    render_of,
    rendering,
    report_catalog,
    waited,
    waiting,
)


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    return build_report_house(tmp_path, store_url, source_url)


def test_a_report_is_rendered_in_its_lane_and_reaches_each_recipient(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = rendering(build_report_house(tmp_path, store_url, source_url, file_format="pdf"))

    assert house.deliver(MONDAY) == ["delivered"]

    (occurrence,) = house.history()
    export = house.export(occurrence.key)
    assert (export.state, export.format, export.purpose) == ("ready", "pdf", "delivery")
    assert export.completed_at is not None
    assert export.expires_at == export.completed_at + timedelta(days=9)
    # 7 regions, the 101 orders from 2,400 on, and nobody's
    assert export.rows == 7 + 101
    text = "".join(page.extract_text() for page in PdfReader(io.BytesIO(_file(house))).pages)
    for words in ("Sales of the week", "Amounts by region", "Large orders", "2,500", "No rows"):
        assert words in text
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    (message, _) = house.messages()
    body = message.get_body(("plain",))
    assert body is not None
    assert "PDF" in body.get_content()
    assert " rows" not in body.get_content()
    assert not occurrence.source_changed


def test_the_message_tells_how_many_sections_show_less_than_there_is(house: House) -> None:
    settings = replace(house.backends.settings, report_rows=50)
    house = rendering(house.with_backends(replace(house.backends, settings=settings)))

    assert house.deliver(MONDAY) == ["delivered"]

    assert house.export(house.history()[0].key).cut_sections == 1
    (message, _) = house.messages()
    body = message.get_body(("plain",))
    assert body is not None
    assert "1 section shows less than there is; the file says where." in body.get_content()


def test_a_report_is_delivered_as_a_workbook(house: House) -> None:
    house = rendering(house)

    assert house.deliver(MONDAY) == ["delivered"]

    assert _orders(house) == list(range(2_400, 2_501))
    rows = _sheets(house)["Large orders"]
    total = sum(number + 0.25 for number in range(2_400, 2_501))
    assert rows[-1][2] == pytest.approx(total, abs=1e-9)


def test_the_render_is_never_offered_to_the_export_lane_and_never_to_two_runs(
    house: House,
) -> None:
    seen: list[list[str]] = []

    def look() -> None:
        (offer,) = house.offer(REPORT_LANE)
        seen.append([offer.key])
        assert house.offer(EXPORT_LANE) == []
        assert house.offer(REPORT_LANE) == []
        assert house.take(offer) == "ready"
        assert house.take(offer) == "nothing"

    assert waiting(house, look).deliver(MONDAY) == ["delivered"]

    assert seen == [[render_of(house).id]]


def test_a_receive_waits_twelve_minutes_ever_longer_and_then_ends(house: House) -> None:
    house = waiting(house)

    assert house.deliver(MONDAY) == ["render_unfinished"]

    assert sum(waited(house)) == pytest.approx(720)
    assert waited(house)[:6] == [0.5] * 6
    assert sorted(waited(house)[:-1]) == waited(house)[:-1]
    assert max(waited(house)) == 15.0
    assert len(waited(house)) < 70
    occurrence = house.history()[0]
    assert occurrence.outcome is None
    assert house.claim(occurrence.key).state == "waiting"
    assert render_of(house).state == "queued"
    assert house.messages() == []


def test_a_later_receive_awaits_the_same_render(house: House) -> None:
    house = waiting(house)
    house.deliver(MONDAY)
    first = render_of(house)
    house.work(REPORT_LANE)

    assert _next(house) == ["delivered"]

    assert house.history()[0].receive_number == 2
    assert render_of(house).id == first.id
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_a_render_that_is_unfinished_at_the_third_receive_fails_the_delivery(
    house: House,
) -> None:
    house = waiting(house)
    house.deliver(MONDAY)
    for _ in range(MAX_RECEIVES - 1):
        _next(house)

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "render_unfinished")
    assert occurrence.receive_number == MAX_RECEIVES
    assert house.schedule().failure_streak == 1
    assert render_of(house).state == "queued"
    assert house.messages() == []


def test_a_render_that_completes_after_its_delivery_failed_is_kept(house: House) -> None:
    house = waiting(house)
    house.deliver(MONDAY)
    for _ in range(MAX_RECEIVES - 1):
        _next(house)
    house.clock.at += timedelta(minutes=1)

    assert house.work(REPORT_LANE) == ["ready"]

    (occurrence,) = house.history()
    export = render_of(house)
    assert occurrence.outcome == "failed"
    assert (export.state, export.completed_at) == ("ready", house.clock.at)
    assert export.expires_at == house.clock.at + timedelta(days=9)
    assert _orders(house) == list(range(2_400, 2_501))
    assert house.messages() == []


def test_a_render_that_fails_for_good_fails_the_delivery_at_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> PartReceipt:
        raise StorageUnavailable("The storage is full.")

    monkeypatch.setattr(LocalStorage, "upload_part", full)
    house = rendering(house)

    assert house.deliver(MONDAY) == ["render_failed"]

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "render_failed")
    assert "storage_unavailable" in (occurrence.message or "")
    assert occurrence.receive_number == 1
    assert (render_of(house).state, render_of(house).code) == ("failed", "storage_unavailable")
    assert house.claim(render_of(house).id).receive_number == MAX_RECEIVES
    assert house.work(DELIVERY_LANE) == []


def test_an_owner_who_lost_a_section_fails_the_delivery_and_pauses_the_schedule(
    house: House,
) -> None:
    _take_away_regions(house)
    house = rendering(house)

    assert house.deliver(MONDAY) == ["access_lost"]

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "access_lost")
    assert 'Section "Amounts by region"' in (occurrence.message or "")
    assert house.schedule().state == "paused"
    assert occurrence.export_id is None
    assert house.messages() == []


@pytest.mark.parametrize("when", ["before it is rendered", "after it is rendered"])
def test_access_that_is_lost_while_the_delivery_waits_is_lost(house: House, when: str) -> None:
    def meanwhile() -> None:
        if when == "after it is rendered":
            assert house.work(REPORT_LANE) == ["ready"]
        _take_away_regions(house)
        house.work(REPORT_LANE)

    assert waiting(house, meanwhile).deliver(MONDAY) == ["access_lost"]

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "access_lost")
    assert 'Section "Amounts by region"' in (occurrence.message or "")
    assert house.schedule().state == "paused"
    assert house.messages() == []


def test_the_current_version_is_rendered_and_the_change_since_the_set_up_is_flagged(
    house: House,
) -> None:
    house.apply(_changed_report("Sales as of now"))
    house = rendering(house)

    assert house.deliver(MONDAY) == ["delivered"]

    (occurrence,) = house.history()
    assert occurrence.source_changed
    assert (house.schedule().pinned_version, render_of(house).version) == (1, 2)
    assert "As of now" in _text(house)
    body = house.messages()[0].get_body(("plain",))
    assert body is not None
    assert "The report has changed since this schedule was set up" in body.get_content()


def test_a_changed_query_is_a_changed_report(house: House) -> None:
    catalog = yaml.safe_load(report_catalog())
    query = catalog["queries"]["large-orders"]
    query["sort"] = [{"field": "id", "direction": "desc"}]
    house.apply(yaml.safe_dump({"workspace": {"name": "acme"}, "queries": {"large-orders": query}}))
    house = rendering(house)

    assert house.deliver(MONDAY) == ["delivered"]

    assert house.history()[0].source_changed
    assert _orders(house) == list(range(2_500, 2_399, -1))


def test_a_report_that_changes_between_two_receives_stays_what_the_first_one_found(
    house: House,
) -> None:
    house = waiting(house)
    house.deliver(MONDAY)
    house.apply(_changed_report("Sales as of now"))
    house.work(REPORT_LANE)

    assert _next(house) == ["delivered"]

    (occurrence,) = house.history()
    assert not occurrence.source_changed
    assert render_of(house).version == 1
    assert "As of now" not in _text(house)
    assert house.deliver(MONDAY + WEEK) == ["render_unfinished"]
    assert house.history()[1].source_changed


def test_run_now_queues_the_render_with_the_click_and_reads_as_the_clicking_person(
    house: House,
) -> None:
    house.clock.at = MONDAY
    key = run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )
    export = house.export(key)
    assert house.claim(export.id).lane == REPORT_LANE

    assert house.work(REPORT_LANE) == ["ready"]
    assert house.work(DELIVERY_LANE) == ["delivered"]

    assert export.actor_id == house.person("ada")
    assert export.runtime_values == {"at_least": 2_400}
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_a_report_without_any_rows_is_delivered_all_the_same(house: House) -> None:
    house.apply(
        yaml.safe_dump(
            {
                "workspace": {"name": "acme"},
                "reports": {"sales": {**SALES, "sections": SECTIONS[3:]}},
                "schedules": {"weekly": {**SCHEDULE, "format": "xlsx", "values": {}}},
            }
        )
    )

    assert rendering(house).deliver(MONDAY) == ["delivered"]
    assert render_of(house).rows == 0
    assert "No rows" in _text(house)


def test_a_cancelled_delivery_takes_its_render_with_it(house: House) -> None:
    house = waiting(house)
    house.deliver(MONDAY)
    (occurrence,) = house.history()

    assert cancel(house.backends, DELIVERY_LANE, house.workspace_id, occurrence.key)

    assert house.history()[0].outcome == "cancelled"
    assert render_of(house).state == "cancelled"
    assert house.work(REPORT_LANE) == []


def test_a_render_that_an_operator_cancels_fails_the_delivery(house: House) -> None:
    def meanwhile() -> None:
        assert cancel(house.backends, REPORT_LANE, house.workspace_id, render_of(house).id)

    assert waiting(house, meanwhile).deliver(MONDAY) == ["render_failed"]
    assert house.history()[0].code == "render_failed"


def test_work_of_one_lane_is_refused_by_the_job_of_another(house: House) -> None:
    house.clock.at = MONDAY
    report = house.ask_export("sales", file_format="pdf")
    query = house.ask_export("all-orders")

    for work, key in ((exports_receive.work, report), (reports_receive.work, query)):
        with pytest.raises(Refused) as refused:
            work(house.backends, key, offer_number=None, run_id="by hand")
        assert refused.value.code == "other_lane"
    assert house.claim(report).state == house.claim(query).state == "waiting"
    assert not isinstance(
        reports_receive.work(house.backends, report, offer_number=None, run_id="by hand"),
        NothingToDo,
    )


def _next(house: House) -> list[str]:
    """Work the next receive, as soon as it may start."""
    ended: list[str] = []
    while not ended:
        ended = house.work(DELIVERY_LANE)
    return ended


def _file(house: House) -> bytes:
    return house.file(house.history()[0].key)


def _sheets(house: House) -> dict[str, list[list[object]]]:
    """The cells of the workbook by the names of its sheets."""
    book = CalamineWorkbook.from_filelike(io.BytesIO(_file(house)))
    return {
        name: [list(row) for row in book.get_sheet_by_name(name).to_python()]
        for name in book.sheet_names
    }


def _orders(house: House) -> list[object]:
    """The ids in the workbook's table of orders, in their order."""
    return [row[0] for row in _sheets(house)["Large orders"] if row[0] in range(1, 2_501)]


def _text(house: House) -> str:
    return str(_sheets(house))


def _changed_report(title: str) -> str:
    sections = [{"text": "As of now.", "title": title}, *SECTIONS]
    return yaml.safe_dump(
        {"workspace": {"name": "acme"}, "reports": {"sales": {**SALES, "sections": sections}}}
    )


def _take_away_regions(house: House) -> None:
    catalog = yaml.safe_load(report_catalog())
    regions = catalog["datasets"]["regions"]
    regions["access"] = [{"who": {"roles": ["administrator"]}, "fields": "all", "rows": "all"}]
    house.apply(yaml.safe_dump({"workspace": {"name": "acme"}, "datasets": {"regions": regions}}))
