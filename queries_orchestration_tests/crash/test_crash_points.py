"""kill -9 at every named step: nothing is lost, nothing is sent twice, nothing stays half made."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa

import queries_orchestration
from queries_orchestration.deliveries.recover import recover_silent
from queries_orchestration.deliveries.resend import resend
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE, REPORT_LANE
from queries_orchestration.store import notices
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.crash.kills import (
    finish,
    hanging_receive,
    kill_click_at,
    kill_pass_at,
    kill_receive_at,
)
from queries_orchestration_tests.crash.named_steps import named_steps
from queries_orchestration_tests.crash.test_backfill_kills import IN_A_BACKFILL
from queries_orchestration_tests.crash.test_pass_kills import (
    BEFORE_THE_SLOT,
    IN_EXPIRY,
    IN_QUARANTINE,
    IN_RECOVERY,
    IN_WHAT_IS_LEFT,
)
from queries_orchestration_tests.crash.test_retention_kills import IN_AN_ERASURE, IN_RETENTION
from queries_orchestration_tests.crash.witness import assert_delivered_once, visible
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.house import MONDAY, House, build_house
from queries_orchestration_tests.no_runs import NoRuns
from queries_orchestration_tests.report_house import (
    build_report_house,
    render_of,
    rendering,
    waiting,
)

IN_A_PASS = ("admitted, not committed", "before offering", "offers made")
IN_A_RECEIVE = {
    "started": 1,
    "actor fixed, not resolved": 1,
    "resolved": 1,
    "upload begun, not recorded": 1,
    "upload recorded": 1,
    "page written": 2,
    "written, not complete": 1,
    "file complete, not recorded": 1,
    "file recorded": 1,
    "sending recorded": 2,
    "submitted, not recorded": 1,
    "recipient concluded": 1,
}
"""Each step with the time it is reached at which the worker dies."""
WHILE_IT_IS_SUBMITTED = ("further submission noted", "not taken, not recorded")
"""Tried with a mail server, in `test_submission_kills.py`."""
IN_AN_EXPORT = (
    "started",
    "upload begun, not recorded",
    "upload recorded",
    "page written",
    "written, not complete",
    "file complete, not recorded",
    "file recorded",
)
IN_A_CLICK = {
    "run now, not committed": "run-now",
    "run now committed, not published": "run-now",
    "export queued, not committed": "export",
    "export committed, not published": "export",
    "offered, not launched": "run-now",
}
IN_A_RESEND = ("resend, not committed", "resend committed, not published")
IN_A_RESENDS_RECEIVE = (
    "started",
    "actor fixed, not resolved",
    "file kept, not sent",
    "sending recorded",
    "submitted, not recorded",
    "recipient concluded",
)
IN_A_FAILURE = "failure settled, nobody told"
IN_A_NOTICE = ("notice begun, not submitted", "notice submitted, not recorded")
WHILE_A_RENDER_IS_AWAITED = "render awaited"
KILLED_AT = {
    *IN_A_PASS,
    *IN_A_RECEIVE,
    *IN_AN_EXPORT,
    *IN_A_CLICK,
    *IN_A_RESEND,
    *IN_A_BACKFILL,
    IN_A_FAILURE,
    *IN_A_NOTICE,
    *IN_A_RESENDS_RECEIVE,
    *IN_EXPIRY,
    IN_WHAT_IS_LEFT,
    *IN_RECOVERY,
    IN_QUARANTINE,
    WHILE_A_RENDER_IS_AWAITED,
    *WHILE_IT_IS_SUBMITTED,
    *IN_RETENTION,
    *IN_AN_ERASURE,
}
LEAST_STEPS = 16


def test_every_named_step_has_a_kill() -> None:
    named = named_steps(Path(queries_orchestration.__path__[0]))
    assert set(named) == KILLED_AT
    assert len(named) >= LEAST_STEPS


def test_a_step_without_a_kill_and_one_without_a_plain_name_are_found(tmp_path: Path) -> None:
    (tmp_path / "new.py").write_text('backends.reached(\n    "written twice, not read"\n)\n')
    assert set(named_steps(tmp_path)) - KILLED_AT == {"written twice, not read"}

    (tmp_path / "worse.py").write_text("backends.reached(step)\n")
    with pytest.raises(AssertionError, match=r"worse\.py:1"):
        named_steps(tmp_path)


@pytest.mark.parametrize("step", IN_A_PASS)
def test_a_dispatcher_killed_in_a_pass_loses_no_slot(house: House, step: str) -> None:
    kill_pass_at(house, step)

    finish(house)

    assert_delivered_once(house)


@pytest.mark.parametrize("step", IN_A_RECEIVE)
def test_a_worker_killed_in_a_receive_is_followed_by_another(house: House, step: str) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, step, times=IN_A_RECEIVE[step])

    finish(house)

    occurrence = assert_delivered_once(house)
    assert occurrence.receive_number == 2


def test_a_worker_killed_after_its_last_message_sends_none_again(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "recipient concluded", times=2)
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]

    finish(house)

    assert assert_delivered_once(house).receive_number == 2


@pytest.mark.parametrize("step", IN_AN_EXPORT)
def test_a_worker_killed_in_an_export_is_followed_by_another(house: House, step: str) -> None:
    house.clock.at = MONDAY
    export_id = house.ask_export()
    (offer,) = house.offer(EXPORT_LANE)
    kill_receive_at(house, offer, step)

    finish(house, at=BEFORE_THE_SLOT)

    export = house.asked_export(export_id)
    assert (export.state, export.rows) == ("ready", 2_500)
    with house.backends.storage.open(export.storage_key) as file:
        assert len(file.read().splitlines()) == 2_501
    assert visible(house) == [export.storage_key]
    assert house.claim(export_id).receive_number == (1 if step == "file recorded" else 2)


@pytest.mark.parametrize("step", IN_AN_EXPORT)
def test_a_renderer_killed_while_a_delivery_waits_is_followed_by_another(
    tmp_path: Path, store_url: str, source_url: str, step: str
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    killed: list[Offer] = []

    def meanwhile() -> None:
        if not killed:
            killed.extend(house.offer(REPORT_LANE))
            kill_receive_at(house, killed[0], step)
        time.sleep(0.1)
        recover_silent(house.backends, NoRuns())
        house.work(REPORT_LANE)

    assert waiting(house, meanwhile).deliver(MONDAY) == ["delivered"]

    export = render_of(house)
    assert (export.state, export.rows) == ("ready", 7 + 101)
    assert house.claim(export.id).receive_number == (1 if step == "file recorded" else 2)
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert visible(house) == [export.storage_key]
    assert house.history()[0].receive_number == 1


def test_a_worker_killed_while_it_awaits_a_render_is_followed_by_another(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, WHILE_A_RENDER_IS_AWAITED, times=2)
    first = render_of(house)

    finish(rendering(house))

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.receive_number) == ("delivered", 2)
    assert (render_of(house).id, render_of(house).state) == (first.id, "ready")
    assert house.claim(first.id).receive_number == 1
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert visible(house) == [first.storage_key]


@pytest.mark.parametrize("step", IN_A_CLICK)
def test_a_process_killed_in_a_click_leaves_all_of_it_or_nothing(house: House, step: str) -> None:
    kill_click_at(house, IN_A_CLICK[step], step, person="ada")

    finish(house, at=BEFORE_THE_SLOT)

    committed = "not committed" not in step
    if IN_A_CLICK[step] == "run-now":
        assert [one.outcome for one in house.history()] == ["delivered"] * committed
        assert house.addressees() == ["bob@example.org", "cyd@example.org"] * committed
    assert len(visible(house)) == committed


@pytest.mark.parametrize("step", IN_A_RESEND)
def test_a_process_killed_in_a_resend_leaves_all_of_it_or_nothing(house: House, step: str) -> None:
    refusing = house.with_backends(
        replace(
            house.backends,
            communications=FaultyCommunications(
                house.backends.communications, refused={"bob@example.org"}, unavailable={}
            ),
        )
    )
    assert refusing.deliver(MONDAY) == ["delivered_partly"]
    (origin,) = house.history()
    kill_click_at(house, "resend", step, person="ada", occurrence=origin.key)

    finish(house)

    committed = "not committed" not in step
    resends = [one for one in house.history() if one.purpose == "resend"]
    assert [one.outcome for one in resends] == ["delivered"] * committed
    assert house.addressees() == ["bob@example.org"] * committed + ["cyd@example.org"]


def test_a_worker_killed_after_a_failure_leaves_the_notice_to_the_next_pass(house: House) -> None:
    _lose_source(house)
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, IN_A_FAILURE)

    finish(house)
    house.dispatch(MONDAY)

    assert [one.outcome for one in house.history()] == ["failed"]
    assert house.told() == [("ada@example.org", "Weekly orders was not delivered")]


@pytest.mark.parametrize("step", IN_A_NOTICE)
def test_a_pass_killed_in_a_notice_is_followed_by_another(house: House, step: str) -> None:
    _lose_source(house)
    assert house.deliver(MONDAY) == ["source_broken"]
    kill_pass_at(house, step)

    finish(house)
    house.dispatch(MONDAY)

    assert house.told() == [("ada@example.org", "Weekly orders was not delivered")]
    (occurrence,) = house.history()
    with house.backends.database.across.read() as connection:
        (notice,) = notices.of_occurrence(connection, house.workspace_id, occurrence.key)
    assert (notice.state, notice.attempts) == ("sent", 2)


@pytest.mark.parametrize("step", IN_A_RESENDS_RECEIVE)
def test_a_worker_killed_in_a_resend_is_followed_by_another(house: House, step: str) -> None:
    walled = FaultyCommunications(
        house.backends.communications, refused={"bob@example.org"}, unavailable={}
    )
    refusing = house.with_backends(replace(house.backends, communications=walled))
    assert refusing.deliver(MONDAY) == ["delivered_partly"]
    (origin,) = house.history()
    key = resend(
        house.backends,
        house.workspace_id,
        occurrence_key=origin.key,
        by=house.by("ada"),
    )
    (offer,) = house.offer(DELIVERY_LANE)
    kill_receive_at(house, offer, step)

    finish(house)

    again = house.occurrence(key)
    assert (again.outcome, again.receive_number) == ("delivered", 2)
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_a_worker_killed_three_times_fails_the_occurrence_as_lost(house: House) -> None:
    for _ in range(3):
        offers = house.dispatch(MONDAY).offers
        while not offers:
            offers = house.dispatch(MONDAY).offers
        kill_receive_at(house, offers[0], "upload recorded")

    finish(house)

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "worker_lost")
    assert house.messages() == []
    assert house.schedule().failure_streak == 1


def test_a_suspended_worker_that_wakes_after_another_took_over_changes_nothing(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    # A first heartbeat so late that the suspension meets no transaction in the middle.
    house = build_house(
        tmp_path, store_url, source_url, settings={"QUERIES_HEARTBEAT_INTERVAL": "0.9"}
    )
    (offer,) = house.dispatch(MONDAY).offers
    with hanging_receive(house, offer, "page written") as late:
        late.send_signal(signal.SIGSTOP)
        finish(house)
        settled = assert_delivered_once(house)
        late.send_signal(signal.SIGCONT)
        _, errors = late.communicate(timeout=20)

    assert late.returncode == 1
    assert "ReceiveLost" in errors or "UploadGone" in errors
    assert house.occurrence(settled.key) == settled
    assert_delivered_once(house)


def test_a_live_worker_that_takes_longer_than_the_silence_is_left_alone(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    with hanging_receive(house, offer, "page written"):
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            done = house.dispatch(MONDAY)
            assert (done.recovered, done.offers) == (0, ())
        assert house.history()[0].receive_number == 1

    finish(house)
    assert_delivered_once(house)


def _lose_source(house: House) -> None:
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE orders"))
    engine.dispose()
