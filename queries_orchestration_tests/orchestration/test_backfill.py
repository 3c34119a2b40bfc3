"""The partitioned job that admits a day: Dagster's own backfill of it, and the runs that follow."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import dagster as dg
import pytest
import sqlalchemy as sa

from queries_orchestration.definitions import defs
from queries_orchestration.deliveries.stop_dispatch import start_dispatch, stop_dispatch
from queries_orchestration.model.audit import OPERATOR, SYSTEM, By
from queries_orchestration.model.clock import system_clock
from queries_orchestration.orchestration.offering import offer_deliveries
from queries_orchestration.store import tables
from queries_orchestration_tests.deliveries.audited import only, trail
from queries_orchestration_tests.house import CATALOG, House, build_house
from queries_orchestration_tests.orchestration.launches import execute, requests

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

HOURLY = CATALOG.replace("0 8 * * 1", "0 * * * *").replace("Europe/Berlin", "UTC")


@pytest.fixture
def job_house(
    tmp_path: Path, store_url: str, source_url: str, monkeypatch: pytest.MonkeyPatch
) -> House:
    """A house of today, whose hourly slots of yesterday were missed but for the newest."""
    now = system_clock()
    house = build_house(
        tmp_path, store_url, source_url, catalog=HOURLY, rows=10, at=now - timedelta(days=3)
    )
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    house.deliver(now)
    return house


def yesterday() -> str:
    return (system_clock() - timedelta(days=1)).date().isoformat()


def run(instance: dg.DagsterInstance, day: str | None, **config: str) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def("backfill_occurrences").execute_in_process(
        run_config={"ops": {"admit_day": {"config": config}}} if config else None,
        partition_key=day,
        instance=instance,
        raise_on_error=False,
    )


def _stopped(house: House, instance: dg.DagsterInstance) -> str:
    stop_dispatch(house.backends, by=OPERATOR, name="Jane Doe", reason="Test.")
    told = failure(run(instance, yesterday()))
    start_dispatch(house.backends, by=OPERATOR, name="Jane Doe", reason="Test.")
    assert "Jane Doe" not in told
    return told


def test_a_schedule_that_could_not_be_looked_at_turns_the_run_red_and_stops_no_other(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    """Somebody has to mend it, and to launch the day again."""
    job_house.apply(HOURLY.replace("weekly:", "spoilt:"))
    spoilt = job_house.schedule("spoilt").id
    with job_house.backends.database.across.transaction() as connection:
        this = sa.update(tables.schedules).where(tables.schedules.c.id == spoilt)
        connection.execute(this.values(time_zone="Mars/Olympus"))

    done = run(instance, yesterday())

    assert not done.success
    assert "backfill_passed_over: Some schedules" in failure(done)
    (data,) = [one.step_failure_data for one in done.all_events if one.is_step_failure]
    assert data.user_failure_data is not None
    told = {name: entry.value for name, entry in data.user_failure_data.metadata.items()}
    assert told == {"missed": 24, "missing": 0, "called_off": 0, "failed": 0, "passed_over": 1}
    logged = [
        one.event_log_entry.user_message
        for one in instance.get_records_for_run(done.run_id).records
    ]
    assert f"Passed over the schedule {spoilt}: unknown_time_zone." in logged


def failure(result: dg.ExecuteInProcessResult) -> str:
    return " ".join(
        str(event.step_failure_data.user_failure_data.description)  # type: ignore[union-attr]
        for event in result.all_events
        if event.is_step_failure
    )


def test_a_partition_admits_its_day_once_and_each_slot_is_a_run_of_its_own(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    """As the dialog launches it: no config, and whatever is launched twice."""
    results = [run(instance, yesterday()) for _ in range(2)]

    assert [one.success for one in results] == [True, True]
    backfilled = [one for one in job_house.history() if one.is_backfilled]
    assert len(backfilled) == 24
    assert {one.slot.date().isoformat() for one in backfilled if one.slot} == {yesterday()}
    assert only(job_house, "backfill_launched").by == SYSTEM
    own = instance.get_runs()[0].tags
    assert (own["queries/backfill"], own["queries/lane"]) == (yesterday(), "backfill")
    assert own["dagster/partition"] == yesterday()

    (request,) = requests(instance, offer_deliveries)
    assert request.tags["queries/backfill"] == yesterday()
    assert request.tags["queries/occurrence"] == backfilled[0].key
    assert request.tags["dagster/priority"] == "-1000"
    assert execute(instance, request).success
    assert job_house.occurrence(backfilled[0].key).outcome == "delivered"
    (following,) = requests(instance, offer_deliveries)
    assert following.tags["queries/occurrence"] == backfilled[1].key


def test_it_can_be_of_one_schedule_and_for_a_person(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    schedule_id, ada = job_house.schedule().id, job_house.person("ada")

    done = run(instance, yesterday(), schedule=schedule_id, as_person=ada)

    assert done.success
    assert only(job_house, "backfill_launched").by == By(via="dagster-ui", person_id=ada)


def test_what_is_refused_is_told_and_who_was_refused_is_recorded(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    schedule_id, bob = job_house.schedule().id, job_house.person("bob")

    assert "not_found" in failure(run(instance, yesterday(), schedule=schedule_id, as_person=bob))
    assert "not_found" in failure(run(instance, yesterday(), schedule="unknown"))
    assert "not_found" in failure(run(instance, yesterday(), workspace="unknown"))
    assert "no_workspace" in failure(run(instance, yesterday(), as_person=bob))
    assert "no_partition" in failure(run(instance, None))
    assert "dispatch show" in _stopped(job_house, instance)
    (refused,) = [one for one in trail(job_house) if one.action == "refused"]
    assert (refused.attempted, refused.by.person_id) == ("backfill_launched", bob)
    assert not [one for one in job_house.history() if one.is_backfilled]
