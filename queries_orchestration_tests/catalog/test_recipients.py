"""Groups and recipients in the files: what is taken, what is refused, and where."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from queries_orchestration.store import groups, people, recipients
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import (
    GOOD,
    Apply,
    Refuse,
    altered,
    changed,
    line_of,
    schedule_of,
    touched,
    workspace_of,
)

JANE = "{address: jane@partner.example, name: Jane Doe}"
DOMAINS = (
    "time_zone: Europe/Berlin}",
    "time_zone: Europe/Berlin, allowed_domains: [Partner.example]}",
)
GROUPS = ("connections:\n", "groups:\n  sales: {title: Sales, people: [bob, ann]}\nconnections:\n")


def with_recipients(listed: str) -> str:
    return changed(DOMAINS, GROUPS, ("recipients: [ann, bob]", f"recipients: {listed}"))


def outside(database: Database) -> list[tuple[str | None, str | None]]:
    """The outside addresses with their names."""
    with database.across.read() as connection:
        rows = connection.execute(
            sa.text("SELECT address, title FROM outside_addresses ORDER BY address")
        )
        return [(row.address, row.title) for row in rows]


def test_recipients_of_each_kind_are_kept_in_the_order_of_the_file(
    apply: Apply, database: Database
) -> None:
    changes = apply(with_recipients(f"[{{group: sales}}, {JANE}, ann]"))

    assert changes.groups.created == ("acme/sales",)
    schedule = schedule_of(database)
    with database.across.read() as connection:
        named = recipients.of_schedule(connection, schedule.workspace_id, schedule.id)
        (group,) = groups.listing(connection, schedule.workspace_id)
        members = groups.people_of(connection, schedule.workspace_id, group.id)
    assert [one.kind for one in named] == ["group", "outside", "person"]
    assert (group.name, group.title) == ("sales", "Sales")
    assert [person.name for person in members] == ["bob", "ann"]
    assert outside(database) == [("jane@partner.example", "Jane Doe")]
    assert workspace_of(database).allowed_domains == ["partner.example"]


def test_the_same_again_changes_nothing(apply: Apply) -> None:
    text = with_recipients(f"[{{group: sales}}, {JANE}, ann]")
    apply(text)

    assert touched(apply(text)) == {}
    assert touched(apply(text.replace("jane@partner", "JANE@Partner"))) == {}


def test_who_is_in_a_group_changes_the_group_alone(apply: Apply, database: Database) -> None:
    text = with_recipients("[{group: sales}]")
    apply(text)

    for members in ("[ann]", "[]", "[ann, bob]"):
        changes = apply(altered(text, ("people: [bob, ann]", f"people: {members}")))
        assert touched(changes) == {}
        assert changes.groups.changed == ("acme/sales",)
    with database.across.read() as connection:
        (group,) = groups.listing(connection, workspace_of(database).id)
        ann = people.by_name(connection, group.workspace_id, "ann")
    assert ann is not None
    assert group.members[0] == ann.id


def test_a_mailbox_is_one_address_in_whatever_schedule_and_has_the_name_that_is_said(
    apply: Apply, database: Database
) -> None:
    second = """\
workspace: {name: acme}
schedules:
  evening:
    title: Delays every evening
    query: delays
    owner: ann
    cron: 0 20 * * *
    format: csv
    recipients: [{address: Jane@PARTNER.example}]
"""
    for order in ((with_recipients(f"[{JANE}]"), second), (second, with_recipients(f"[{JANE}]"))):
        apply(*order)
        assert [title for _, title in outside(database)] == ["Jane Doe"]
        assert touched(apply(*order)) == {}

    renamed = with_recipients("[{address: jane@partner.example, name: Jane Roe}]")
    assert touched(apply(renamed, second)) == {"schedules": ("acme/morning",)}
    assert [title for _, title in outside(database)] == ["Jane Roe"]


def test_an_address_that_is_there_may_be_named_by_its_id(
    apply: Apply, database: Database, faults_of: Refuse
) -> None:
    apply(with_recipients(f"[{JANE}]"))
    schedule = schedule_of(database)
    with database.across.read() as connection:
        (jane,) = recipients.of_schedule(connection, schedule.workspace_id, schedule.id)
    by_id = f"{{outside: {jane.id}}}"
    assert touched(apply(with_recipients(f"[{by_id}]"))) == {}
    assert outside(database) == [("jane@partner.example", "Jane Doe")]
    (twice,) = faults_of(with_recipients(f"[{by_id}, {JANE}]"))
    assert "this address is among its recipients twice" in twice.message
    (closed,) = faults_of(
        with_recipients(f"[{by_id}]").replace("[Partner.example]", "[other.example]")
    )
    assert "addresses of this domain are not allowed here" in closed.message


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("[{outside: nobody}]", "there is no outside address of this id"),
        ("[{group: sale}]", "there is no group `sale`: did you mean `sales`?"),
        ("[{group: sales}, ann, {group: sales}]", "`sales` is among its recipients twice"),
        ("[ann, ann]", "`ann` is among its recipients twice"),
        (
            f"[{JANE}, {{address: JANE@partner.example}}]",
            "this address is among its recipients twice",
        ),
        ("[{address: jane@other.example}]", "addresses of this domain are not allowed here"),
        ("[{address: jane@x.partner.example}]", "addresses of this domain are not allowed here"),
        ("[{address: BOB@Example.org}]", "this is the address of the person `bob`: name them"),
        ("[jane@partner.example]", "write an address in the last form"),
        ("['Doe, Jane <jane@partner.example>']", "write an address in the last form"),
        ("[{address: 'Doe, Jane <jane@partner.example>'}]", "not one e-mail address"),
        ("[{address: 'a@partner.example;b@partner.example'}]", "not one e-mail address"),
        ("[{address: 'a@partner.example, b@partner.example'}]", "not one e-mail address"),
        ("[{address: 7}]", "must be a text"),
        ("[{name: Jane}]", "needs the key `address`"),
        ("[{group: sales, name: Sales}]", "has no key `name`"),
        ("[{address: a@partner.example, nam: A}]", "did you mean `name`?"),
        ("[{}]", "needs the key `address`"),
        ("[[ann]]", "must be a text, not a list"),
        ("[]", "needs at least one recipient"),
    ],
)
def test_bad_recipients_are_refused_with_file_and_line(
    faults_of: Refuse, listed: str, message: str
) -> None:
    text = with_recipients(listed)
    (fault,) = faults_of(text)

    assert message in fault.message
    assert fault.line == line_of(text, "recipients:")
    assert "partner.example" not in fault.message
    assert "Doe" not in fault.message


def test_spaces_around_an_address_are_none_of_it(apply: Apply, database: Database) -> None:
    apply(with_recipients("[{address: ' ann@Partner.example '}]"))
    assert outside(database) == [("ann@partner.example", None)]


def test_two_names_for_one_address_are_a_fault(faults_of: Refuse) -> None:
    text = with_recipients(f"[{JANE}]")
    other = altered(text, ("  morning:", "  evening:"), ("name: Jane Doe", "name: Jane Roe"))
    (fault,) = faults_of(
        text, "workspace: {name: acme}\nschedules:\n" + other.split("schedules:\n")[1]
    )
    assert "this address has another name at" in fault.message
    assert fault.file.endswith("2.yaml")


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ("[bob, ann, bob]", "the group `sales`: `bob` is in it twice"),
        ("[bob, cat]", "the group `sales`: there is no person `cat`"),
        ("[bob, {address: a@partner.example}]", "must be a text, not a mapping"),
        ("bob", "must be a list"),
    ],
)
def test_a_group_has_people_of_the_workspace_each_once(
    faults_of: Refuse, members: str, message: str
) -> None:
    text = altered(with_recipients("[ann]"), ("people: [bob, ann]}", f"people: {members}}}"))
    (fault,) = faults_of(text)
    assert message in fault.message
    assert fault.line == line_of(text, "sales:")


@pytest.mark.parametrize(
    ("domains", "message"),
    [
        ("[a b.example]", "not a domain"),
        ("[jane@partner.example]", "not a domain"),
        ("['*.example']", "not a domain"),
        ("[partner.example, PARTNER.example]", "is there twice"),
        ("partner.example", "must be a list"),
    ],
)
def test_allowed_domains_are_checked(faults_of: Refuse, domains: str, message: str) -> None:
    text = changed((DOMAINS[0], DOMAINS[1].replace("[Partner.example]", domains)))
    (fault,) = faults_of(text)
    assert message in fault.message
    assert fault.line == 1


def test_domains_that_no_file_speaks_of_stay_and_an_empty_list_takes_them_away(
    apply: Apply, database: Database
) -> None:
    apply(changed((DOMAINS[0], DOMAINS[1].replace("Partner.example", "bücher.example, a.example"))))
    apply(GOOD)
    assert workspace_of(database).allowed_domains == ["a.example", "xn--bcher-kva.example"]

    apply("workspace: {name: acme, allowed_domains: []}\n")
    assert workspace_of(database).allowed_domains is None


def test_a_group_that_nothing_names_is_pruned_before_its_people(
    apply: Apply, database: Database
) -> None:
    cat = (
        "connections:\n",
        "  cat: {title: Cat}\ngroups:\n  cats: {people: [cat]}\nconnections:\n",
    )
    apply(changed(cat))

    changes = apply(GOOD, prune=True)

    assert {(row.kind, row.name, row.outcome) for row in changes.pruned} == {
        ("groups", "acme/cats", "removed"),
        ("people", "acme/cat", "removed"),
    }


def test_a_group_whose_schedule_has_a_history_is_kept_and_its_people_have_left(
    apply: Apply, database: Database
) -> None:
    apply(with_recipients("[{group: sales}]").replace("people: [bob, ann]", "people: [ann]"))
    schedule = schedule_of(database)
    with database.across.transaction() as connection:
        connection.execute(
            sa.text(
                "INSERT INTO occurrences (workspace_id, key, schedule_id, slot, via, admitted_at)"
                " SELECT workspace_id, 'k', id, created_at, 'recurrence', created_at FROM schedules"
            )
        )
    changes = apply(
        "workspace: {name: acme}\npeople: {bob: {title: Bob, address: bob@example.org}}\n",
        prune=True,
    )

    outcomes = {(row.kind, row.name): row.outcome for row in changes.pruned}
    assert outcomes["schedules", "acme/morning"] == "ended"
    assert outcomes["groups", "acme/sales"] == "kept"
    assert outcomes["people", "acme/ann"] == "deactivated"
    with database.across.read() as connection:
        ann = people.by_name(connection, schedule.workspace_id, "ann")
    assert ann is not None
    assert (ann.active, ann.left_workspace) == (False, True)

    apply(GOOD)
    with database.across.read() as connection:
        ann = people.by_name(connection, schedule.workspace_id, "ann")
    assert ann is not None
    assert (ann.active, ann.left_workspace) == (True, False)


def test_a_recipient_may_not_name_a_group_that_prune_takes_away(
    apply: Apply, faults_of: Refuse
) -> None:
    apply(with_recipients("[{group: sales}]"))
    text = altered(with_recipients("[{group: sales}]"), (GROUPS[1], "connections:\n"))

    (fault,) = faults_of(text, prune=True)

    assert "--prune takes the group `sales` away" in fault.message


def test_addresses_that_nothing_names_go_with_prune(apply: Apply, database: Database) -> None:
    apply(with_recipients(f"[{JANE}]"))
    apply(GOOD)
    assert outside(database) == [("jane@partner.example", "Jane Doe")]

    apply(GOOD, prune=True)
    assert outside(database) == []


def test_a_group_that_somebody_else_wrote_is_changed_only_with_take_over(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(with_recipients("[{group: sales}]"))
    with database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE groups SET written_by = 'other'"))
    text = altered(with_recipients("[{group: sales}]"), ("people: [bob, ann]", "people: [ann]"))

    (fault,) = faults_of(text)
    assert "the group `sales` was written by somebody else, and here is another people" in (
        fault.message
    )
    assert apply(text, take_over=True).groups.changed == ("acme/sales",)
