"""Hop 7: who is told of failures and pauses, once each, and never by chance not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.communications.compose_notice import NoticeFacts, compose_notice
from queries_orchestration.communications.interface import Communications, Message, Submission
from queries_orchestration.deliveries import notify
from queries_orchestration.deliveries.notify import send_notices
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.deliveries.schedule_changes import resume
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    RecipientRefused,
    SubmissionUncertain,
)
from queries_orchestration.receives.waiting import RealWaiting
from queries_orchestration.store.tables import notices, people, schedules
from queries_orchestration_tests.house import MONDAY, WEEK, House

WORKSPACE = "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
ADMINISTRATORS = WORKSPACE + (
    "people:\n"
    "  root: {title: Root Admin, address: root@example.org, roles: [administrator]}\n"
    "  left: {title: Left Admin, address: left@example.org, roles: [administrator],"
    " active: false}\n"
    "  mute: {title: Mute Admin, roles: [administrator]}\n"
)
FAILED = "Weekly orders was not delivered"
IS_PAUSED = "Weekly orders is paused"


@pytest.fixture
def failing(house: House) -> House:
    """A house with administrators, whose source is gone."""
    house.apply(ADMINISTRATORS)
    _source(house, "ALTER TABLE orders RENAME TO elsewhere")
    settings = replace(house.backends.settings, retry_delay=1e-6)  # over before the next pass
    return house.with_backends(replace(house.backends, settings=settings))


@pytest.mark.parametrize("owner", [{"address": None}, {"address": "no address"}])
def test_where_the_owner_has_no_address_the_administrators_are_told_of_a_failure(
    failing: House, owner: dict[str, str | None]
) -> None:
    with failing.backends.database.across.transaction() as connection:
        connection.execute(sa.update(people).where(people.c.name == "ada").values(**owner))

    failing.deliver(MONDAY)
    failing.dispatch(MONDAY)

    assert failing.told() == [("root@example.org", FAILED)]


def test_an_owner_who_is_an_administrator_is_told_of_a_pause_once(failing: House) -> None:
    failing.apply(
        WORKSPACE + "people:\n"
        "  ada: {title: Ada Owner, address: ada@example.org, roles: [author, administrator]}\n"
    )
    for week in range(5):
        failing.deliver(MONDAY + week * WEEK)
    failing.dispatch(MONDAY + 5 * WEEK)

    paused = [who for who, subject in failing.told() if subject == IS_PAUSED]
    assert paused == ["ada@example.org", "root@example.org"]


def test_the_owner_is_told_of_the_first_failure_of_a_streak_and_all_of_the_pause(
    failing: House,
) -> None:
    for week in range(4):
        failing.deliver(MONDAY + week * WEEK)
        failing.dispatch(MONDAY + week * WEEK)
        assert failing.told() == [("ada@example.org", FAILED)]

    failing.deliver(MONDAY + 4 * WEEK)
    failing.dispatch(MONDAY + 4 * WEEK)

    assert failing.told() == [
        ("ada@example.org", IS_PAUSED),
        ("ada@example.org", FAILED),
        ("root@example.org", IS_PAUSED),
    ]
    (pause,) = [one for one in failing.notices() if "root@example.org" in one["To"]]
    text = pause.get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "5 deliveries in a row failed, the last with source_broken" in text
    assert "queries schedules resume weekly" in text
    assert "2027-02-01 08:00 Europe/Berlin" in text
    assert "https://" not in text
    # Not once more, however many passes follow.
    failing.dispatch(MONDAY + 9 * WEEK)
    assert len(failing.notices()) == 3


def test_a_new_streak_and_a_new_pause_are_told_again(failing: House) -> None:
    failing.deliver(MONDAY)
    _source(failing, "ALTER TABLE elsewhere RENAME TO orders")
    assert failing.deliver(MONDAY + WEEK) == ["delivered"]
    _source(failing, "ALTER TABLE orders RENAME TO elsewhere")
    for week in range(2, 7):
        failing.deliver(MONDAY + week * WEEK)
    resume(failing.backends, failing.workspace_id, schedule_id=failing.schedule().id, by=OPERATOR)
    for week in range(7, 12):
        failing.deliver(MONDAY + week * WEEK)
    failing.dispatch(MONDAY + 12 * WEEK)

    told = failing.told()
    assert told.count(("ada@example.org", FAILED)) == 3
    assert told.count(("ada@example.org", IS_PAUSED)) == 2
    assert told.count(("root@example.org", IS_PAUSED)) == 2
    assert len(told) == 7


def test_lost_access_is_one_pause_and_no_failure_beside_it(house: House) -> None:
    house.apply(ADMINISTRATORS)
    house.apply(WORKSPACE + "people:\n  ada: {title: Ada Owner, address: ada@example.org}\n")

    house.deliver(MONDAY)
    house.dispatch(MONDAY)

    assert house.told() == [("ada@example.org", IS_PAUSED), ("root@example.org", IS_PAUSED)]


def test_an_hour_of_failures_with_a_deactivated_owner_is_one_notice_to_an_active_person(
    house: House,
) -> None:
    """A11: the notice of a failure does not flood."""
    house.apply(ADMINISTRATORS)
    house.apply(
        WORKSPACE + "schedules:\n  often: {title: Often, query: all-orders, owner: ada,"
        ' cron: "*/5 * * * *", format: csv, recipients: [bob]}\n'
    )
    house.apply(
        WORKSPACE + "people:\n  ada: {title: Ada Owner, address: ada@example.org,"
        " roles: [author], active: false}\n"
    )
    first = house.schedule("often").next_slot
    assert first is not None

    for minute in range(61):
        house.deliver(first + minute * timedelta(minutes=1))

    assert house.told() == [("root@example.org", "Often is paused")]
    assert _rows(house) == {
        ("ada", "skipped", "inactive"),
        ("mute", "skipped", "no_address"),
        ("root", "sent", None),
    }


def test_an_hour_of_failures_tells_an_active_owner_twice(failing: House) -> None:
    failing.apply(
        WORKSPACE + "schedules:\n  often: {title: Often, query: all-orders, owner: ada,"
        ' cron: "*/5 * * * *", format: csv, recipients: [bob]}\n'
    )
    first = failing.schedule("often").next_slot
    assert first is not None

    for minute in range(61):
        failing.deliver(first + minute * timedelta(minutes=1))

    assert failing.told() == [
        ("ada@example.org", "Often is paused"),
        ("ada@example.org", "Often was not delivered"),
        ("root@example.org", "Often is paused"),
    ]


def test_a_failed_run_now_tells_nobody_by_message(house: House) -> None:
    run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )
    _source(house, "ALTER TABLE orders RENAME TO elsewhere")

    assert house.deliver(MONDAY - WEEK) == ["source_broken"]
    house.dispatch(MONDAY - WEEK)

    assert house.notices() == []


def test_a_schedule_that_cannot_be_dispatched_is_told_as_paused(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(schedules).values(time_zone="Mars/Olympus"))

    house.dispatch(MONDAY)

    assert house.told() == [("ada@example.org", IS_PAUSED)]
    text = house.notices()[0].get_body(("plain",)).get_content()  # type: ignore[union-attr]
    assert "Mars/Olympus" in text
    assert "2027-01-04 07:00 UTC" in text


class Wall:
    """The real mailbox behind a wall: shut for a while, or refusing, or without a memory."""

    def __init__(self, inner: Communications, *, idempotent: bool = True) -> None:
        self.inner, self.idempotent_by_key = inner, idempotent
        self.shut = self.refuses = self.dies = self.breaks = self.is_slow = False
        self.submitted: list[str] = []
        self.seconds: list[float] = []
        self.takes: Callable[[], None] = lambda: None

    def check(self, *, seconds: float = 1) -> None:
        self.inner.check(seconds=seconds)

    def forget(self, communication_keys: Iterable[str]) -> None:
        self.inner.forget(communication_keys)

    def close(self) -> None:
        self.inner.close()

    def submit(self, message: Message, *, seconds: float = 1) -> Submission:
        self.submitted.append(message.message_id)
        self.seconds.append(seconds)
        self.takes()
        if self.shut:
            raise CommunicationsUnavailable("The test's wall is shut.")
        if self.refuses:
            raise RecipientRefused("550 no such mailbox")
        if self.breaks:
            raise ZeroDivisionError
        if self.is_slow:
            raise SubmissionUncertain("The test's wall says nothing.")
        if self.dies:
            raise KeyboardInterrupt
        return self.inner.submit(message, seconds=seconds)


def test_what_cannot_be_sent_now_is_tried_again_later(failing: House) -> None:
    wall = Wall(failing.backends.communications)
    walled = failing.with_backends(replace(failing.backends, communications=wall))
    walled.deliver(MONDAY)
    wall.shut = True
    for _ in range(3):
        walled.dispatch(MONDAY)
    assert failing.notices() == []
    assert _rows(failing) == {("ada", "waiting", "communications_unavailable")}

    wall.shut = False
    walled.dispatch(MONDAY)

    assert failing.told() == [("ada@example.org", FAILED)]
    assert len(set(wall.submitted)) == 1


def test_an_owner_and_an_administrator_with_one_mailbox_are_told_once(failing: House) -> None:
    failing.apply(
        WORKSPACE + "people:\n"
        "  ada: {title: Ada Owner, address: ada@example.org}\n"
        "  eve: {title: Eve, address: ADA@example.org, roles: [administrator]}\n"
        "  joe: {title: Joe, address: root@example.org, roles: [administrator]}\n"
    )
    failing.deliver(MONDAY)
    failing.dispatch(MONDAY)

    assert failing.told() == [("ada@example.org", IS_PAUSED), ("root@example.org", IS_PAUSED)]
    assert {name for name, *_ in _rows(failing)} & {"ada", "eve"} == {"ada"}


def test_an_administrator_is_told_whose_mailbox_is_that_of_an_owner_who_left(
    failing: House,
) -> None:
    failing.apply(
        WORKSPACE + "people:\n"
        "  ada: {title: Ada Owner, address: ada@example.org, active: false}\n"
        "  eve: {title: Eve, address: ada@example.org, roles: [administrator]}\n"
    )
    failing.deliver(MONDAY)
    failing.dispatch(MONDAY)

    assert ("ada@example.org", IS_PAUSED) in failing.told()


def test_a_server_that_is_slow_to_answer_gets_no_second_notice(failing: House) -> None:
    wall = Wall(failing.backends.communications, idempotent=False)
    wall.is_slow = True
    walled = failing.with_backends(replace(failing.backends, communications=wall))
    failing.deliver(MONDAY)

    assert [send_notices(walled.backends) for _ in range(3)] == [0, 0, 0]

    assert len(wall.submitted) == 1
    assert _rows(failing) == {("ada", "uncertain", "submission_uncertain")}


def test_no_notice_is_begun_that_could_not_end_within_the_pass(failing: House) -> None:
    class Clock(RealWaiting):
        moment = 0.0

        def now(self) -> float:
            return self.moment

    clock, wall = Clock(), Wall(failing.backends.communications)
    wall.takes = lambda: setattr(clock, "moment", clock.moment + 11)
    walled = failing.with_backends(replace(failing.backends, communications=wall, waiting=clock))
    failing.apply(WORKSPACE + "people:\n  ada: {title: Ada Owner, address: ada@example.org}\n")
    failing.deliver(MONDAY)

    assert [send_notices(walled.backends) for _ in range(2)] == [1, 1]
    assert wall.seconds == [20, 20]


def test_a_refused_recipient_is_final(failing: House) -> None:
    wall = Wall(failing.backends.communications)
    wall.refuses = True
    walled = failing.with_backends(replace(failing.backends, communications=wall))
    walled.deliver(MONDAY)
    for _ in range(3):
        walled.dispatch(MONDAY)

    assert len(wall.submitted) == 1
    assert _rows(failing) == {("ada", "refused", "recipient_refused")}


def test_a_server_without_memory_is_asked_once_more_after_a_lost_answer_and_not_again(
    failing: House,
) -> None:
    wall = Wall(failing.backends.communications, idempotent=False)
    wall.dies = True
    walled = failing.with_backends(replace(failing.backends, communications=wall))
    failing.deliver(MONDAY)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            send_notices(walled.backends)
    assert send_notices(walled.backends) == 0

    assert len(wall.submitted) == 2
    assert len(set(wall.submitted)) == 1
    assert _rows(failing) == {("ada", "uncertain", "resubmitted")}


def test_an_unforeseen_error_of_a_server_without_memory_counts_as_a_lost_answer(
    failing: House,
) -> None:
    wall = Wall(failing.backends.communications, idempotent=False)
    wall.breaks = True
    walled = failing.with_backends(replace(failing.backends, communications=wall))
    failing.deliver(MONDAY)

    assert [send_notices(walled.backends) for _ in range(4)] == [0, 0, 0, 0]
    assert len(wall.submitted) == 2
    assert _rows(failing) == {("ada", "uncertain", "resubmitted")}


def test_a_notice_that_meets_an_unforeseen_error_keeps_no_other_from_being_sent(
    failing: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing_for_ada(facts: NoticeFacts) -> tuple[str, str, str]:
        if facts.recipient_name == "Ada Owner":
            raise ZeroDivisionError
        return compose_notice(facts)

    monkeypatch.setattr(notify, "compose_notice", failing_for_ada)
    failing.apply(WORKSPACE + "people:\n  ada: {title: Ada Owner, address: ada@example.org}\n")
    failing.deliver(MONDAY)
    failing.dispatch(MONDAY)

    assert failing.told() == [("root@example.org", IS_PAUSED)]
    assert ("ada", "waiting", "unexpected_error") in _rows(failing)


def test_a_pass_leaves_the_rest_of_many_notices_to_the_next(
    failing: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notify, "NOTICES_A_PASS", 1)
    failing.apply(WORKSPACE + "people:\n  ada: {title: Ada Owner, address: ada@example.org}\n")
    failing.deliver(MONDAY)

    sent = [send_notices(failing.backends) for _ in range(4)]

    assert sum(sent) == 2
    assert max(sent) == 1


def _rows(house: House) -> set[tuple[str, str, str | None]]:
    """Recipient, state and code of every notice."""
    with house.backends.database.across.read() as connection:
        found = connection.execute(
            sa.select(people.c.name, notices.c.state, notices.c.outcome_code).join_from(
                notices, people, people.c.id == notices.c.person_id
            )
        )
        return {(row[0], row[1], row[2]) for row in found}


def _source(house: House, statement: str) -> None:
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()
