"""A month of 200 schedules over both changes of the clocks, with kills, failures and people.

The same functions as in production run without Dagster. An independent model says what must come
of it; the mailbox is the witness from outside.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from queries_orchestration_tests.simulation.fates import (
    NOTICE_STEPS,
    SENDING_STEPS,
    SETTLED,
    Fates,
)
from queries_orchestration_tests.simulation.happenings import draw_happenings, draw_outages
from queries_orchestration_tests.simulation.model import Model
from queries_orchestration_tests.simulation.month import Month
from queries_orchestration_tests.simulation.organisation import (
    ZONES,
    draw_organisation,
)
from queries_orchestration_tests.simulation.witness import (
    check_counters,
    check_deliveries,
    check_history,
    check_mailbox,
    check_notices,
    check_storage,
)
from queries_orchestration_tests.simulation.world import build_world, no_waiting_for_disks

SEED = 20270314
SCHEDULES = {"sqlite": 200, "postgresql": 40}
MORE_SEEDS = 12
LEAST_KINDS_OF_KILLS = 15


def test_every_slot_of_a_month_is_accounted_for(
    tmp_path: Path, store_url: str, database_kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    month = simulate(SEED, SCHEDULES[database_kind], tmp_path, store_url, monkeypatch)

    works = [work for one in month.model.schedules.values() for work in one.works]
    outcomes = {work.outcome for work in works}
    # What was drawn is worth the while: nothing of it is seldom.
    assert {"delivered", "skipped_empty", "failed", "missed"} <= outcomes
    if database_kind == "sqlite":
        assert {"delivered_partly", "no_recipients"} <= outcomes
        states = {state for work in works for state in work.rows.values()}
        assert states == {"sent", "skipped", "refused", "uncertain", "unsent"}
        assert {SETTLED, *SENDING_STEPS, *NOTICE_STEPS} <= set(month.kills)
        assert len(month.kills) >= LEAST_KINDS_OF_KILLS
    assert {one.rule.zone for one in month.model.schedules.values()} == set(ZONES)


@pytest.mark.parametrize("more", range(MORE_SEEDS))
def test_a_month_of_another_seed(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    store_url: str,
    monkeypatch: pytest.MonkeyPatch,
    more: int,
) -> None:
    if not request.config.getoption("--soak"):
        pytest.skip("more seeds with --soak")
    simulate(SEED + 1 + more, 200, tmp_path, store_url, monkeypatch)


def simulate(
    seed: int, schedules: int, folder: Path, store_url: str, monkeypatch: pytest.MonkeyPatch
) -> Month:
    """Go through the month of one seed and hear every witness."""
    print(f"seed {seed}, {schedules} schedules")  # noqa: T201 pytest shows it with a failure
    fates = Fates(seed)
    organisation = draw_organisation(fates.random("organisation"), schedules)
    world = build_world(folder, store_url, organisation, monkeypatch)
    month = Month(
        world=world,
        model=Model(organisation, world.clock.at),
        fates=fates,
        happenings=draw_happenings(fates.random("happenings"), organisation),
        outages=draw_outages(fates.random("outages")),
    )
    with no_waiting_for_disks(monkeypatch, world.backends):
        month.run()
        check_history(world, month.model)
        check_deliveries(world, month.model)
        messages = check_mailbox(world, month.model)
        told = check_notices(world, month.model)
        check_storage(world)
        check_counters(world)
    print(messages, told, month.ends, month.kills)  # noqa: T201
    return month
