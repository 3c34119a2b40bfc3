"""kill -9 within what a pass does beside admitting: recovery, expiry, quarantine."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import recover
from queries_orchestration.deliveries.recover import recover_silent
from queries_orchestration.receives.runs import RunState
from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration_tests.crash.kills import (
    finish,
    kill_pass_at,
    kill_receive_at,
    wait_until_silent,
)
from queries_orchestration_tests.crash.witness import assert_delivered_once, visible
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.no_runs import NoRuns

BEFORE_THE_SLOT = MONDAY - timedelta(hours=1)
IN_EXPIRY = ("marked expired, not removed", "removed, not recorded")
IN_WHAT_IS_LEFT = "upload aborted, not removed"
IN_RECOVERY = ("silent receive taken, not ended", "lost run reported, receive not ended")
IN_QUARANTINE = "quarantined, nobody told"


@pytest.mark.parametrize("step", IN_RECOVERY)
def test_a_pass_killed_while_it_recovers_a_receive_leaves_it_to_the_next(
    house: House, step: str
) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "sending recorded")
    wait_until_silent(house)

    kill_pass_at(house, step)
    assert house.claim(offer.key).receive_number == 1
    finish(house)

    assert assert_delivered_once(house).receive_number == 2


@pytest.mark.parametrize("step", IN_EXPIRY)
def test_a_pass_killed_in_expiry_is_followed_by_another(house: House, step: str) -> None:
    house.deliver(MONDAY)
    later = MONDAY + timedelta(days=6) + timedelta(days=4)
    export = house.export(house.history()[0].key)
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET state = 'ended', next_slot = NULL"))
    kill_pass_at(house, step, at=later)
    assert visible(house) == [export.storage_key] * (step == IN_EXPIRY[0])
    assert house.export(house.history()[0].key).removed_at is None

    house.dispatch(later)

    assert visible(house) == []
    expired = house.export(house.history()[0].key)
    assert (expired.state, expired.removed_at) == ("expired", later)


def test_a_pass_killed_while_it_removes_what_was_left_is_followed_by_another(house: House) -> None:
    export_id = house.ask_export()
    (offer,) = house.offer(EXPORT_LANE)
    kill_receive_at(house, offer, "page written")
    recover.cancel(house.backends, EXPORT_LANE, house.workspace_id, export_id)
    assert house.asked_export(export_id).upload_id is not None
    kill_pass_at(house, IN_WHAT_IS_LEFT, at=BEFORE_THE_SLOT)

    house.dispatch(BEFORE_THE_SLOT)

    assert house.asked_export(export_id).upload_id is None
    assert [path for path in (house.folder / "home" / "files").rglob("*") if path.is_file()] == []


def test_a_pass_killed_after_a_quarantine_has_paused_it_with_its_slot(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET cron = 'never'"))
    kill_pass_at(house, IN_QUARANTINE)

    house.dispatch(MONDAY)

    assert [one.outcome for one in house.history()] == ["failed"]
    assert house.schedule().pause_code == "invalid_recurrence"
    assert house.told() == [("ada@example.org", "Weekly orders is paused")]


@pytest.mark.parametrize("fails", [True, False])
def test_a_dead_run_is_reported_whatever_happens_to_the_pass_that_found_it(
    house: House, *, fails: bool
) -> None:
    """Dagster errs, or the pass dies, right where it reports the run."""
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")
    runs = _RunsThatErr(errs=fails)

    for attempt in range(2):
        wait_until_silent(house)
        dies = attempt == 0 and not fails
        backends = replace(house.backends, reached=_die if dies else house.backends.reached)
        with suppress(KeyboardInterrupt):
            recover_silent(backends, runs)

    assert set(runs.reported) == {"child"}
    assert house.claim(offer.key).state == "waiting"
    finish(house)
    assert_delivered_once(house)


class _RunsThatErr(NoRuns):
    """Dagster, which knows the run as working; the first report goes wrong."""

    def __init__(self, *, errs: bool) -> None:
        self.reported: list[str] = []
        self._errs = errs

    def of_receive(self, _run_id: str) -> RunState:
        return "working"

    def report_lost(self, run_id: str) -> None:
        if self._errs:
            self._errs = False
            raise RuntimeError("Dagster's storage is busy")
        self.reported.append(run_id)


def _die(step: str) -> None:
    if step == IN_RECOVERY[1]:
        raise KeyboardInterrupt
