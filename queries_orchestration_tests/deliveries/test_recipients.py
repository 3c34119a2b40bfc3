"""Who the recipients are, why some are skipped, and who may click. Cases E02, E03 and E11."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from queries_orchestration.communications.interface import Message, Submission
from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.deliveries.recipients import recipients_now
from queries_orchestration.model.errors import LinkRefused, SubmissionUncertain
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.deliveries.wider_house import (
    JANE,
    STAFF,
    catalog,
    execute,
    message_to,
    outcomes,
    outside_of,
    text_of,
    token_to,
)
from queries_orchestration_tests.downloads import click, recorded
from queries_orchestration_tests.house import MONDAY, WEEK, House


def listed(house: House) -> list[tuple[str, str | None]]:
    """The recipients as they are now, in their order: name and skip code."""
    with house.backends.database.across.read() as connection:
        found = recipients_now(connection, house.workspace_id, house.schedule().id)
    return [(one.name, one.skip_code) for one in found]


def refusal(house: House, token: str) -> str:
    with pytest.raises(LinkRefused) as told:
        open_public_link(house.backends, token, record=True)
    return told.value.message


def test_people_groups_and_outside_addresses_each_get_a_message_of_their_own(house: House) -> None:
    house.apply(catalog(f"[ada, {{group: sales}}, {JANE}]"))

    assert house.deliver(MONDAY) == ["delivered"]

    assert outcomes(house) == dict.fromkeys(("Jane Doe", "ada", "bob", "cyd"), "sent")
    messages = house.messages()
    assert house.addressees() == [
        "ada@example.org",
        "bob@example.org",
        "cyd@example.org",
        "jane@partner.example",
    ]
    tokens = set()
    for message in messages:
        assert len(message["To"].addresses) == 1
        assert (message["Cc"], message["Bcc"], message["Reply-To"]) == (None, None, None)
        own = message["To"].addresses[0].addr_spec
        raw = message.as_string() + text_of(message) + text_of(message, "html")
        others = set(house.addressees()) - {own}
        assert not [address for address in others if address in raw]
        tokens.add(token_to(house, own))
    assert len(tokens) == 4
    assert message_to(house, "jane@partner.example")["To"].addresses[0].display_name == "Jane Doe"


def test_who_is_named_directly_comes_before_groups_and_nobody_twice(house: House) -> None:
    house.apply(
        catalog(
            f"[{{group: one}}, {JANE}, {{group: two}}, cyd]",
            groups="{one: {people: [bob, cyd]}, two: {people: [cyd, bob, ada]}}",
        )
    )

    assert listed(house) == [
        ("Jane Doe", None),
        ("Cyd Clerk", None),
        ("Bob Buyer", None),
        ("Ada Owner", None),
    ]


def test_every_skip_has_its_code(house: House) -> None:
    people = STAFF.replace("bob@example.org", "bob@partner.example").replace(
        "cyd@example.org", "BOB@Partner.example"
    )
    house.apply(
        catalog(
            "[dan, eli, bob, cyd, {address: a@partner.example}, {address: b@other.example},"
            " {address: c@partner.example}, {address: d@partner.example}]",
            domains="[partner.example, other.example]",
            people=people,
        )
    )
    house.apply("workspace: {name: acme, allowed_domains: [partner.example]}\n")
    execute(
        house,
        "UPDATE outside_addresses SET address = NULL, mailbox = NULL"
        " WHERE mailbox = 'c@partner.example'",
    )
    execute(
        house,
        "UPDATE outside_addresses SET address = 'no address' WHERE mailbox = 'd@partner.example'",
    )

    assert listed(house) == [
        ("Dan Gone", "inactive"),
        ("Eli Without", "no_address"),
        ("Bob Buyer", None),
        ("Cyd Clerk", "duplicate"),
        ("", None),
        ("", "domain_not_allowed"),
        ("", "no_address"),
        ("", "invalid_address"),
    ]
    assert house.deliver(MONDAY) == ["delivered"]
    assert house.addressees() == ["a@partner.example", "bob@partner.example"]


def test_who_left_the_workspace_is_told_from_who_was_switched_off(house: House) -> None:
    house.apply(catalog("[bob, cyd]"))
    execute(house, "UPDATE people SET active = false, left_workspace = true WHERE name = 'bob'")

    assert listed(house) == [("Bob Buyer", "left_workspace"), ("Cyd Clerk", None)]


def test_the_bare_address_of_somebody_deactivated_reaches_nobody(house: House) -> None:
    # Jane is an outside address first; then somebody of that address joins, and is switched off.
    house.apply(catalog(f"[{JANE}, cyd]"))
    house.apply(
        "workspace: {name: acme}\npeople:\n"
        "  jan: {title: Jan, address: JANE@partner.example, active: false}\n"
    )

    assert listed(house) == [("Jane Doe", "inactive"), ("Cyd Clerk", None)]


def test_groups_are_looked_into_when_the_message_is_sent(house: House) -> None:
    house.apply(catalog("[{group: sales}]"))
    assert house.deliver(MONDAY) == ["delivered"]
    house.apply(catalog("[{group: sales}]", groups="{sales: {people: [ada, cyd]}}"))

    assert house.deliver(MONDAY + WEEK) == ["delivered"]

    assert outcomes(house, slot=0) == {"bob": "sent", "cyd": "sent"}
    assert outcomes(house) == {"ada": "sent", "cyd": "sent"}


def test_an_empty_group_makes_an_occurrence_without_recipients(house: House) -> None:
    house.apply(catalog("[{group: sales}]", groups="{sales: {people: []}}"))

    assert house.deliver(MONDAY) == ["no_recipients"]


def test_the_link_of_who_left_the_group_ends_at_once_and_the_others_go_on(house: House) -> None:
    house.apply(catalog(f"[{{group: sales}}, {JANE}]"))
    assert house.deliver(MONDAY) == ["delivered"]
    bobs, cyds = token_to(house, "bob@example.org"), token_to(house, "cyd@example.org")

    house.apply(catalog(f"[{{group: sales}}, {JANE}]", groups="{sales: {people: [cyd]}}"))
    assert refusal(house, bobs) == LinkRefused().message
    click(house, open_public_link(house.backends, cyds, record=True))

    # Otherwise a recipient: named directly.
    house.apply(catalog("[{group: sales}, bob]", groups="{sales: {people: [cyd]}}"))
    click(house, open_public_link(house.backends, bobs, record=True))


def test_an_outside_address_opens_its_link_while_it_is_a_recipient_of_an_allowed_domain(
    house: House,
) -> None:
    house.apply(catalog(f"[cyd, {JANE}]"))
    assert house.deliver(MONDAY) == ["delivered"]
    token = token_to(house, "jane@partner.example")
    export_id = house.export(house.history()[0].key).id

    click(house, open_public_link(house.backends, token, record=True))
    (download,) = recorded(house, export_id)
    assert download.person_id is None
    assert download.outside_id == outside_of(house, "jane@partner.example").id

    for change in (
        "workspace: {name: acme, allowed_domains: [other.example]}\n",
        catalog("[cyd]"),
        "workspace: {name: acme, allowed_domains: []}\n",
    ):
        house.apply(change)
        assert refusal(house, token) == LinkRefused().message
        house.apply(catalog(f"[cyd, {JANE}]"))
        click(house, open_public_link(house.backends, token, record=True))

    execute(house, "UPDATE outside_addresses SET address = NULL, mailbox = NULL, title = NULL")
    assert refusal(house, token) == LinkRefused().message
    click(
        house,
        open_public_link(house.backends, token_to(house, "cyd@example.org"), record=True),
    )


def test_what_is_recorded_is_kept_on_a_retry_when_the_membership_changed_meanwhile(
    house: House,
) -> None:
    house.apply(catalog(f"[dan, {{group: sales}}, {JANE}]"))
    wall = FaultyCommunications(
        house.backends.communications, refused=set(), unavailable={"jane@partner.example": 1}
    )
    faulty = house.with_backends(replace(house.backends, communications=wall))
    assert faulty.deliver(MONDAY) == ["communications_unavailable"]
    before = house.deliveries(house.history()[0].key)
    assert {name: row.state for name, row in before.items()} == {
        "dan": "skipped",
        "bob": "sent",
        "cyd": "sent",
        "Jane Doe": "sending",
    }

    # Dan is back, Bob has left the group, Ada has joined it, Jane is no recipient any more.
    active = STAFF.replace(", active: false", "")
    house.apply(
        catalog("[dan, {group: sales}]", groups="{sales: {people: [cyd, ada]}}", people=active)
    )
    assert faulty.deliver(MONDAY) == ["delivered"]

    after = house.deliveries(house.history()[0].key)
    for name in ("dan", "bob", "cyd"):
        # Where it went is forgotten with the settlement.
        assert after[name] == replace(before[name], mailbox_digest=None)
    assert after["ada"].state == "sent"
    assert (after["Jane Doe"].state, after["Jane Doe"].code) == ("skipped", "removed")
    assert house.addressees() == ["ada@example.org", "bob@example.org", "cyd@example.org"]


def test_a_mailbox_that_has_the_message_gets_no_second_one_under_another_recipient(
    house: House,
) -> None:
    house.apply(catalog(f"[bob, {JANE}]"))
    wall = FaultyCommunications(
        house.backends.communications, refused=set(), unavailable={"jane@partner.example": 1}
    )
    faulty = house.with_backends(replace(house.backends, communications=wall))
    assert faulty.deliver(MONDAY) == ["communications_unavailable"]

    # Somebody with Bob's mailbox comes before him, and he goes.
    house.apply(
        catalog(
            f"[zoe, {JANE}]",
            people=STAFF + "  zoe: {title: Zoe, address: Bob@Example.org}\n",
        )
    )
    assert faulty.deliver(MONDAY) == ["delivered"]

    assert outcomes(house) == {"bob": "sent", "zoe": "duplicate", "Jane Doe": "sent"}
    assert house.addressees() == ["bob@example.org", "jane@partner.example"]


class Losing(FaultyCommunications):
    """Takes a message to Jane and loses the answer."""

    def submit(self, message: Message, *, seconds: float = 1) -> Submission:
        taken = super().submit(message, seconds=seconds)
        if message.recipient_address == "jane@partner.example":
            raise SubmissionUncertain("The answer was lost.")
        return taken


@pytest.mark.parametrize(
    ("wall", "state"), [(FaultyCommunications, "skipped"), (Losing, "uncertain")]
)
def test_who_no_longer_may_be_sent_to_is_uncertain_if_the_message_may_have_been_taken(
    house: House, wall: type[FaultyCommunications], state: str
) -> None:
    house.apply(catalog(f"[cyd, {JANE}]"))
    shut = 0 if wall is Losing else 1
    walled = wall(
        house.backends.communications, refused=set(), unavailable={"jane@partner.example": shut}
    )
    house.with_backends(replace(house.backends, communications=walled)).deliver(MONDAY)
    house.apply("workspace: {name: acme, allowed_domains: []}\n")

    assert house.deliver(MONDAY) == ["delivered"]

    row = house.deliveries(house.history()[0].key)["Jane Doe"]
    assert (row.state, row.code) == (state, "domain_not_allowed")


def test_no_key_and_no_link_holds_an_address(house: House) -> None:
    house.apply(catalog(f"[{JANE}]"))
    house.clock.at = MONDAY + timedelta(minutes=1)
    assert house.deliver(MONDAY) == ["delivered"]

    (row,) = house.deliveries(house.history()[0].key).values()
    jane = outside_of(house, "jane@partner.example")
    assert (row.recipient_id, row.person_id, row.outside_id) == (jane.id, None, jane.id)
    assert row.communication_key == f"{row.occurrence_key}.{jane.id}"
    assert "jane" not in repr(row) + repr(jane)
    assert "jane" not in token_to(house, "jane@partner.example").lower()
