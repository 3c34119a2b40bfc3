"""Re-executing a run, whole or from its failure, as the UI does: it never works a thing twice."""

from __future__ import annotations

import dagster as dg
import pytest
import sqlalchemy as sa

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration.run_requests import run_config_of, tags_of
from queries_orchestration_tests.house import MONDAY, House

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


def delivery_job() -> dg.JobDefinition:
    """The job, found by name as a re-execution does."""
    return defs.resolve_job_def("deliver_occurrence")


@pytest.mark.parametrize("part", ["all steps", "from failure"])
def test_re_executing_a_settled_failure_does_nothing_and_says_what_to_do(
    job_house: House, instance: dg.DagsterInstance, part: str
) -> None:
    failed = _failed_run(job_house, instance)
    before = job_house.history()
    engine = sa.create_engine(job_house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE elsewhere RENAME TO orders"))
    engine.dispose()
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


def _failed_run(house: House, instance: dg.DagsterInstance) -> str:
    (offer,) = house.dispatch(MONDAY).offers
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO elsewhere"))
    engine.dispose()
    result = delivery_job().execute_in_process(
        run_config=run_config_of(offer),
        tags=tags_of(offer, house.backends.settings),
        instance=instance,
        raise_on_error=False,
    )
    assert not result.success
    assert house.history()[0].outcome == "failed"
    return result.run_id
