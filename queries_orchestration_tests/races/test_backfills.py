"""A backfill beside another, a pass, a pause, a deletion or a failure: each slot once."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration_tests.house import MONDAY, SET_UP, WEEK, House
from queries_orchestration_tests.races.track import Racer, at_once, each_at_once, racers

HOURLY = """\
workspace: {name: acme}
schedules:
  hourly: {title: Hourly, query: all-orders, owner: ada, cron: 0 * * * *, time_zone: UTC,
    format: csv, recipients: [bob]}
"""


def test_two_backfills_at_once_admit_each_missed_slot_once_and_it_is_delivered_once(
    house: House, rounds: int
) -> None:
    now = MONDAY + rounds * WEEK
    assert house.deliver(now) == ["delivered"]
    with racers(house) as racing:
        for turn in range(rounds):
            day = (MONDAY + turn * WEEK).date().isoformat()
            done = at_once(racing, "backfill", now, day=day)
            assert sum(one["missed"] for one in done) == 1
            looks = at_once(racing, "offer", now, lane=DELIVERY_LANE)
            (offer,) = (offer for look in looks for offer in look["offers"])
            assert racing[0].do("take", now, **offer) == "delivered"

    assert [one.outcome for one in house.history()] == ["delivered"] * (rounds + 1)
    assert house.addressees().count("bob@example.org") == rounds + 1


def test_two_backfills_at_once_admit_each_missing_slot_once(house: House) -> None:
    house.apply(HOURLY)
    schedule_id = house.schedule("hourly").id
    now = SET_UP + timedelta(days=2)
    house.clock.at = now
    schedule_changes.pause(
        house.backends, house.workspace_id, schedule_id=schedule_id, by=OPERATOR, reason="Test."
    )
    schedule_changes.resume(
        house.backends, house.workspace_id, schedule_id=schedule_id, by=OPERATOR
    )
    day = (SET_UP + timedelta(days=1)).date().isoformat()

    with racers(house) as racing:
        done = at_once(racing, "backfill", now, day=day)

    assert sum(one["missing"] for one in done) == 24
    assert len(house.history("hourly")) == 24


def test_a_backfill_beside_a_pass_takes_what_the_pass_misses_and_nothing_else(
    house: House, rounds: int
) -> None:
    turns = rounds // 2  # each is of two slots
    with racers(house) as racing:
        for turn in range(turns):
            # Two slots come due: the pass records the first as missed, and admits the second.
            missed, newest = MONDAY + 2 * turn * WEEK, MONDAY + (2 * turn + 1) * WEEK
            ask = {"do": "backfill", "day": missed.date().isoformat()}
            passed, filled = each_at_once(racing, newest, {"do": "pass", "offer": False}, ask)
            again = racing[1].do(at=newest, **ask)

            assert passed["admitted"] == 1
            assert filled["missed"] + again["missed"] == 1
            assert (filled["missing"], again["missing"]) == (0, 0)
            offers = racing[0].do("offer", newest, lane=DELIVERY_LANE)["offers"]
            assert [racing[0].do("take", newest, **one) for one in offers] == ["delivered"] * 2

    assert [(one.outcome, one.via) for one in house.history()] == [
        ("delivered", "backfill"),
        ("delivered", "recurrence"),
    ] * turns
    assert house.addressees().count("bob@example.org") == 2 * turns


@pytest.mark.parametrize("how", ["pause", "delete"])
def test_what_a_backfill_admits_while_its_schedule_is_paused_or_deleted_never_waits(
    house: House, rounds: int, how: str
) -> None:
    names = [f"s{number}" for number in range(rounds)]
    house.apply("workspace: {name: acme}\nschedules:\n" + "".join(map(_weekly, names)))
    house.dispatch(MONDAY + WEEK)
    now = MONDAY + WEEK + timedelta(minutes=1)
    with racers(house) as racing:
        for name in names:
            whose = {"workspace": house.workspace_id, "schedule": house.schedule(name).id}
            ask = {"do": "backfill", "day": MONDAY.date().isoformat(), **whose}
            filled, _ = each_at_once(racing, now, ask, {"do": how, **whose})

            ended = {"pause": "paused", "delete": "ended"}[how]
            assert house.schedule(name).state == ended
            assert filled in (f"schedule_{ended}", _filled(missed=1))
            (slot, _) = house.history(name)
            assert (slot.outcome, slot.state) == ("missed", "settled")
            if how == "pause":
                assert racing[1].do("resume", now, **whose)
                assert racing[0].do(at=now, **ask) == _filled(missed=1)


def test_a_backfill_beside_the_failure_that_calls_it_off_loses_no_slot(
    house: House, rounds: int
) -> None:
    """Two are worked at once: neither of the transactions waits for the other."""
    house.apply(HOURLY)
    day = (SET_UP + timedelta(days=1)).date()
    now = SET_UP + timedelta(days=3)
    house.deliver(now)
    _rename(house, "orders", "elsewhere")
    ask = {"do": "backfill", "day": day.isoformat()}
    other = {"do": "backfill", "day": (day + timedelta(days=1)).isoformat()}
    with racers(house) as racing:
        assert racing[0].do(at=now, **ask) == _filled(missed=24)
        assert _take_next(racing[0], now) == "source_broken"
        (offer,) = racing[0].do("offer", now, lane=DELIVERY_LANE)["offers"]
        failed, filled = each_at_once(racing, now, {"do": "take", **offer}, other)

        assert (failed, filled) == ("source_broken", _filled(missed=24))
        called_off = [one.code for one in house.history("hourly")].count("backfill_called_off")
        assert called_off in (22, 46)
        _rename(house, "elsewhere", "orders")
        first, second = racing[0].do(at=now, **ask), racing[1].do(at=now, **other)
        assert first["called_off"] == 22
        assert second == _filled(called_off=called_off - 22)
    waiting = [one for one in house.history("hourly") if one.is_backfilled]
    assert [one.state for one in waiting] == ["waiting"] * 48


def _weekly(name: str) -> str:
    return (
        f"  {name}: {{title: Weekly, query: all-orders, owner: ada, cron: 0 8 * * 1, format: csv,\n"
        "    recipients: [bob]}\n"
    )


def _filled(**numbers: int) -> dict[str, int]:
    return {"missed": 0, "missing": 0, "called_off": 0} | numbers


def _take_next(racer: Racer, now: datetime) -> str:
    (offer,) = racer.do("offer", now, lane=DELIVERY_LANE)["offers"]
    return str(racer.do("take", now, **offer))


def _rename(house: House, old: str, new: str) -> None:
    """Rename the table that is read."""
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))
    engine.dispose()
