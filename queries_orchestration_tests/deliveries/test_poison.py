"""Q07: one poisonous schedule is quarantined or settled, and stops nobody else."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import admit_due
from queries_orchestration.deliveries.schedule_changes import resume
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.model.ids import slot_key
from queries_orchestration.store import schedules
from queries_orchestration.store.cross_workspace import DueSchedule
from queries_orchestration.store.tables import sources
from queries_orchestration_tests.crash.kills import PATIENCE, kill_receive_at
from queries_orchestration_tests.house import MONDAY, WEEK, House

FIVE = ("first", "second", "third", "fourth", "fifth")

WORKSPACE = "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
CATALOG = (
    WORKSPACE + "people:\n  eve: {title: Eve Else, address: eve@example.org, roles: [author]}\n"
    "queries:\n  poison: {title: Poison, dataset: orders, fields: [{field: amount}]}\n"
    "schedules:\n"
    + "".join(
        f"  {name}: {{title: {name}, query: {'poison' if name == 'second' else 'no-orders'},"
        f" owner: {'eve' if name == 'second' else 'ada'}, cron: 0 8 * * 1, format: csv,"
        " recipients: [bob]}\n"
        for name in FIVE
    )
)


def _broken_source(house: House) -> None:
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders DROP COLUMN amount"))
    engine.dispose()


def _broken_rule(house: House) -> None:
    _store(house, "UPDATE schedules SET cron = '61 * * * *' WHERE name = 'second'")


def _unknown_zone(house: House) -> None:
    _store(house, "UPDATE schedules SET time_zone = 'Mars/Olympus' WHERE name = 'second'")


def _owner_gone(house: House) -> None:
    house.apply(WORKSPACE + "people:\n  eve: {title: Eve Else, roles: [author], active: false}\n")


def _source_gone(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.update(sources).where(sources.c.name == "poison").values(archived=True)
        )


def _unreadable_values(house: House) -> None:
    # PostgreSQL takes nothing that cannot be decoded, but JSON that is no mapping.
    if house.backends.database.is_sqlite:
        _store(house, "UPDATE schedules SET runtime_values = '{oops' WHERE name = 'second'")
    else:
        _store(house, "UPDATE schedules SET runtime_values = '[1]' WHERE name = 'second'")


def _unreadable_text(house: House) -> None:
    if not house.backends.database.is_sqlite:
        pytest.skip("PostgreSQL takes no text that is not in its encoding")
    _store(house, "UPDATE schedules SET title = CAST(x'ff' AS TEXT) WHERE name = 'second'")


def _unreadable_slot(house: House) -> None:
    if not house.backends.database.is_sqlite:
        pytest.skip("PostgreSQL takes no slot that is none")
    _store(house, "UPDATE schedules SET next_slot = '2020-99' WHERE name = 'second'")


@pytest.mark.parametrize(
    ("spoil", "ends"),
    [
        (_broken_source, {"active None failed"}),
        (_broken_rule, {"paused invalid_recurrence failed"}),
        (_unknown_zone, {"paused unknown_time_zone failed"}),
        (_owner_gone, {"paused actor_inactive failed"}),
        (_source_gone, {"active None failed"}),
        # What PostgreSQL can still decode is met when it is delivered.
        (_unreadable_values, {"paused unreadable_row failed", "active None failed"}),
        (_unreadable_text, {"paused unreadable_row failed"}),
        (_unreadable_slot, {"paused unreadable_row None"}),
    ],
)
def test_of_five_due_schedules_the_others_are_delivered(
    house: House, spoil: Callable[[House], None], ends: set[str]
) -> None:
    house.apply(CATALOG)
    _store(house, "UPDATE schedules SET state = 'ended', next_slot = NULL WHERE name = 'weekly'")
    third = house.schedule("third").id
    second = house.schedule("second").id
    spoil(house)

    # The worker of the third exits each time.
    end = time.monotonic() + PATIENCE
    while house.unsettled() or not house.history("third"):
        assert time.monotonic() < end
        for offer in house.dispatch(MONDAY).offers:
            if offer.schedule_id == third:
                kill_receive_at(house, offer, "started")
            else:
                house.take(offer)
        time.sleep(0.1)

    ended = {name: _ended(house, name) for name in FIVE if name != "second"}
    assert ended == {
        "first": ("delivered", None, 1),
        "third": ("failed", "worker_lost", 3),
        "fourth": ("delivered", None, 1),
        "fifth": ("delivered", None, 1),
    }
    state, pause_code = _state(house)
    assert f"{state} {pause_code} {_outcome(house, slot_key(second, MONDAY))}" in ends
    # Nothing of it is tried again, and nobody is delivered twice.
    before = len(house.messages())
    assert house.deliver(MONDAY) == []
    assert len(house.messages()) == before == 3


def test_an_error_that_nobody_foresaw_in_one_schedule_pauses_it_alone(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    house.apply(CATALOG)
    second = house.schedule("second").id
    admit = admit_due._admit

    def failing(backends: object, connection: object, due: Sequence[DueSchedule], at: object):  # type: ignore[no-untyped-def]
        done = admit(backends, connection, due, at)  # type: ignore[arg-type]
        if second in [one.id for one in due]:
            raise ZeroDivisionError(f"a row: {4_000 + 711}")
        return done

    monkeypatch.setattr(admit_due, "_admit", failing)

    assert house.dispatch(MONDAY).admitted == 5

    poisoned = house.schedule("second")
    assert (poisoned.state, poisoned.pause_code) == ("paused", "unexpected_error")
    assert "ZeroDivisionError" in (poisoned.pause_reason or "")
    (slot,) = house.history("second")
    assert (slot.outcome, slot.code, slot.slot) == ("failed", "unexpected_error", MONDAY)
    assert "4711" not in caplog.text + (poisoned.pause_reason or "") + (slot.message or "")
    assert house.dispatch(MONDAY + WEEK).missed == 0


def test_a_quarantined_schedule_goes_on_once_it_is_mended(house: House) -> None:
    _store(house, "UPDATE schedules SET cron = 'never' WHERE name = 'weekly'")
    house.dispatch(MONDAY)
    assert house.schedule().state == "paused"

    _store(house, "UPDATE schedules SET cron = '0 8 * * 1' WHERE name = 'weekly'")
    resume(house.backends, house.workspace_id, schedule_id=house.schedule().id, by=OPERATOR)

    assert house.deliver(MONDAY + WEEK) == ["delivered"]
    assert [one.outcome for one in house.history()] == ["failed", "delivered"]


def test_a_database_that_is_lost_in_the_middle_quarantines_nobody(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(*_: object, **__: object) -> bool:
        raise StoreUnavailable("The test has cut the line.")

    with monkeypatch.context() as patched:
        patched.setattr(schedules, "advance", lost)
        with pytest.raises(StoreUnavailable):
            house.dispatch(MONDAY)

    assert house.schedule().state == "active"
    assert house.deliver(MONDAY) == ["delivered"]


class _Stopwatch:
    """Fifteen seconds pass between two looks."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        self.seconds += 15
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def test_what_a_pass_has_no_time_for_is_left_to_the_next_one(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(admit_due, "SCHEDULES_A_BATCH", 1)
    house.apply(CATALOG)
    hasty = house.with_backends(replace(house.backends, waiting=_Stopwatch()))

    admitted = [hasty.dispatch(MONDAY).admitted for _ in range(8)]

    assert max(admitted) < 6
    assert sum(admitted) == 6
    assert all(len(house.history(name)) == 1 for name in (*FIVE, "weekly"))


def test_more_due_schedules_than_a_batch_are_admitted_in_one_pass(house: House) -> None:
    many = admit_due.SCHEDULES_A_BATCH * 2 + 5
    house.apply(
        WORKSPACE
        + "schedules:\n"
        + "".join(
            f"  s{number}: {{title: One, query: no-orders, owner: ada, cron: 0 8 * * 1,"
            " format: csv, recipients: [bob]}\n"
            for number in range(many)
        )
    )

    assert house.dispatch(MONDAY).admitted == many + 1
    assert house.dispatch(MONDAY).admitted == 0


def _store(house: House, statement: str) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql(statement)


def _ended(house: House, name: str) -> tuple[str | None, str | None, int]:
    (one,) = house.history(name)
    return one.outcome, one.code, one.receive_number


def _state(house: House) -> tuple[str, str | None]:
    """The state of the poisonous schedule, whose row need not be readable."""
    with house.backends.database.across.read() as connection:
        row = connection.execute(
            sa.text("SELECT state, pause_code FROM schedules WHERE name = 'second'")
        ).one()
    return row.state, row.pause_code


def _outcome(house: House, key: str) -> str | None:
    with house.backends.database.across.read() as connection:
        outcome: str | None = connection.scalar(
            sa.text("SELECT outcome FROM occurrences WHERE key = :key"), {"key": key}
        )
    return outcome
