"""What a run tells in Dagster's UI is only for show: where it cannot be told, the work is done."""

from __future__ import annotations

import threading

import dagster as dg
import pytest
import sqlalchemy as sa

from queries_orchestration.model.errors import QueriesError, StoreUnavailable, UnreadableRow
from queries_orchestration.orchestration import materialization, steps, told_run
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.run_requests import run_request_of
from queries_orchestration.receives import start as start_step
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import execute

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

AWAY = StoreUnavailable("The test's database is away.")
UNREADABLE = UnreadableRow("The test's row cannot be read.")


def _locked(*_arguments: object, **_named: object) -> None:
    raise RuntimeError("The test's runs.db is locked.")


def _offer(house: House) -> Offer:
    (offer,) = house.dispatch(MONDAY).offers
    return offer


def _run(house: House, instance: dg.DagsterInstance, offer: Offer) -> dg.ExecuteInProcessResult:
    return execute(instance, run_request_of(offer, house.backends.settings))


def _check_delivered(house: House, result: dg.ExecuteInProcessResult) -> None:
    assert result.success
    (occurrence,) = house.history()
    assert occurrence.outcome == "delivered"
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert house.claim(occurrence.key).state == "done"


def test_labels_that_cannot_be_written_cost_no_delivery(
    job_house: House,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(instance, "add_run_tags", _locked)
    monkeypatch.setattr(materialization, "materialization_of", _locked)
    offer = _offer(job_house)

    _check_delivered(job_house, _run(job_house, instance, offer))

    assert job_house.claim(offer.key).receive_number == 1
    assert "tags_not_written type=RuntimeError" in caplog.text
    assert f"materialization_not_written work={offer.key} type=RuntimeError" in caplog.text


def test_labels_that_cannot_be_written_cost_no_export(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(instance, "add_run_tags", _locked)
    monkeypatch.setattr(materialization, "materialization_of", _locked)
    export_id = job_house.ask_export()
    (offer,) = job_house.offer(EXPORT_LANE)

    assert _run(job_house, instance, offer).success
    assert job_house.asked_export(export_id).state == "ready"
    assert job_house.claim(export_id).receive_number == 1


def test_the_heart_beats_before_a_label_is_written(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    happened: list[str] = []
    begin, add = WorkerResource.begin, instance.add_run_tags

    def began(*arguments: object, **named: object) -> None:
        happened.append("beats")
        begin(*arguments, **named)  # type: ignore[arg-type]

    def added(run_id: str, new_tags: dict[str, str]) -> None:
        happened.append("label")
        add(run_id, new_tags)

    monkeypatch.setattr(WorkerResource, "begin", began)
    monkeypatch.setattr(instance, "add_run_tags", added)
    _run(job_house, instance, _offer(job_house))

    assert happened[:2] == ["beats", "label"]


@pytest.mark.parametrize("error", [AWAY, UNREADABLE], ids=["away", "unreadable"])
def test_what_cannot_be_read_for_show_fails_no_third_receive(
    job_house: House,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: QueriesError,
) -> None:
    def broken(*_arguments: object) -> None:
        raise error

    monkeypatch.setattr(told_run, "tally_of", broken)
    monkeypatch.setattr(told_run, "work_of", broken)
    if error is UNREADABLE:
        monkeypatch.setattr(materialization, "work_of", broken)
    offer = _offer(job_house)
    with job_house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE claims SET receive_number = 2"))

    _check_delivered(job_house, _run(job_house, instance, offer))

    assert job_house.claim(offer.key).receive_number == 3
    assert f"work_not_told work={offer.key} type={type(error).__name__}" in caplog.text


def test_a_heart_beats_on_while_dagster_cannot_be_asked(
    job_house: House,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    offer = _offer(job_house)
    receive = start_step.start(
        job_house.backends, offer.key, lane=DELIVERY_LANE, offer_number=offer.number, run_id="one"
    )
    assert isinstance(receive, Receive)
    monkeypatch.setattr(instance, "get_run_by_id", _locked)
    is_terminated = steps.terminated(dg.build_op_context(instance=instance))
    beats = threading.Semaphore(0)

    def held(*_arguments: object) -> None:
        beats.release()

    monkeypatch.setattr(claims, "hold", held)
    with Heartbeat(
        job_house.backends.database,
        receive,
        interval=0.01,
        deadline=60,
        is_terminated=is_terminated,
    ) as heartbeat:
        assert all(beats.acquire(timeout=30) for _ in range(2))
        heartbeat.check()
    assert "termination_not_known type=RuntimeError" in caplog.text


def test_what_cannot_be_read_for_show_fails_no_export(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_arguments: object) -> None:
        raise UNREADABLE

    monkeypatch.setattr(told_run, "work_of", broken)
    export_id = job_house.ask_export()
    (offer,) = job_house.offer(EXPORT_LANE)

    assert _run(job_house, instance, offer).success
    assert job_house.asked_export(export_id).state == "ready"
