"""Whatever is named in whatever order: each once, one message a mailbox, direct before groups."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings, strategies as st

from queries_orchestration.deliveries.recipients import is_recipient, recipients_now
from queries_orchestration.model.addresses import mailbox_digest
from queries_orchestration.store import (
    groups,
    outside_addresses,
    people,
    recipients,
    unsubscriptions,
    workspaces,
)
from queries_orchestration.store.database import Database
from queries_orchestration.store.groups import Group
from queries_orchestration.store.outside_addresses import OutsideAddress
from queries_orchestration.store.people import Person
from queries_orchestration.store.recipients import NamedRecipient
from queries_orchestration.store.unsubscriptions import Unsubscription
from queries_orchestration_tests.store.valid_rows import SLOT, set_up

WORKSPACE, SCHEDULE = "acme", "acme-schedule"
PEOPLE = ("p1", "p2", "p3", "p4")
GROUPS = ("g1", "g2")
OUTSIDE = {"o1": "one@in.example", "o2": "two@in.example", "o3": "three@out.example"}
ADDRESSES = ("one@in.example", "ONE@in.example", "a@acme.example", "A@ACME.example", None)


@dataclass(frozen=True)
class Case:
    """Who there is, whom the schedule names, who wants no more, who was reached before."""

    people: tuple[tuple[str | None, bool], ...]  # address, active
    members: tuple[tuple[str, ...], ...]
    named: tuple[str, ...]
    unsubscribed: frozenset[str]
    served: tuple[str, ...]


IDS = st.sampled_from([*PEOPLE, *OUTSIDE])
CASES = st.builds(
    Case,
    people=st.tuples(*[st.tuples(st.sampled_from(ADDRESSES), st.booleans())] * len(PEOPLE)),
    members=st.tuples(*[st.lists(st.sampled_from(PEOPLE), unique=True).map(tuple)] * len(GROUPS)),
    named=st.lists(st.sampled_from([*PEOPLE, *GROUPS, *OUTSIDE]), unique=True).map(tuple),
    unsubscribed=st.frozensets(IDS, max_size=2),
    served=st.lists(IDS, unique=True, max_size=2).map(tuple),
)


def mailbox_of(case: Case, recipient_id: str) -> str | None:
    address = OUTSIDE.get(recipient_id)
    if recipient_id in PEOPLE:
        address = case.people[PEOPLE.index(recipient_id)][0]
    return address and address.lower()


def served_of(case: Case) -> dict[str, str]:
    """The mailboxes of those who were reached, with by whom."""
    found: dict[str, str] = {}
    for one in case.served:
        mailbox = mailbox_of(case, one)
        if mailbox is not None:
            found.setdefault(mailbox_digest(WORKSPACE, mailbox), one)
    return found


def expected_order(case: Case) -> list[str]:
    direct = [one for one in case.named if one not in GROUPS]
    by_group = [
        member for one in case.named if one in GROUPS for member in case.members[GROUPS.index(one)]
    ]
    return list(dict.fromkeys([*direct, *by_group]))


def store(database: Database, case: Case) -> None:
    with database.across.transaction() as connection:
        set_up(connection, WORKSPACE)
        workspace = workspaces.get(connection, WORKSPACE)
        assert workspace is not None
        connection.exec_driver_sql("UPDATE workspaces SET allowed_domains = '[\"in.example\"]'")
        for name, (address, active) in zip(PEOPLE, case.people, strict=True):
            people.insert(
                connection,
                Person(
                    workspace_id=WORKSPACE,
                    id=name,
                    name=name,
                    title=name,
                    address=address,
                    roles=frozenset(),
                    active=active,
                ),
            )
        for name, members in zip(GROUPS, case.members, strict=True):
            groups.insert(
                connection,
                Group(workspace_id=WORKSPACE, id=name, name=name, title=name, members=members),
            )
        for name, address in OUTSIDE.items():
            outside_addresses.put(
                connection,
                OutsideAddress(
                    workspace_id=WORKSPACE, id=name, address=address, mailbox=address, title=None
                ),
            )
        recipients.set_recipients(
            connection,
            WORKSPACE,
            SCHEDULE,
            [
                NamedRecipient(
                    "group" if one in GROUPS else "outside" if one in OUTSIDE else "person", one
                )
                for one in case.named
            ],
        )
        for one in case.unsubscribed:
            unsubscriptions.record(
                connection,
                Unsubscription(
                    workspace_id=WORKSPACE,
                    schedule_id=SCHEDULE,
                    recipient_id=one,
                    person_id=one if one in PEOPLE else None,
                    outside_id=one if one in OUTSIDE else None,
                    unsubscribed_at=SLOT,
                ),
            )


@settings(max_examples=40)
@given(case=CASES)
def test_each_once_in_order_and_one_message_a_mailbox(sqlite_template: Path, case: Case) -> None:
    with TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{shutil.copy(sqlite_template, folder)}")
        store(database, case)
        with database.across.read() as connection:
            found = recipients_now(connection, WORKSPACE, SCHEDULE, served=served_of(case))
            again = recipients_now(connection, WORKSPACE, SCHEDULE, served=served_of(case))
            at_the_click = {
                one: is_recipient(connection, WORKSPACE, SCHEDULE, one)
                for one in (*PEOPLE, *OUTSIDE)
            }

    assert found == again
    assert [one.id for one in found] == expected_order(case)
    sent = [one for one in found if one.address is not None]
    assert all((one.address is None) == (one.skip_code is not None) for one in found)

    mailboxes = [mailbox_of(case, one.id) for one in sent]
    assert len(set(mailboxes)) == len(mailboxes)
    unwanted = {mailbox_of(case, one) for one in case.unsubscribed} - {None}
    assert not unwanted & set(mailboxes)
    assert not case.unsubscribed & {one.id for one in sent}
    first_served: dict[str | None, str] = {}
    for one in case.served:
        first_served.setdefault(mailbox_of(case, one), one)
    for recipient in sent:
        owner = first_served.get(mailbox_of(case, recipient.id), recipient.id)
        assert owner == recipient.id
        assert at_the_click[recipient.id]
    for person, (_, active) in zip(PEOPLE, case.people, strict=True):
        named = person in expected_order(case)
        assert at_the_click[person] == (named and active)
    assert not at_the_click["o3"]  # of a domain that is not allowed
    assert {one.skip_code for one in found} <= {
        None,
        "inactive",
        "no_address",
        "domain_not_allowed",
        "unsubscribed",
        "duplicate",
    }
