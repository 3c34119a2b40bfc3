"""The Dagster job: the same steps as ops, what a run shows, and what it must not show."""

from __future__ import annotations

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster_shared.serdes import serialize_value

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration.run_requests import run_config_of, run_request_of, tags_of
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.house import MONDAY, House

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])


def test_a_run_delivers_and_carries_occurrence_workspace_and_schedule_as_tags(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers

    result = _run(job_house, offer, instance)

    assert result.success
    (occurrence,) = job_house.history()
    assert (occurrence.outcome, occurrence.receive_number) == ("delivered", 1)
    assert job_house.addressees() == ["bob@example.org", "cyd@example.org"]
    tags = instance.get_runs()[0].tags
    assert tags["queries/occurrence"] == occurrence.key
    assert tags["queries/workspace"] == job_house.workspace_id
    assert tags["queries/schedule"] == job_house.schedule().id
    assert (tags["queries/offer"], tags["queries/lane"]) == ("1", "delivery")
    assert all(len(value) <= 63 for key, value in tags.items() if key.startswith("queries/"))


def test_a_run_reports_rows_and_bytes(job_house: House, instance: dg.DagsterInstance) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers

    result = _run(job_house, offer, instance)

    (output,) = [
        event.step_output_data.metadata
        for event in result.all_events
        if event.event_type_value == "STEP_OUTPUT" and event.step_key == "make_file"
    ]
    assert output["rows"].value == 2_500
    assert output["bytes"].value == len(job_house.file(job_house.history()[0].key))


def test_a_run_of_a_settled_occurrence_is_green_and_does_nothing(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    _run(job_house, offer, instance)
    before = job_house.history()

    again = _run(job_house, offer, instance)

    assert again.success
    assert job_house.history() == before
    assert len(job_house.messages()) == 2


def test_an_occurrence_launched_by_hand_without_an_offer_is_worked(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    key = offer.key
    with job_house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE claims SET lease_until = NULL"))

    result = defs.resolve_job_def("deliver_occurrence").execute_in_process(
        run_config={"ops": {"start": {"config": {"occurrence": key}}}}, instance=instance
    )

    assert result.success
    assert job_house.occurrence(key).outcome == "delivered"


def test_an_unknown_occurrence_fails_the_run_with_its_code(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    result = defs.resolve_job_def("deliver_occurrence").execute_in_process(
        run_config={"ops": {"start": {"config": {"occurrence": "nobody"}}}},
        instance=instance,
        raise_on_error=False,
    )
    assert not result.success
    assert "not_found" in _failure_texts(instance)


@pytest.mark.parametrize("beside", ["schedule", "as_person", "reason"])
def test_an_occurrence_and_something_else_beside_it_is_refused_and_nothing_is_worked(
    job_house: House, instance: dg.DagsterInstance, beside: str
) -> None:
    """Whoever fills in both means one of them."""
    (offer,) = job_house.dispatch(MONDAY).offers

    result = defs.resolve_job_def("deliver_occurrence").execute_in_process(
        run_config={"ops": {"start": {"config": {"occurrence": offer.key, beside: "x"}}}},
        instance=instance,
        raise_on_error=False,
    )

    assert not result.success
    assert "incomplete_config: Give the key of an occurrence alone" in _failure_texts(instance)
    assert [one.receive_number for one in job_house.history()] == [0]


def test_a_skipped_empty_run_is_green(job_house: House, instance: dg.DagsterInstance) -> None:
    with job_house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET skip_empty = true"))
    engine = sa.create_engine(job_house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DELETE FROM orders"))
    engine.dispose()
    (offer,) = job_house.dispatch(MONDAY).offers

    assert _run(job_house, offer, instance).success

    assert job_house.history()[0].outcome == "skipped_empty"
    assert job_house.messages() == []


def test_a_failed_run_is_red_with_our_code_and_without_the_drivers_words(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    engine = sa.create_engine(job_house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME COLUMN region TO secret_region"))
    engine.dispose()
    (offer,) = job_house.dispatch(MONDAY).offers

    assert not _run(job_house, offer, instance).success

    assert job_house.history()[0].code == "source_broken"
    texts = _failure_texts(instance)
    assert "source_broken" in texts
    assert "OperationalError" not in texts
    assert "no such column" not in texts


def test_no_address_no_link_and_no_key_reaches_dagsters_events(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    _run(job_house, offer, instance)

    told = "".join(
        serialize_value(record.event_log_entry)
        for record in instance.get_records_for_run(instance.get_runs()[0].run_id).records
    )
    assert len(told) > 1_000
    for secret in ("bob@example.org", "/d/ey", "s" * 40, "r1,1.25"):
        assert secret not in told


def test_the_config_of_an_offer_is_valid_before_it_is_requested(
    job_house: House, instance: dg.DagsterInstance
) -> None:
    (offer,) = job_house.dispatch(MONDAY).offers
    request = run_request_of(offer, job_house.backends.settings)
    assert request.run_key == f"{offer.key}#1"
    dg.validate_run_config(defs.resolve_job_def("deliver_occurrence"), request.run_config)


def _run(house: House, offer: Offer, instance: dg.DagsterInstance) -> dg.ExecuteInProcessResult:
    return defs.resolve_job_def("deliver_occurrence").execute_in_process(
        run_config=run_config_of(offer),
        tags=tags_of(offer, house.backends.settings),
        instance=instance,
        raise_on_error=False,
    )


def _failure_texts(instance: dg.DagsterInstance) -> str:
    run = instance.get_runs()[0]
    return "".join(
        serialize_value(record.event_log_entry)
        for record in instance.get_records_for_run(run.run_id).records
        if record.event_log_entry.dagster_event
        and "FAILURE" in record.event_log_entry.dagster_event.event_type_value
    )
