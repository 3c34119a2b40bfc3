"""What piled up while nothing dispatched keeps nobody's fresh slot waiting."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import admit_due
from queries_orchestration.store.tables import schedules
from queries_orchestration_tests.house import CATALOG, MONDAY, House

TWELVE = [f"often-{number:02}" for number in range(12)]
TURNS = 3 * admit_due.SLOTS_A_TURN
HEAD = "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\nschedules:\n"


def _often(name: str, policy: str = "latest") -> str:
    return (
        f"  {name}: {{title: One, query: no-orders, owner: ada, cron: '*/5 * * * *', format: csv,"
        f" missed_slots: {policy}, recipients: [bob]}}\n"
    )


PILED_UP = HEAD + "".join(_often(name) for name in TWELVE)
BETA = CATALOG.replace("name: acme\n  title: Acme", "name: beta\n  title: Beta").replace(
    "weekly:", "of-beta:"
)
AFTER_TWO_DAYS = MONDAY + timedelta(days=2)
"""Five days after the set-up: 1,400 slots of each."""


class _Stopwatch:
    """A pass that has time for some looks only."""

    def __init__(self, looks: int) -> None:
        self._left = looks

    def now(self) -> float:
        self._left -= 1
        return 0.0 if self._left > 0 else 1_000.0

    def sleep(self, _seconds: float) -> None:
        raise AssertionError("a pass does not wait")


@pytest.fixture
def piled_up(house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    # A pass looks at its time before each batch.
    monkeypatch.setattr(admit_due, "SCHEDULES_A_BATCH", 1)
    house.apply(PILED_UP)
    house.apply(BETA)
    return house


def test_a_fresh_slot_of_another_workspace_has_its_turn_before_what_piled_up(
    piled_up: House,
) -> None:
    _fresh(piled_up, "of-beta")

    done = _hasty(piled_up, looks=5).dispatch(AFTER_TWO_DAYS)

    assert done.admitted == 1
    assert _next_slot(piled_up, "of-beta") > AFTER_TWO_DAYS


def test_a_fresh_slot_of_the_same_workspace_waits_for_a_share_of_each_only(
    piled_up: House,
) -> None:
    _fresh(piled_up, "weekly")

    done = _hasty(piled_up, looks=17).dispatch(AFTER_TWO_DAYS)

    assert _next_slot(piled_up, "weekly") > AFTER_TWO_DAYS
    assert done.missed <= len(TWELVE) * admit_due.SLOTS_A_TURN + 1


@pytest.mark.parametrize(("policy", "delivered"), [("latest", 1), ("none", 1), ("all", TURNS)])
def test_turn_by_turn_every_slot_is_a_row_and_the_policy_knows_the_newest(
    house: House, policy: str, delivered: int
) -> None:
    """The last slot of a turn is not the newest of all."""
    house.apply(HEAD + _often(TWELVE[0], policy))
    first = _next_slot(house, TWELVE[0])
    slots = [first + number * timedelta(minutes=5) for number in range(TURNS)]

    house.dispatch(slots[-1] + timedelta(minutes=1))

    rows = house.history(TWELVE[0])
    assert [one.slot for one in rows] == slots
    assert [one.slot for one in rows if one.outcome is None] == slots[-delivered:]


def test_missed_slots_are_written_together(house: House) -> None:
    house.apply(PILED_UP)
    statements: list[str] = []

    def note(*given: Any) -> None:
        if str(given[2]).startswith("INSERT INTO occurrences"):
            statements.append(str(given[2]))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    try:
        done = house.dispatch(_next_slot(house, TWELVE[0]) + timedelta(minutes=5 * 99))
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", note)

    assert done.missed == 99 * len(TWELVE)
    # Two turns of each, and one newest slot.
    assert len(statements) <= 3 * len(TWELVE)


def _hasty(house: House, *, looks: int) -> House:
    return house.with_backends(replace(house.backends, waiting=_Stopwatch(looks)))


def _fresh(house: House, name: str) -> None:
    """Let a schedule's next slot be a minute ago."""
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.update(schedules)
            .where(schedules.c.name == name)
            .values(next_slot=AFTER_TWO_DAYS - timedelta(minutes=1))
        )


def _next_slot(house: House, name: str) -> datetime:
    with house.backends.database.across.read() as connection:
        slot = connection.scalar(sa.select(schedules.c.next_slot).where(schedules.c.name == name))
    assert isinstance(slot, datetime)
    return slot
