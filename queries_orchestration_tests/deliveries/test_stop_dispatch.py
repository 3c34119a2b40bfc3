"""The switch that stops all dispatching: nothing is admitted or offered, nothing due is lost."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from queries_orchestration.deliveries.check import check
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.deliveries.stop_dispatch import start_dispatch, stop_dispatch
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import Refused
from queries_orchestration.settings import EXPORT_LANE, LANE_WIDTHS, RUN_LIMITS
from queries_orchestration.store import dispatch_stops
from queries_orchestration_tests.house import MONDAY, WEEK, House


def test_while_it_is_stopped_nothing_is_admitted_and_after_it_the_policy_applies(
    house: House,
) -> None:
    house.clock.at = MONDAY - WEEK
    stop_dispatch(
        house.backends, by=OPERATOR, name="root", reason="The mail server is being moved."
    )

    stopped = house.dispatch(MONDAY + 2 * WEEK)
    assert (stopped.admitted, stopped.missed, stopped.offers) == (0, 0, ())
    assert stopped.stopped is not None
    assert (house.history(), house.schedule().next_slot) == ([], MONDAY)

    start_dispatch(house.backends, by=OPERATOR, name="root", reason="It is moved.")
    started = house.dispatch(MONDAY + 2 * WEEK)

    assert (started.admitted, started.missed, len(started.offers)) == (1, 2, 1)
    assert started.stopped is None


def test_what_waits_is_not_offered_in_any_lane_by_anybody(house: House) -> None:
    house.clock.at = MONDAY - WEEK
    run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )
    house.ask_export()
    stop_dispatch(house.backends, by=OPERATOR, name="root", reason="A test.")

    assert [house.offer(lane) for lane in LANE_WIDTHS] == [[], [], []]
    assert house.deliver(MONDAY - WEEK) == []

    start_dispatch(house.backends, by=OPERATOR, name="root", reason="The test is over.")
    assert house.deliver(MONDAY - WEEK) == ["delivered"]
    assert house.work(EXPORT_LANE) == ["ready"]


def test_what_a_run_has_goes_on_and_lost_workers_are_found(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    stop_dispatch(house.backends, by=OPERATOR, name="root", reason="A test.")

    assert house.take(offer) == "delivered"


def test_a_pass_sees_a_stop_between_two_batches(house: House) -> None:
    def stop(step: str) -> None:
        if step == "before offering":
            stop_dispatch(house.backends, by=OPERATOR, name="root", reason="A test.")

    stopping = house.with_backends(replace(house.backends, reached=stop))

    done = stopping.dispatch(MONDAY)

    assert (done.admitted, done.offers) == (1, ())


def test_who_stopped_and_started_it_when_and_why_is_kept(house: House) -> None:
    house.clock.at = MONDAY
    stop_dispatch(house.backends, by=OPERATOR, name="root", reason="Too much mail.")
    with pytest.raises(Refused) as twice:
        stop_dispatch(house.backends, by=OPERATOR, name="other", reason="Me, too.")
    house.clock.at = MONDAY + timedelta(hours=1)
    start_dispatch(house.backends, by=OPERATOR, name="eve", reason="It is well.")
    with pytest.raises(Refused) as again:
        start_dispatch(house.backends, by=OPERATOR, name="eve", reason="Once more.")

    assert (twice.value.code, again.value.code) == ("already_stopped", "not_stopped")
    assert "root: Too much mail." in twice.value.message
    with house.backends.database.across.read() as connection:
        (stop,) = dispatch_stops.listing(connection, limit=5)
    assert (stop.number, stop.stopped_at, stop.stopped_by) == (1, MONDAY, "root")
    assert (stop.started_at, stop.started_by) == (MONDAY + timedelta(hours=1), "eve")


@pytest.mark.parametrize(("by", "reason"), [("", "why"), ("who", " ")])
def test_who_and_why_must_be_said(house: House, by: str, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        stop_dispatch(house.backends, by=OPERATOR, name=by, reason=reason)
    assert refused.value.code == "incomplete_stop"


def test_a_check_finds_the_stop_first(house: House) -> None:
    house.clock.at = MONDAY
    stop_dispatch(house.backends, by=OPERATOR, name="root", reason="Too much mail.")

    first, *_ = check(
        house.backends.settings,
        house.backends.database,
        lane_limits=RUN_LIMITS,
        communications=house.backends.communications,
        at=MONDAY,
    )

    assert first.code == "dispatch_stopped"
    assert "2027-01-04 07:00 UTC by root: Too much mail." in first.message
    assert "queries dispatch start" in first.message
