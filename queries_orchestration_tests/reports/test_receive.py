"""A receive of a report's render: what ends it, and what each end leaves."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.model.errors import NotFound, TransientError
from queries_orchestration.model.ids import new_id
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.reports import render
from queries_orchestration.reports.receive import work
from queries_orchestration.settings import REPORT_LANE
from queries_orchestration.store.exports import Export
from queries_orchestration_tests.exports.admitted import admit
from queries_orchestration_tests.exports.test_receive import is_bare, receives_of
from queries_orchestration_tests.house import House
from queries_orchestration_tests.report_house import build_report_house

SECRETS = ("Confidential", "98765", "2401")


@pytest.fixture
def database_kind() -> str:
    """One kind is enough here; reading is tested with both."""
    return "sqlite"


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    return build_report_house(tmp_path, store_url, source_url)


def test_a_run_without_an_offer_renders_what_waits_and_nothing_else(house: House) -> None:
    export_id = ask(house)

    made = work(house.backends, export_id, offer_number=None, run_id="by hand")

    assert isinstance(made, Export)
    assert (made.id, made.state, made.code) == (export_id, "ready", None)
    again = work(house.backends, export_id, offer_number=None, run_id="by hand")
    assert isinstance(again, NothingToDo)
    assert "settled already" in again.reason
    with pytest.raises(NotFound):
        work(house.backends, new_id(), offer_number=None, run_id="by hand")


def test_a_render_ends_at_its_own_deadline(house: House) -> None:
    export_id = ask(house)

    assert with_deadlines(house, render=0.000_001).work(REPORT_LANE) == ["receive_timeout"]

    assert is_bare(house, export_id)
    assert house.claim(export_id).state == "waiting"
    others = with_deadlines(house, delivery=0.000_001, export=0.000_001)
    assert work_again(others) == ["ready"]
    assert receives_of(house, export_id) == [(1, "receive_timeout"), (2, None)]


def test_a_dropped_column_fails_it_at_once_and_names_the_dataset(house: House) -> None:
    export_id = ask(house)
    change(house, "ALTER TABLE orders DROP COLUMN amount")

    assert house.work(REPORT_LANE) == ["source_broken"]

    export = house.asked_export(export_id)
    assert (export.state, export.code) == ("failed", "source_broken")
    assert "cannot be read as it is defined" in (export.message or "")
    assert house.claim(export_id).state == "done"
    assert is_bare(house, export_id)
    assert house.work(REPORT_LANE) == []


def test_an_error_that_nobody_foresaw_is_tried_again_and_not_told(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError(SECRETS[0])

    export_id = ask(house)
    with monkeypatch.context() as patched:
        patched.setattr(render, "write_workbook", fail)
        (offer,) = house.offer(REPORT_LANE)
        with pytest.raises(TransientError) as failed:
            work(house.backends, export_id, offer_number=offer.number, run_id="run")

    assert failed.value.code == "unexpected_error"
    assert SECRETS[0] not in failed.value.message + caplog.text
    assert "RuntimeError" in caplog.text
    assert is_bare(house, export_id)
    assert work_again(house) == ["ready"]


@pytest.mark.parametrize("file_format", ["pdf", "xlsx"])
@pytest.mark.parametrize("end", ["ready", "source_broken"])
def test_neither_rows_nor_values_reach_a_log(
    house: House, caplog: pytest.LogCaptureFixture, file_format: str, end: str
) -> None:
    change(house, "UPDATE orders SET region = 'Confidential' || id, amount = 98765.43")
    if end == "source_broken":
        change(house, "UPDATE orders SET amount = 'Confidential' WHERE id = 2500")
    caplog.set_level("DEBUG")
    export_id = ask(house, file_format=file_format, values={"at_least": 2_401})

    assert house.work(REPORT_LANE) == [end]

    told = caplog.text + (house.asked_export(export_id).message or "")
    for secret in SECRETS:
        assert secret not in told


def ask(house: House, **asked: Any) -> str:
    """Let ada ask for the report; returns the export's id."""
    return admit(house, **{"query": "sales", "file_format": "xlsx", **asked})


def work_again(house: House) -> list[str]:
    """Work the next receive, as soon as it may start."""
    ended: list[str] = []
    while not ended:
        ended = house.work(REPORT_LANE)
    return ended


def with_deadlines(
    house: House, *, render: float = 60, delivery: float = 60, export: float = 60
) -> House:
    """Return the house whose receives end after so many seconds."""
    settings = replace(
        house.backends.settings,
        render_deadline=render,
        delivery_deadline=delivery,
        export_deadline=export,
    )
    return house.with_backends(replace(house.backends, settings=settings))


def change(house: House, statement: str) -> None:
    """Change the source."""
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()
