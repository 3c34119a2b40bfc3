"""One mailbox gets one message of an occurrence, and one at all while somebody active has it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.message import message_of
from queries_orchestration.deliveries.unsubscribe import (
    forget_unsubscription,
    record_unsubscription,
)
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.store.tables import deliveries
from queries_orchestration_tests.communications.smtp_server import Fault, SmtpServer, running_smtp
from queries_orchestration_tests.deliveries import wider_house
from queries_orchestration_tests.deliveries.wider_house import JANE, execute, outcomes
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House, build_house

LATER = "451 4.3.0 later"
ADA = "  ada: {title: Ada Owner, address: ada@example.org, roles: [author]}\n"


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with running_smtp() as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str, server: SmtpServer) -> House:
    settings = {"QUERIES_COMMUNICATIONS_URL": server.url(), "QUERIES_SEND_TIMEOUT": "0.2"}
    return build_house(tmp_path, store_url, source_url, catalog=CATALOG, rows=3, settings=settings)


def person(name: str, address: str, *, active: bool = True) -> str:
    return f"  {name}: {{title: {name}, address: {address}, active: {str(active).lower()}}}\n"


def catalog(recipients: str, *people: str) -> str:
    return wider_house.catalog(recipients, groups="{}", people=ADA + "".join(people))


def test_who_was_skipped_for_another_gets_it_when_the_other_leaves_without_it(
    house: House, server: SmtpServer
) -> None:
    bob = person("bob", "X@e.test")
    house.apply(catalog("[ann, bob]", person("ann", "x@e.test"), bob))
    server.plan("RCPT", LATER, recipient="x@e.test")
    assert house.deliver(MONDAY) == ["communications_unavailable"]
    assert outcomes(house) == {"ann": "sending", "bob": "duplicate"}
    house.apply(catalog("[ann, bob]", person("ann", "x@e.test", active=False), bob))

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["X@e.test"]
    assert outcomes(house) == {"ann": "inactive", "bob": "sent"}


def test_a_newcomer_with_the_mailbox_gets_it_when_the_other_left_without_it(
    house: House, server: SmtpServer
) -> None:
    house.apply(catalog("[ann]", person("ann", "x@e.test")))
    server.plan("RCPT", LATER, recipient="x@e.test")
    house.deliver(MONDAY)
    house.apply(
        catalog("[ann, bob]", person("ann", "x@e.test", active=False), person("bob", "x@e.test"))
    )

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["x@e.test"]
    assert outcomes(house) == {"ann": "inactive", "bob": "sent"}


def test_who_may_have_it_keeps_the_mailbox_though_they_leave(
    house: House, server: SmtpServer
) -> None:
    bob = person("bob", "x@e.test")
    house.apply(catalog("[ann, bob]", person("ann", "x@e.test"), bob))
    server.plan("END", Fault.DROP, recipient="x@e.test")
    house.deliver(MONDAY)
    house.apply(catalog("[bob]", person("ann", "x@e.test", active=False), bob))

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["x@e.test"]
    assert outcomes(house) == {"ann": "removed", "bob": "duplicate"}


def test_addresses_that_move_between_receives_bring_no_mailbox_a_second_message(
    house: House, server: SmtpServer
) -> None:
    house.apply(catalog("[ann, bob]", person("ann", "x@e.test"), person("bob", "b@e.test")))
    server.plan("RCPT", LATER, recipient="b@e.test")
    house.deliver(MONDAY)
    house.apply(catalog("[ann, bob]", person("ann", "a2@e.test"), person("bob", "x@e.test")))

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["x@e.test"]
    assert outcomes(house) == {"ann": "sent", "bob": "duplicate"}


def test_who_was_erased_and_comes_back_as_a_person_gets_no_second_message(
    house: House, server: SmtpServer
) -> None:
    bob = person("bob", "b@e.test")
    house.apply(catalog(f"[{JANE}, bob]", bob))
    server.plan("RCPT", LATER, recipient="b@e.test")
    house.deliver(MONDAY)
    execute(house, "UPDATE outside_addresses SET address = NULL, mailbox = NULL, title = NULL")
    house.apply(catalog("[jane, bob]", person("jane", "jane@partner.example"), bob))

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["b@e.test", "jane@partner.example"]


def test_what_may_have_arrived_is_not_sent_to_another_mailbox(
    house: House, server: SmtpServer
) -> None:
    house.apply(catalog("[ann]", person("ann", "x@e.test")))
    server.plan("END", Fault.DROP, recipient="x@e.test")
    house.deliver(MONDAY)
    house.apply(catalog("[ann]", person("ann", "y@e.test")))

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["x@e.test"]
    (row,) = house.deliveries(house.history()[0].key).values()
    assert (row.state, row.code) == ("uncertain", "address_changed")


def test_what_was_plainly_not_taken_goes_to_the_address_of_now(
    house: House, server: SmtpServer
) -> None:
    house.apply(catalog("[ann]", person("ann", "x@e.test")))
    server.plan("RCPT", LATER, recipient="x@e.test")
    house.deliver(MONDAY)
    house.apply(catalog("[ann]", person("ann", "y@e.test")))

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["y@e.test"]


@pytest.mark.parametrize("failures", [0, 1, 3])
def test_a_settled_occurrence_keeps_no_trace_of_its_mailboxes(
    house: House, server: SmtpServer, failures: int
) -> None:
    server.plan("RCPT", LATER, recipient="bob@example.org", times=failures)
    house.deliver(MONDAY)
    with house.backends.database.across.read() as connection:
        kept = connection.scalars(sa.select(deliveries.c.mailbox_digest)).all()
    assert any(kept) == bool(failures)
    assert all(digest is None or len(digest) == 64 for digest in kept)

    while house.deliver(MONDAY):
        pass

    assert house.history()[0].outcome == ("failed" if failures == 3 else "delivered")
    with house.backends.database.across.read() as connection:
        assert not any(connection.scalars(sa.select(deliveries.c.mailbox_digest)))


def test_who_unsubscribed_gets_nothing_at_the_mailbox_of_then(
    house: House, server: SmtpServer
) -> None:
    house.apply(catalog("[ann]", person("ann", "jane@partner.example")))
    schedule_id = house.schedule().id
    with house.backends.database.across.transaction() as connection:
        record_unsubscription(
            connection,
            house.workspace_id,
            schedule_id=schedule_id,
            recipient_id=house.person("ann"),
            by=OPERATOR,
            at=MONDAY,
        )
    house.apply(catalog(f"[ann, {JANE}]", person("ann", "ann.new@e.test")))

    assert house.deliver(MONDAY) == ["no_recipients"]

    assert server.recipients() == []
    assert set(outcomes(house).values()) == {"unsubscribed"}
    # Who has the mailbox now may have messages again, and whoever wished so under another name.
    jane = wider_house.outside_of(house, "jane@partner.example").id
    with house.backends.database.across.transaction() as connection:
        for expected in (True, False):
            assert expected is forget_unsubscription(
                connection,
                house.workspace_id,
                schedule_id=schedule_id,
                recipient_id=jane,
                by=OPERATOR,
                at=MONDAY,
            )
    assert house.deliver(MONDAY + WEEK) == ["delivered"]


def test_an_address_that_no_rule_lets_in_any_more_is_skipped(
    house: House, server: SmtpServer
) -> None:
    house.apply(catalog("[ann, bob]", person("ann", "a@e.test"), person("bob", "b@e.test")))
    word = "=?utf-8?q?a=0d=0aBcc=3a=20x=40evil.test?=@e.test"
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE people SET address = :word WHERE name = 'ann'"), {"word": word}
        )

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == ["b@e.test"]
    assert outcomes(house) == {"ann": "invalid_address", "bob": "sent"}
    # Nor does it keep the catalog from naming others.
    house.apply(catalog(f"[bob, {JANE}]", person("bob", "b@e.test")))


def test_what_cannot_be_made_for_one_recipient_is_theirs_alone_and_not_uncertain(
    house: House, server: SmtpServer
) -> None:
    cyd = person("cyd", "c@e.test")
    house.apply(catalog("[ann, bob]", person("ann", "a@e.test"), person("bob", "b@e.test"), cyd))
    server.plan("RCPT", LATER, recipient="a@e.test")
    assert house.deliver(MONDAY) == ["communications_unavailable"]
    house.apply(catalog("[ann, cyd]", person("ann", "a@e.test"), cyd))
    # The key that signed the link of the first receive is gone.
    keys = LinkKeys.parse(f"other:{'z' * 40}")
    rotated = house.with_backends(replace(house.backends, link_keys=keys))

    assert [rotated.deliver(MONDAY) for _ in range(3)] == [["invalid_settings"]] * 2 + [[]]

    assert server.recipients()[-2:] == ["b@e.test", "c@e.test"]
    assert outcomes(house) == {"ann": "invalid_settings", "bob": "sent", "cyd": "sent"}
    row = house.deliveries(house.history()[0].key)["ann"]
    assert (row.state, row.unanswered) == ("unsent", 0)


def test_an_unforeseen_error_with_one_recipient_keeps_nobody_else_from_theirs(
    house: House, server: SmtpServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken_for_bob(*args: Any, **kwds: Any) -> Any:
        if kwds["name"] == "bob":
            raise ZeroDivisionError
        return message_of(*args, **kwds)

    monkeypatch.setattr("queries_orchestration.deliveries.deliver.message_of", broken_for_bob)
    house.apply(catalog("[bob, ann]", person("ann", "a@e.test"), person("bob", "b@e.test")))
    assert [house.deliver(MONDAY) for _ in range(3)] == [["unexpected_error"]] * 3

    assert "a@e.test" in server.recipients()
    rows = house.deliveries(house.history()[0].key)
    assert (rows["ann"].state, rows["bob"].state, rows["bob"].unanswered) == ("sent", "unsent", 0)
