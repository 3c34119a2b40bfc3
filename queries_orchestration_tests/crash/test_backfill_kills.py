"""kill -9 at every step of a backfill: launched again, it admits what is left, nothing twice."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.backfill import backfill
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration_tests.crash.kills import finish, kill_backfill_at
from queries_orchestration_tests.deliveries.audited import actions
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House

IN_A_BACKFILL = ("backfill, not committed", "schedules backfilled, not the next")
TWO_MORE = """\
workspace: {name: acme}
schedules:
  second: {title: Second, query: all-orders, owner: ada, cron: 0 8 * * 1, format: csv,
    recipients: [bob]}
  third: {title: Third, query: all-orders, owner: ada, cron: 0 8 * * 1, format: csv,
    recipients: [bob]}
"""
NAMES = ("weekly", "second", "third")


@pytest.mark.parametrize("step", IN_A_BACKFILL)
def test_a_backfill_killed_half_way_goes_on_where_it_was(house: House, step: str) -> None:
    house.apply(TWO_MORE)
    house.deliver(MONDAY + WEEK)
    house.clock.at = MONDAY + WEEK + timedelta(minutes=1)
    kill_backfill_at(house, MONDAY.date(), step, times=1)

    def admitted() -> int:
        return sum(one.is_backfilled for name in NAMES for one in house.history(name))

    # The three are of one batch, but on a machine that is very slow.
    done = admitted()
    assert (done > 0) == (step == IN_A_BACKFILL[1])
    assert actions(house) == ["backfill_launched"] * done

    assert backfill(house.backends, MONDAY.date(), by=OPERATOR).missed == 3 - done
    assert admitted() == 3
    assert actions(house) == ["backfill_launched"] * 3
    finish(house, at=house.clock.at)
    assert [one.outcome for name in NAMES for one in house.history(name)] == ["delivered"] * 6
    assert house.addressees() == ["bob@example.org"] * 6 + ["cyd@example.org"] * 2


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_one_killed_after_some_batches_leaves_the_others_to_the_next_and_takes_none_again(
    house: House, batch: int
) -> None:
    """Each workspace is a batch of its own."""
    houses = [house, _beside(house, "blue"), _beside(house, "cold")]
    house.deliver(MONDAY + WEEK)
    house.clock.at = MONDAY + WEEK + timedelta(minutes=1)
    kill_backfill_at(house, MONDAY.date(), IN_A_BACKFILL[1], times=batch)

    def admitted() -> int:
        return sum(one.is_backfilled for place in houses for one in place.history())

    assert admitted() == batch
    assert [backfill(house.backends, MONDAY.date(), by=OPERATOR).missed for _ in range(2)] == [
        3 - batch,
        0,
    ]
    assert admitted() == 3
    assert [actions(place) for place in houses] == [["backfill_launched"]] * 3
    finish(house, at=house.clock.at)
    assert {one.outcome for place in houses for one in place.history()} == {"delivered"}
    assert house.addressees() == ["bob@example.org"] * 6 + ["cyd@example.org"] * 6


def _beside(house: House, name: str) -> House:
    """The same organisation once more, as another workspace."""
    house.apply(CATALOG.replace("name: acme", f"name: {name}"))
    with house.backends.database.across.read() as connection:
        found = sa.text("SELECT id FROM workspaces WHERE name = :name")
        workspace_id = connection.scalar(found, {"name": name})
    return replace(house, workspace_id=str(workspace_id))
