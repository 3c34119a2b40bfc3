"""Recovery with Dagster's word: terminated, lost, queued and never started runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import dagster as dg
import pytest
from dagster import DagsterRunStatus as Status
from dagster._core.errors import DagsterExecutionInterruptedError

from queries_orchestration.definitions import defs
from queries_orchestration.deliveries import make_file as make_file_step, recover
from queries_orchestration.deliveries.recover import recover_silent, tend_offers
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.deliveries.settle import settle_skipped_empty
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.dagster_runs import DagsterRuns
from queries_orchestration.orchestration.run_requests import job_of, run_config_of, tags_of
from queries_orchestration.receives.boundary import try_again
from queries_orchestration.receives.start import NothingToDo, start
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE
from queries_orchestration.store import cross_workspace
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.house import MONDAY, House

Found = TypeVar("Found")

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


@pytest.mark.parametrize("status", [Status.NOT_STARTED, Status.STARTING])
def test_an_offer_whose_run_waits_in_dagster_is_renewed(
    job_house: House, instance: dg.DagsterInstance, status: Status
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    _make_run(job_house, instance, offer, status)
    before = job_house.claim(offer.key).lease_until

    assert tend_offers(job_house.backends, DagsterRuns(instance), DELIVERY_LANE) == 0

    after = job_house.claim(offer.key).lease_until
    assert before is not None
    assert after is not None
    assert after > before


def test_an_offer_whose_run_failed_before_it_started_is_taken_back_and_made_again_later(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    _make_run(job_house, instance, offer, Status.FAILURE)

    assert tend_offers(job_house.backends, DagsterRuns(instance), DELIVERY_LANE) == 1

    claim = job_house.claim(offer.key)
    assert (claim.state, claim.lease_until, claim.receive_number) == ("waiting", None, 0)
    (again,) = _wait_for(lambda: job_house.offer(DELIVERY_LANE))
    assert again.number == 2
    assert job_house.take(offer) == "nothing"
    assert job_house.take(again) == "delivered"


def test_the_run_of_a_delivery_is_not_taken_for_that_of_its_file(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export()
    (offer,) = job_house.offer(EXPORT_LANE)
    carried = {tags.EXPORT: export_id, tags.OFFER: "1", tags.LANE: DELIVERY_LANE}
    instance.add_run(
        dg.DagsterRun(job_name="deliver_occurrence", tags=carried, status=Status.FAILURE)
    )

    assert DagsterRuns(instance).of_offer(offer) == "unknown"
    assert tend_offers(job_house.backends, DagsterRuns(instance), EXPORT_LANE) == 0


def test_a_launch_that_was_lost_is_offered_again_when_its_lease_ends(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    job_house.dispatch(MONDAY)

    assert tend_offers(job_house.backends, DagsterRuns(instance), DELIVERY_LANE) == 0
    assert job_house.offer(DELIVERY_LANE) == []
    (again,) = _wait_for(lambda: job_house.offer(DELIVERY_LANE))
    assert again.number == 2


@pytest.mark.parametrize("status", [Status.CANCELING, Status.CANCELED])
def test_a_run_cancelled_before_it_started_settles_its_occurrence_cancelled(
    job_house: House, instance: dg.DagsterInstance, status: Status
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    _make_run(job_house, instance, offer, status)

    tend_offers(job_house.backends, DagsterRuns(instance), DELIVERY_LANE)

    occurrence = job_house.occurrence(offer.key)
    assert (occurrence.outcome, job_house.schedule().failure_streak) == ("cancelled", 0)
    assert job_house.take(offer) == "nothing"
    assert job_house.messages() == []


@pytest.mark.parametrize("lane", [DELIVERY_LANE, EXPORT_LANE])
def test_a_silent_worker_whose_run_was_terminated_is_cancelled(
    job_house: House, instance: dg.DagsterInstance, lane: str
) -> None:
    offer = _offer(job_house, lane)
    run = _make_run(job_house, instance, offer, Status.CANCELED)
    _start(job_house, offer, run.run_id)
    _wait_for(lambda: recover_silent(job_house.backends, DagsterRuns(instance)))

    if lane == DELIVERY_LANE:
        assert job_house.occurrence(offer.key).outcome == "cancelled"
    assert job_house.claim(offer.key).state == "done"


def test_a_lost_workers_run_is_reported_failed_so_that_its_place_is_freed(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    run = _make_run(job_house, instance, offer, Status.STARTED)
    _start(job_house, offer, run.run_id)

    _wait_for(lambda: recover_silent(job_house.backends, DagsterRuns(instance)))

    found = instance.get_run_by_id(run.run_id)
    assert found is not None
    assert found.status == Status.FAILURE
    assert job_house.claim(offer.key).state == "waiting"


def test_a_worker_that_wakes_while_it_is_recovered_does_not_end_the_pass(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    offer = _offer(job_house, DELIVERY_LANE)
    receive = start(
        job_house.backends, offer.key, lane=offer.lane, offer_number=offer.number, run_id="late"
    )
    assert not isinstance(receive, NothingToDo)
    found = _wait_for(lambda: _silent(job_house))

    def woken_meanwhile(*arguments: Any) -> None:
        settle_skipped_empty(job_house.backends, receive)
        try_again(*arguments)

    monkeypatch.setattr(recover, "try_again", woken_meanwhile)

    assert found == 1
    assert recover_silent(job_house.backends, DagsterRuns(instance)) == 0
    assert job_house.occurrence(offer.key).outcome == "skipped_empty"


def test_terminating_a_run_settles_its_occurrence_cancelled_and_sends_nothing(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers

    def terminated(*_arguments: object, **_named: object) -> None:
        run = instance.get_runs()[0]
        instance.report_run_canceling(run)
        raise DagsterExecutionInterruptedError

    monkeypatch.setattr(make_file_step, "make_file", terminated)
    _execute(job_house, instance, offer)

    assert job_house.occurrence(offer.key).outcome == "cancelled"
    assert instance.get_runs()[0].tags[tags.OUTCOME] == "cancelled"
    assert job_house.offer(DELIVERY_LANE) == []
    assert job_house.messages() == []


def test_a_worker_that_is_merely_stopped_is_offered_again(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers

    def stopped(*_arguments: object, **_named: object) -> None:
        raise DagsterExecutionInterruptedError

    with monkeypatch.context() as patched:
        patched.setattr(make_file_step, "make_file", stopped)
        _execute(job_house, instance, offer)
    _wait_for(lambda: recover_silent(job_house.backends, DagsterRuns(instance)))

    (again,) = _wait_for(lambda: job_house.offer(DELIVERY_LANE))
    assert job_house.take(again) == "delivered"


def test_the_same_occurrence_by_tick_sensor_launchpad_and_re_execution_is_worked_once(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (by_tick,) = job_house.dispatch(MONDAY).offers
    assert job_house.offer(DELIVERY_LANE) == []  # the sensor finds it offered
    job = defs.resolve_job_def("deliver_occurrence")
    by_hand = {"ops": {"start": {"config": {"occurrence": by_tick.key}}}}

    for config in (run_config_of(by_tick), by_hand, run_config_of(by_tick)):
        result = job.execute_in_process(run_config=config, instance=instance, raise_on_error=False)
        assert result.success

    (occurrence,) = job_house.history()
    assert (occurrence.outcome, occurrence.receive_number) == ("delivered", 1)
    assert len(job_house.messages()) == 2


def _silent(house: House) -> int:
    with house.backends.database.across.read() as connection:
        silence = house.backends.settings.heartbeat_silence
        return len(cross_workspace.silent_receives(connection, silence=silence, limit=10))


def _offer(house: House, lane: str) -> Offer:
    if lane == DELIVERY_LANE:
        run_now(
            house.backends,
            house.workspace_id,
            schedule_id=house.schedule().id,
            by=house.by("ada"),
        )
    else:
        house.ask_export()
    (offer,) = house.offer(lane)
    return offer


def _make_run(
    house: House, instance: dg.DagsterInstance, offer: Offer, status: Status
) -> dg.DagsterRun:
    """Put a run of the offer into the instance, in a state that no process works at."""
    return instance.add_run(
        dg.DagsterRun(
            job_name=job_of(offer.lane).name,
            run_config=run_config_of(offer),
            tags=tags_of(offer, house.backends.settings),
            status=status,
        )
    )


def _start(house: House, offer: Offer, run_id: str) -> None:
    receive = start(
        house.backends, offer.key, lane=offer.lane, offer_number=offer.number, run_id=run_id
    )
    assert not isinstance(receive, NothingToDo)


def _execute(house: House, instance: dg.DagsterInstance, offer: Offer) -> None:
    job = defs.resolve_job_def("deliver_occurrence")
    try:
        job.execute_in_process(
            run_config=run_config_of(offer),
            tags=tags_of(offer, house.backends.settings),
            instance=instance,
            raise_on_error=False,
        )
    except DagsterExecutionInterruptedError:
        # In its own process the run would end here; Dagster lets the interruption through.
        assert instance.get_runs()[0].tags[tags.OCCURRENCE] == offer.key


def _wait_for(look: Callable[[], Found]) -> Found:
    """Look until something is found: leases and silences end within a second here."""
    end = time.monotonic() + 10
    while not (found := look()):
        assert time.monotonic() < end
        time.sleep(0.05)
    return found
