"""The Dagster job `resend`: a thin shell over the function that the command calls."""

from __future__ import annotations

from dataclasses import replace

import dagster as dg
import pytest

from queries_orchestration.definitions import defs
from queries_orchestration.model.clock import system_clock
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.house import MONDAY, House

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


@pytest.fixture
def refused(job_house: House) -> House:
    """A house whose first delivery bob refused; its file is as old as the job's clock says."""
    wall = FaultyCommunications(
        job_house.backends.communications, refused={"bob@example.org"}, unavailable={}
    )
    (offer,) = job_house.dispatch(MONDAY).offers
    job_house.clock.at = system_clock()
    walled = job_house.with_backends(replace(job_house.backends, communications=wall))
    assert walled.take(offer) == "delivered_partly"
    return job_house


def test_the_job_sends_to_the_refused_recipient_and_history_says_who_asked(
    refused: House, instance: dg.DagsterInstance
) -> None:
    (origin,) = refused.history()

    result = _run(refused, instance, occurrence=origin.key)

    assert result.success
    again = next(one for one in refused.history() if one.purpose == "resend")
    assert (again.outcome, again.via, again.reason) == ("delivered", "dagster-ui", "The test asks.")
    assert again.requested_by == refused.person("ada")
    assert refused.addressees() == ["bob@example.org", "cyd@example.org"]
    assert instance.get_runs()[0].tags["queries/lane"] == "delivery"


def test_the_same_run_again_is_refused_since_everybody_has_a_message(
    refused: House, instance: dg.DagsterInstance
) -> None:
    (origin,) = refused.history()
    _run(refused, instance, occurrence=origin.key)

    again = _run(refused, instance, occurrence=origin.key)

    assert not again.success
    assert "nothing_to_resend" in _failure(again)
    assert len(refused.messages()) == 2


def test_it_can_be_switched_off_and_wants_a_reason(
    refused: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    (origin,) = refused.history()

    assert "incomplete_config" in _failure(
        _run(refused, instance, occurrence=origin.key, reason=" ")
    )
    assert "not_found" in _failure(_run(refused, instance, occurrence="unknown"))
    monkeypatch.setenv("QUERIES_DAGSTER_UI_RUNS", "0")
    assert "dagster_ui_runs_off" in _failure(_run(refused, instance, occurrence=origin.key))


def _run(
    house: House, instance: dg.DagsterInstance, *, occurrence: str, reason: str = "The test asks."
) -> dg.ExecuteInProcessResult:
    config = {"occurrence": occurrence, "as_person": house.person("ada"), "reason": reason}
    return defs.resolve_job_def("resend").execute_in_process(
        run_config={"ops": {"start_resend": {"config": config}}},
        instance=instance,
        raise_on_error=False,
    )


def _failure(result: dg.ExecuteInProcessResult) -> str:
    return " ".join(
        str(event.step_failure_data.user_failure_data.description)  # type: ignore[union-attr]
        for event in result.all_events
        if event.is_step_failure
    )
