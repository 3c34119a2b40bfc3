"""When the slots of a backfill fail alike the rest is called off, told, and can be tried again."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.backfill import Backfilled
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.backfills import CALLED_OFF
from queries_orchestration.model.errors import CommunicationsUnavailable
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import counters
from queries_orchestration_tests.deliveries.backfilled import (
    FRIDAY,
    HOURLY,
    at,
    fill,
    hours,
)
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.house import House

ADMITTED = 7


@pytest.fixture
def hourly(house: House) -> House:
    """The house with an hourly schedule, whose first seven slots were missed and wait again."""
    house.apply(HOURLY.format(cron="0 * * * *", more=""))
    house.deliver(at(FRIDAY, 15, 30))
    assert fill(house, FRIDAY) == Backfilled(missed=ADMITTED)
    return house


@contextmanager
def broken_source(house: House) -> Iterator[None]:
    """Keep the table that is read from being found."""
    engine = sa.create_engine(house.environment["SHOP_URL"])
    for old, new in (("orders", "elsewhere"), ("elsewhere", "orders")):
        with engine.begin() as connection:
            connection.execute(sa.text(f"ALTER TABLE {old} RENAME TO {new}"))
        if old == "orders":
            yield
    engine.dispose()


def codes(house: House) -> list[str | None]:
    return [one.code for one in house.history("hourly") if one.is_backfilled]


def test_what_is_called_off_is_logged_once_counted_by_its_code_and_told_when_it_is_asked_for_again(
    hourly: House, caplog: pytest.LogCaptureFixture
) -> None:
    with broken_source(hourly), caplog.at_level(logging.WARNING):
        for _ in range(3):
            hourly.work(DELIVERY_LANE)

    assert codes(hourly) == ["source_broken"] * 2 + [CALLED_OFF] * (ADMITTED - 2)
    second = hourly.history("hourly")[1]
    lines = [line for line in caplog.messages if line.startswith("backfill_called_off ")]
    assert lines == [
        f"backfill_called_off workspace={hourly.workspace_id} schedule={second.schedule_id}"
        f" occurrence={second.key} code=source_broken slots={ADMITTED - 2}"
    ]
    with hourly.backends.database.across.read() as connection:
        counted = {(one.label, one.code): one.value for one in counters.read(connection)}
    assert counted["missed", CALLED_OFF] == ADMITTED - 2
    assert fill(hourly, FRIDAY) == Backfilled(called_off=ADMITTED - 2, failed=2)
    assert fill(hourly, FRIDAY) == Backfilled()


def test_a_pause_calls_off_what_failed_before_and_waits_again_too(hourly: House) -> None:
    with broken_source(hourly):
        for _ in range(2):
            hourly.work(DELIVERY_LANE)
    fill(hourly, FRIDAY)
    asked: dict[str, Any] = {"schedule_id": hourly.schedule("hourly").id, "by": OPERATOR}

    schedule_changes.pause(hourly.backends, hourly.workspace_id, reason="Enough.", **asked)

    assert {one.outcome for one in hourly.history("hourly") if one.is_backfilled} == {"missed"}
    assert hourly.work(DELIVERY_LANE) == []
    schedule_changes.resume(hourly.backends, hourly.workspace_id, **asked)
    assert fill(hourly, FRIDAY) == Backfilled(missed=ADMITTED)
    assert hourly.work(DELIVERY_LANE) == ["delivered"]


def test_what_a_run_of_the_backfill_has_begun_is_not_called_off(hourly: House) -> None:
    """It may be half way: its next receive goes on with it."""
    shut = _with(hourly, unavailable={"bob@example.org": 1})
    assert shut.work(DELIVERY_LANE) == [CommunicationsUnavailable.code]

    schedule_changes.pause(
        hourly.backends,
        hourly.workspace_id,
        schedule_id=hourly.schedule("hourly").id,
        by=OPERATOR,
        reason="Enough.",
    )

    assert hours(hourly, FRIDAY)[0] == 8
    states = [one.state for one in hourly.history("hourly") if one.is_backfilled]
    assert states == ["waiting"] + ["settled"] * (ADMITTED - 1)


@pytest.mark.parametrize("how", ["refused", "unavailable"])
def test_messages_that_nobody_takes_call_the_rest_off_as_well(hourly: House, how: str) -> None:
    """While the mail server is away ten thousand slots would fail, each for good."""
    shut = _with(hourly, refused={"bob@example.org"}) if how == "refused" else None
    shut = shut or _with(hourly, unavailable={"bob@example.org": 99})
    _fail(shut, 2)

    why = {"refused": "all_refused", "unavailable": "communications_unavailable"}[how]
    assert codes(hourly) == [why] * 2 + [CALLED_OFF] * (ADMITTED - 2)
    # Who was tried has a row of it: that is for a resend.
    assert fill(hourly, FRIDAY) == Backfilled(called_off=ADMITTED - 2)


def test_a_failure_that_somebody_has_a_message_of_calls_nothing_off(hourly: House) -> None:
    hourly.apply(HOURLY.format(cron="0 * * * *", more="").replace("[bob]", "[bob, cyd]"))
    shut = _with(hourly, unavailable={"bob@example.org": 99})
    _fail(shut, 3)

    assert codes(hourly) == ["communications_unavailable"] * 3 + [None] * (ADMITTED - 3)
    assert hourly.addressees().count("cyd@example.org") == 3


def _fail(house: House, number: int) -> None:
    """Work until so many slots have failed; each is tried again a moment after it was."""
    for _ in range(100):
        house.work(DELIVERY_LANE)
        if sum(one.outcome == "failed" for one in house.history("hourly")) == number:
            return
        time.sleep(0.005)
    raise AssertionError("they do not fail")


def _with(
    house: House, *, refused: set[str] | None = None, unavailable: dict[str, int] | None = None
) -> House:
    communications = FaultyCommunications(
        house.backends.communications, refused=refused or set(), unavailable=unavailable or {}
    )
    return house.with_backends(replace(house.backends, communications=communications))
