"""A row that somebody else has spoilt keeps no other from being worked, listed or told."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.deliveries import dispatch, schedule_changes
from queries_orchestration.deliveries.backfill import Backfilled
from queries_orchestration.deliveries.check import Finding, check
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration_tests.cli.conftest import Call, call  # noqa: F401 (a fixture)
from queries_orchestration_tests.deliveries.backfilled import fill
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House, build_house

TWO = CATALOG + CATALOG.split("schedules:\n")[1].replace("weekly:", "second:")
UNREADABLE = {"sqlite": "'garbage'", "postgresql": "'4000-01-01 BC'"}
"""What is no instant of ours, as each database takes it."""
SPOILT = [
    ("created_at", "'garbage'"),
    ("starts_on", "'garbage'"),
    ("runtime_values", "'{oops'"),
    ("cron", "x'ff'"),
    ("title", "CAST(x'ff' AS TEXT)"),
    ("lateness_limit", "'soon'"),
]


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    """A house with two schedules."""
    return build_house(tmp_path, store_url, source_url, catalog=TWO, rows=10)


def test_a_spoilt_notice_keeps_nobody_from_being_told_or_delivered_to(
    house: House, database_kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    _store(house, "UPDATE people SET active = :no WHERE name = 'ada'", no=False)
    assert house.deliver(MONDAY) == ["actor_inactive"] * 2
    _store(house, "UPDATE people SET active = :yes WHERE name = 'ada'", yes=True)
    key = _spoil(house, database_kind, "notices", "communication_key", "created_at")
    _resume_all(house)

    assert house.deliver(MONDAY + WEEK) == ["delivered"] * 2

    assert len(house.told()) == 1
    assert "unreadable_rows table=notices rows=1" in caplog.text
    assert [(one.code, one.work) for one in _found(house)] == [("unreadable_row", key)]


def test_a_spoilt_export_keeps_no_other_file_and_nobody_waiting(
    house: House, database_kind: str
) -> None:
    house.deliver(MONDAY)
    key = _spoil(house, database_kind, "exports", "id", "created_at")

    assert house.deliver(MONDAY + 2 * WEEK) == ["delivered"] * 2

    states = _store(house, "SELECT id, state FROM exports ORDER BY created_at")
    assert sorted(row.state for row in states) == ["expired", "ready", "ready", "ready"]
    assert [(one.code, one.work) for one in _found(house)] == [("unreadable_row", key)]
    house.clock.at = MONDAY + 5 * WEEK
    assert expire_files(house.backends) == 2


def test_whatever_goes_wrong_beside_the_pass_goes_on(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def failing(_backends: object) -> int:
        raise ZeroDivisionError(f"a row: {4_000 + 711}")

    monkeypatch.setattr(dispatch, "send_notices", failing)
    monkeypatch.setattr(dispatch, "expire_files", failing)

    assert house.deliver(MONDAY) == ["delivered"] * 2
    assert caplog.text.count("pass_step_failed step=failing code=unexpected_error") == 2
    assert "4711" not in caplog.text


@pytest.mark.parametrize("database_kind", ["sqlite"])
@pytest.mark.parametrize(("column", "value"), SPOILT)
def test_a_spoilt_schedule_is_told_as_such_and_written_anew_by_its_file(
    house: House,
    call: Call,  # noqa: F811
    column: str,
    value: str,
) -> None:
    """PostgreSQL takes few values that are none: see the next test."""
    house.deliver(MONDAY)
    _store(house, f"UPDATE schedules SET {column} = {value} WHERE name = 'second'")  # noqa: S608

    _is_told_and_mended(house, call)


def test_so_is_one_of_an_instant_that_no_clock_shows(
    house: House,
    call: Call,  # noqa: F811
    database_kind: str,
) -> None:
    house.deliver(MONDAY)
    value = UNREADABLE[database_kind]
    _store(house, f"UPDATE schedules SET created_at = {value} WHERE name = 'second'")  # noqa: S608

    _is_told_and_mended(house, call)


def test_what_is_written_anew_is_as_old_as_before_so_that_its_missed_slots_can_be_backfilled(
    house: House, database_kind: str
) -> None:
    created_at = house.schedule("second").created_at
    house.dispatch(MONDAY + WEEK)
    value = UNREADABLE[database_kind]
    _store(house, f"UPDATE schedules SET starts_on = {value} WHERE name = 'second'")  # noqa: S608
    _take_over(house)
    _resume_all(house, "second")

    assert house.schedule("second").created_at == created_at
    done = fill(house, MONDAY.date(), workspace_id=house.workspace_id)
    assert done == Backfilled(missed=2)


def _take_over(house: House) -> None:
    apply_catalog(
        house.backends.database,
        [house.folder / "catalog.yaml"],
        clock=house.clock,
        environment=house.environment,
        by=OPERATOR,
        take_over=True,
    )


def _is_told_and_mended(house: House, call: Call) -> None:  # noqa: F811
    listed = call(house.environment, "schedules", "list", "--json").json()
    assert [one["schedule"] for one in listed["schedules"]] == ["weekly"]
    assert listed["unreadable"] == ["second"]
    told = call(house.environment, "schedules", "list").out
    assert "second: its row cannot be read" in " ".join(told.split())
    history = json.loads(call(house.environment, "history", "--json").out)
    assert [one["schedule"] for one in history["occurrences"]] == ["weekly"]
    assert history["unreadable"] == ["acme/second"]
    assert "acme/second: its row cannot be read" in call(house.environment, "history").out
    assert [one.code for one in _found(house)] == ["unreadable_row"]

    _take_over(house)
    mended = house.schedule("second")
    assert (mended.state, mended.pause_code) == ("paused", "unreadable_row")
    assert _found(house) == []
    schedule_changes.resume(house.backends, house.workspace_id, schedule_id=mended.id, by=OPERATOR)
    assert house.deliver(MONDAY + WEEK) == ["delivered"] * 2


def _found(house: House) -> list[Finding]:
    found = check(
        house.backends.settings,
        house.backends.database,
        lane_limits=None,
        communications=house.backends.communications,
        at=house.clock.at,
        stuck_after=timedelta(days=999),
    )
    return [one for one in found if one.code == "unreadable_row"]


def _resume_all(house: House, *names: str) -> None:
    for name in names or ("weekly", "second"):
        schedule = house.schedule(name)
        schedule_changes.resume(
            house.backends, house.workspace_id, schedule_id=schedule.id, by=OPERATOR
        )


def _spoil(house: House, kind: str, table: str, key: str, column: str) -> str:
    (first,) = _store(house, f"SELECT min({key}) AS id FROM {table}")  # noqa: S608
    _store(
        house,
        f"UPDATE {table} SET {column} = {UNREADABLE[kind]} WHERE {key} = :id",  # noqa: S608
        id=first.id,
    )
    return str(first.id)


def _store(house: House, statement: str, **values: object) -> list[sa.Row[tuple[object, ...]]]:
    with house.backends.database.across.transaction() as connection:
        done = connection.execute(sa.text(statement), values)
        return list(done) if done.returns_rows else []
