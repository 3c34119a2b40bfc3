"""Re-executing a run, whole or from its failure, as the UI does: it never works a thing twice."""

from __future__ import annotations

import dagster as dg
import pytest
import sqlalchemy as sa

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration import deliver_occurrence, resend, take_export
from queries_orchestration.orchestration.run_requests import run_config_of, tags_of
from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration_tests.house import MONDAY, House

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


def delivery_job() -> dg.JobDefinition:
    """The job, found by name as a re-execution does."""
    return defs.resolve_job_def("deliver_occurrence")


def export_job() -> dg.JobDefinition:
    """As the other one."""
    return defs.resolve_job_def("export_query")


@pytest.mark.parametrize("part", ["all steps", "from failure"])
def test_re_executing_a_settled_failure_does_nothing_and_says_what_to_do(
    job_house: House, instance: dg.DagsterInstance, part: str
) -> None:
    failed = _failed_run(job_house, instance)
    before = job_house.history()
    _rename(job_house, "elsewhere", "orders")
    options = (
        dg.ReexecutionOptions(parent_run_id=failed)
        if part == "all steps"
        else dg.ReexecutionOptions.from_failure(failed, instance)
    )
    run = instance.get_run_by_id(failed)
    assert run is not None

    with dg.execute_job(
        dg.reconstructable(delivery_job),
        instance=instance,
        run_config=run.run_config,
        reexecution_options=options,
    ) as again:
        assert again.success

    assert job_house.history() == before
    assert job_house.messages() == []
    told = " ".join(
        record.event_log_entry.user_message
        for record in instance.get_records_for_run(again.run_id).records
    )
    assert "run the schedule now" in told
    again_run = instance.get_run_by_id(again.run_id)
    assert again_run is not None
    assert again_run.tags["queries/outcome"] == "nothing_to_do"


def test_re_executing_a_run_that_ran_a_schedule_now_runs_it_no_second_time(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    """Who wants it once more launches it anew."""
    config = {
        "schedule": job_house.schedule().id,
        "as_person": job_house.person("ada"),
        "reason": "For the board.",
    }
    run_config = {"ops": {"start": {"config": config}}}
    first = delivery_job().execute_in_process(run_config=run_config, instance=instance)
    assert job_house.addressees() == ["bob@example.org", "cyd@example.org"]

    parent = first.run_id
    for _ in range(2):
        with dg.execute_job(
            dg.reconstructable(delivery_job),
            instance=instance,
            run_config=run_config,
            reexecution_options=dg.ReexecutionOptions(parent_run_id=parent),
        ) as again:
            assert again.success
        run = instance.get_run_by_id(again.run_id)
        assert run is not None
        assert run.tags["queries/outcome"] == "nothing_to_do"
        parent = again.run_id

    assert len(job_house.history()) == 1
    assert job_house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_a_re_execution_does_not_say_the_outcome_of_the_run_that_it_repeats(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is at work, nor if it is refused; each job's first op sees to it."""
    told: dict[str, str] = {}

    def taken(context: dg.OpExecutionContext, *_arguments: object, **_named: object) -> None:
        run = context.instance.get_run_by_id(context.run_id)
        assert run is not None
        told[run.job_name] = run.tags["queries/outcome"]

    monkeypatch.setattr(deliver_occurrence, "take_work", taken)
    monkeypatch.setattr(take_export, "take_work", taken)
    monkeypatch.setattr(resend, "resend_from_launchpad", lambda *_arguments, **_named: "a-key")
    for job, op, config in (
        ("deliver_occurrence", "start", {"occurrence": "a-key"}),
        ("export_query", "start_export", {"export": "a-key"}),
        ("render_report", "start_render", {"export": "a-key"}),
        ("resend", "start_resend", {"occurrence": "a-key"}),
    ):
        defs.resolve_job_def(job).execute_in_process(
            run_config={"ops": {op: {"config": config}}},
            tags={"queries/outcome": "failed"},
            instance=instance,
        )

    assert told == dict.fromkeys(
        ("deliver_occurrence", "export_query", "render_report", "resend"), "working"
    )


def test_an_export_that_is_re_executed_from_its_failure_says_that_it_does_nothing(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    export_id = job_house.ask_export()
    (offer,) = job_house.offer(EXPORT_LANE)
    _rename(job_house, "orders", "elsewhere")
    failed = export_job().execute_in_process(
        run_config=run_config_of(offer),
        tags=tags_of(offer, job_house.backends.settings),
        instance=instance,
        raise_on_error=False,
    )
    assert job_house.asked_export(export_id).state == "failed"

    with dg.execute_job(
        dg.reconstructable(export_job),
        instance=instance,
        run_config=run_config_of(offer),
        reexecution_options=dg.ReexecutionOptions.from_failure(failed.run_id, instance),
    ) as again:
        assert again.success

    run = instance.get_run_by_id(again.run_id)
    assert run is not None
    assert run.tags["queries/outcome"] == "nothing_to_do"


def _rename(house: House, old: str, new: str) -> None:
    """Rename the table that is read."""
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))
    engine.dispose()


def _failed_run(house: House, instance: dg.DagsterInstance) -> str:
    (offer,) = house.dispatch(MONDAY).offers
    _rename(house, "orders", "elsewhere")
    result = delivery_job().execute_in_process(
        run_config=run_config_of(offer),
        tags=tags_of(offer, house.backends.settings),
        instance=instance,
        raise_on_error=False,
    )
    assert not result.success
    assert house.history()[0].outcome == "failed"
    return result.run_id
