"""Hop 7: what is logged, and how recipients' outcomes add up."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from queries_orchestration.communications.interface import Communications, Message, Submission
from queries_orchestration.deliveries import events
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.deliveries.schedule_changes import resume
from queries_orchestration.deliveries.streaks import (
    PAUSED_BEFORE,
    Settlement,
    count,
    follow_up,
)
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import CommunicationsUnavailable, RecipientRefused
from queries_orchestration.model.outcomes import Outcome
from queries_orchestration.store.offers import renew
from queries_orchestration.store.tables import schedules
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House


class FaultyCommunications:
    """The real mailbox, behind a wall that refuses some addresses and loses others for a while."""

    def __init__(
        self, inner: Communications, *, refused: set[str], unavailable: dict[str, int]
    ) -> None:
        self.inner = inner
        self.refused = refused
        self.unavailable = unavailable

    @property
    def idempotent_by_key(self) -> bool:
        return self.inner.idempotent_by_key

    def forget(self, communication_keys: Iterable[str]) -> None:
        self.inner.forget(communication_keys)

    def close(self) -> None:
        self.inner.close()

    def check(self, *, seconds: float = 1) -> None:
        self.inner.check(seconds=seconds)

    def submit(self, message: Message, *, seconds: float = 1) -> Submission:
        if message.recipient_address in self.refused:
            raise RecipientRefused("550 no such mailbox")
        if self.unavailable.get(message.recipient_address, 0) > 0:
            self.unavailable[message.recipient_address] -= 1
            raise CommunicationsUnavailable("The test's wall is shut.")
        return self.inner.submit(message, seconds=seconds)


def test_failures_and_pauses_are_logged_by_their_names(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE orders"))
    engine.dispose()

    with caplog.at_level(logging.WARNING):
        for week in range(5):
            house.deliver(MONDAY + week * WEEK)

    records = [vars(record) for record in caplog.records if hasattr(record, "event")]
    failed = [one for one in records if one["event"] == events.RUN_FAILED]
    paused = [one for one in records if one["event"] == events.AUTO_PAUSED]
    schedule_id = house.schedule().id
    keys = [one.key for one in house.history()]
    common = {"workspace": house.workspace_id, "schedule": schedule_id}
    assert [{name: one[name] for name in events.FIELDS} for one in failed] == [
        common | {"occurrence": key, "code": "source_broken", "streak": streak}
        for streak, key in enumerate(keys, start=1)
    ]
    assert [{name: one[name] for name in events.FIELDS} for one in paused] == [
        common | {"occurrence": keys[-1], "code": "five_failures", "streak": 5}
    ]
    assert failed[0]["message"] == (
        f"schedule_run_failed workspace={house.workspace_id} schedule={schedule_id}"
        f" occurrence={keys[0]} code=source_broken streak=1"
    )


def test_the_documented_events_and_fields_are_those_that_are_logged() -> None:
    documented = Path(__file__).parents[2] / "docs/events.md"
    text = documented.read_text()
    assert re.findall(r"^\| `(schedule_\w+)` \|", text, re.M) == [
        events.RUN_FAILED,
        events.AUTO_PAUSED,
    ]
    assert re.findall(r"^\| `(\w+)` \|", text.split("## Fields")[1], re.M) == list(events.FIELDS)


@pytest.mark.parametrize(
    ("outcome", "automatic", "purpose", "streak"),
    [
        ("delivered", True, "delivery", 0),
        ("delivered", False, "delivery", 0),
        ("delivered_partly", True, "delivery", 0),
        ("delivered_partly", False, "delivery", 0),
        ("skipped_empty", True, "delivery", 0),
        ("no_recipients", True, "delivery", 2),
        ("failed", True, "delivery", 3),
        ("failed", False, "delivery", 2),
        ("missed", True, "delivery", 2),
        ("cancelled", True, "delivery", 2),
        ("delivered", False, "test", 2),
        ("failed", False, "test", 2),
        ("delivered", False, "resend", 2),
        ("failed", False, "resend", 2),
    ],
)
def test_what_an_outcome_does_to_a_streak_of_two(
    house: House, outcome: Outcome, automatic: bool, purpose: str, streak: int
) -> None:
    """The table of outcomes: who asks for it and for what decides with it."""
    house.dispatch(MONDAY)
    (slot,) = house.history()
    asked = replace(
        slot,
        slot=slot.slot if automatic else None,
        requested_by=None if automatic else house.person("ada"),
        purpose=purpose,
    )
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(schedules).values(failure_streak=2))
        told = count(
            connection, asked, Settlement(outcome=outcome, code="x", message="Why."), at=MONDAY
        )

    assert (house.schedule().failure_streak, told.streak) == (streak, streak)
    assert (house.schedule().state, told.paused_with) == ("active", None)


def test_one_refused_recipient_keeps_nobody_else_from_theirs(house: House) -> None:
    faulty = _with_faults(house, refused={"bob@example.org"})

    assert faulty.deliver(MONDAY) == ["delivered_partly"]

    (occurrence,) = house.history()
    rows = house.deliveries(occurrence.key)
    assert (rows["bob"].state, rows["bob"].code) == ("refused", "recipient_refused")
    assert rows["cyd"].state == "sent"
    assert house.addressees() == ["cyd@example.org"]


def test_a_recipient_out_of_reach_for_a_while_is_the_only_one_tried_again(house: House) -> None:
    faulty = _with_faults(house, unavailable={"bob@example.org": 1})

    assert faulty.deliver(MONDAY) == ["communications_unavailable"]
    assert house.addressees() == ["cyd@example.org"]
    assert faulty.deliver(MONDAY) == ["delivered"]

    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert house.history()[0].receive_number == 2


def test_when_every_recipient_is_refused_the_occurrence_fails(house: House) -> None:
    faulty = _with_faults(house, refused={"bob@example.org", "cyd@example.org"})

    assert faulty.deliver(MONDAY) == ["failed"]

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "all_refused")
    assert house.schedule().failure_streak == 1


def test_after_the_third_receive_what_was_sent_stays_and_the_rest_is_unsent(
    house: House,
) -> None:
    faulty = _with_faults(house, unavailable={"bob@example.org": 9})

    for _ in range(3):
        faulty.deliver(MONDAY)

    (occurrence,) = house.history()
    rows = house.deliveries(occurrence.key)
    assert (occurrence.outcome, occurrence.code) == ("failed", "communications_unavailable")
    assert (rows["bob"].state, rows["cyd"].state) == ("unsent", "sent")
    assert rows["bob"].code == "communications_unavailable"
    assert house.export(occurrence.key).state == "ready"


def test_somebody_who_left_before_their_message_was_taken_is_skipped(house: House) -> None:
    faulty = _with_faults(house, unavailable={"bob@example.org": 1})
    faulty.deliver(MONDAY)
    house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "people:\n  bob: {title: Bob Buyer, address: bob@example.org, roles: [reader],"
        " active: false}\n"
    )

    assert house.deliver(MONDAY) == ["delivered"]

    rows = house.deliveries(house.history()[0].key)
    assert (rows["bob"].state, rows["bob"].code) == ("skipped", "inactive")


def test_a_recipient_removed_before_their_message_was_taken_is_skipped(house: House) -> None:
    faulty = _with_faults(house, unavailable={"bob@example.org": 1})
    faulty.deliver(MONDAY)
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text(
                "DELETE FROM schedule_recipients WHERE person_id ="
                " (SELECT id FROM people WHERE name = 'bob')"
            )
        )

    assert house.deliver(MONDAY) == ["delivered"]

    rows = house.deliveries(house.history()[0].key)
    assert (rows["bob"].state, rows["bob"].code) == ("skipped", "removed")


def _with_faults(
    house: House, *, refused: set[str] | None = None, unavailable: dict[str, int] | None = None
) -> House:
    wall = FaultyCommunications(
        house.backends.communications, refused=refused or set(), unavailable=unavailable or {}
    )
    return house.with_backends(replace(house.backends, communications=wall))


def test_what_waits_behind_the_failure_that_pauses_is_missed(house: House) -> None:
    """Resuming never fires the past, whatever the policy: nor what was admitted and never begun."""
    hourly = CATALOG.replace("0 8 * * 1", "0 * * * *").replace(
        "    format: csv\n", "    format: csv\n    missed_slots: all\n"
    )
    house.apply(hourly)
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO others"))
    first = house.schedule().next_slot
    assert first is not None
    at = first + timedelta(hours=7)

    ends = [end for _ in range(6) for end in house.deliver(at)]

    assert ends == ["source_broken"] * 5
    assert (house.schedule().state, house.schedule().failure_streak) == ("paused", 5)
    missed = house.history()[5:]
    assert [one.outcome for one in missed] == ["missed"] * 3
    assert {one.message for one in missed} == {PAUSED_BEFORE}

    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE others RENAME TO orders"))
    engine.dispose()
    resume(house.backends, house.workspace_id, schedule_id=house.schedule().id, by=OPERATOR)
    assert house.deliver(at + timedelta(minutes=1)) == []
    assert house.deliver(at + timedelta(hours=1)) == ["delivered"]


def test_what_a_run_may_still_take_goes_on_after_the_pause(house: House) -> None:
    """A click's occurrence does, too: the pause is of the recurrence."""
    (offer,) = house.dispatch(MONDAY).offers
    with house.backends.database.across.transaction() as connection:
        renew(connection, offer, lease=60)
    run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )
    with house.backends.database.across.transaction() as connection:
        follow_up(
            connection,
            house.workspace_id,
            house.schedule().id,
            occurrence_key=offer.key,
            failure=("source_broken", "It is broken."),
            pause=("five_failures", "Five failed."),
            streak=5,
            at=MONDAY,
        )

    assert house.schedule().state == "paused"
    assert house.take(offer) == "delivered"
    assert house.work("delivery") == ["delivered"]
