"""Two backfills of a day at the same moment, or one beside a dispatcher: each slot once."""

from __future__ import annotations

from datetime import timedelta

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration_tests.house import MONDAY, SET_UP, WEEK, House
from queries_orchestration_tests.races.track import at_once, racers

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
