"""Hop 7: what is logged, and how recipients' outcomes add up."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest
import sqlalchemy as sa

from queries_orchestration.communications.interface import Communications, Message, Submission
from queries_orchestration.model.errors import CommunicationsUnavailable, RecipientRefused
from queries_orchestration_tests.house import MONDAY, WEEK, House


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

    def submit(self, message: Message) -> Submission:
        if message.recipient_address in self.refused:
            raise RecipientRefused("550 no such mailbox")
        if self.unavailable.get(message.recipient_address, 0) > 0:
            self.unavailable[message.recipient_address] -= 1
            raise CommunicationsUnavailable("The test's wall is shut.")
        return self.inner.submit(message)


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

    told = [record.getMessage() for record in caplog.records]
    failed = [text for text in told if text.startswith("schedule_run_failed")]
    paused = [text for text in told if text.startswith("schedule_auto_paused")]
    schedule_id = house.schedule().id
    assert len(failed) == 5
    assert all(f"schedule={schedule_id}" in text for text in failed)
    assert all("code=source_broken" in text for text in failed)
    assert [f"schedule={schedule_id}" in text for text in paused] == [True]
    assert "code=five_failures" in paused[0]


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


def test_after_the_third_receive_what_was_sent_stays_and_the_rest_is_uncertain(
    house: House,
) -> None:
    faulty = _with_faults(house, unavailable={"bob@example.org": 9})

    for _ in range(3):
        faulty.deliver(MONDAY)

    (occurrence,) = house.history()
    rows = house.deliveries(occurrence.key)
    assert (occurrence.outcome, occurrence.code) == ("failed", "communications_unavailable")
    assert (rows["bob"].state, rows["cyd"].state) == ("uncertain", "sent")
    assert house.export(occurrence.key).state == "ready"


def test_somebody_who_left_while_their_message_was_under_way_is_uncertain(house: House) -> None:
    faulty = _with_faults(house, unavailable={"bob@example.org": 1})
    faulty.deliver(MONDAY)
    house.apply(
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        "people:\n  bob: {title: Bob Buyer, address: bob@example.org, roles: [reader],"
        " active: false}\n"
    )

    assert house.deliver(MONDAY) == ["delivered"]

    rows = house.deliveries(house.history()[0].key)
    assert (rows["bob"].state, rows["bob"].code) == ("uncertain", "inactive")


def test_a_recipient_removed_while_their_message_was_under_way_is_uncertain(house: House) -> None:
    faulty = _with_faults(house, unavailable={"bob@example.org": 1})
    faulty.deliver(MONDAY)
    with house.backends.database.transaction() as connection:
        connection.execute(
            sa.text(
                "DELETE FROM schedule_recipients WHERE person_id ="
                " (SELECT id FROM people WHERE name = 'bob')"
            )
        )

    assert house.deliver(MONDAY) == ["delivered"]

    rows = house.deliveries(house.history()[0].key)
    assert (rows["bob"].state, rows["bob"].code) == ("uncertain", "removed")


def _with_faults(
    house: House, *, refused: set[str] | None = None, unavailable: dict[str, int] | None = None
) -> House:
    wall = FaultyCommunications(
        house.backends.communications, refused=refused or set(), unavailable=unavailable or {}
    )
    return house.with_backends(replace(house.backends, communications=wall))
