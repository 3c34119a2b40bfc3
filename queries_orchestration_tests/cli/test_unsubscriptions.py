"""``queries schedules unsubscribe`` and ``resubscribe``, and what ``show`` and ``history`` tell."""

from __future__ import annotations

import pytest

from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.deliveries.wider_house import JANE, catalog, outside_of
from queries_orchestration_tests.house import MONDAY, House

LISTED = f"[bob, {{group: sales}}, {JANE}, {{address: x@partner.example}}]"


@pytest.fixture
def house(house: House) -> House:
    house.apply(catalog(LISTED))
    return house


def test_recipients_of_every_kind_are_told_without_an_address(house: House, call: Call) -> None:
    jane = outside_of(house, "jane@partner.example").id
    nameless = outside_of(house, "x@partner.example").id

    told = call(house.environment, "schedules", "show", "weekly", "--json").json()
    shown = call(house.environment, "schedules", "show", "weekly").out

    nobody = {"person": None, "outside": None, "title": None, "group": None}
    assert told["recipients"] == [
        nobody | {"person": "bob", "title": "Bob Buyer"},
        nobody | {"group": "sales"},
        nobody | {"outside": jane, "title": "Jane Doe"},
        nobody | {"outside": nameless},
    ]
    assert told["unsubscribed"] == []
    who = f"bob, group sales, Jane Doe (outside), {nameless} (outside)"
    assert f"recipients    {who}\n" in shown
    assert "unsubscribed" not in shown
    assert "@" not in shown


@pytest.mark.parametrize("named", ["bob", "jane@partner.example", "JANE@Partner.example", "id"])
def test_unsubscribing_is_seen_and_undone(named: str, house: House, call: Call) -> None:
    jane = outside_of(house, "jane@partner.example").id
    who = jane if named == "id" else named
    title = "bob" if named == "bob" else "Jane Doe"

    first = call(house.environment, "schedules", "unsubscribe", "weekly", who)
    again = call(house.environment, "schedules", "unsubscribe", "weekly", who, "--json").json()
    shown = call(house.environment, "schedules", "show", "weekly").out
    told = call(house.environment, "schedules", "show", "weekly", "--json").json()
    undone = call(house.environment, "schedules", "resubscribe", "weekly", who)
    twice = call(house.environment, "schedules", "resubscribe", "weekly", who)

    assert first.out == f"{title} gets no more messages of acme/weekly.\n"
    assert (again["schedule"], again["unsubscribed"]) == ("weekly", True)
    assert f"unsubscribed  {title}\n" in shown
    (one,) = told["unsubscribed"]
    assert (one["person"], one["outside"]) == (("bob", None) if named == "bob" else (None, jane))
    assert one["everywhere"] is False
    assert undone.out == f"{title} may get messages of acme/weekly again.\n"
    assert (twice.status, twice.err) == (
        2,
        f"not_unsubscribed: {title} had not unsubscribed from weekly.\n",
    )
    assert (
        call(house.environment, "schedules", "show", "weekly", "--json").json()["unsubscribed"]
        == []
    )


def test_an_outside_address_can_be_left_out_everywhere(house: House, call: Call) -> None:
    words = ("schedules", "unsubscribe", "weekly")
    address = "jane@partner.example"

    assert call(house.environment, *words, address, "--everywhere").status == 0
    person = call(house.environment, *words, "bob", "--everywhere")
    (one,) = call(house.environment, "schedules", "show", "weekly", "--json").json()["unsubscribed"]
    assert call(house.environment, "schedules", "resubscribe", "weekly", address).status == 0

    assert person.status == 2
    assert "`active: false`" in person.err
    assert one["everywhere"] is True
    assert outside_of(house, address).unsubscribed_at is None


def test_nobody_known_is_told_without_repeating_an_address(house: House, call: Call) -> None:
    for who in ("nobody@partner.example", "nobody"):
        answer = call(house.environment, "schedules", "unsubscribe", "weekly", who)
        assert answer.status == 2
        assert answer.err.startswith("not_found: There is no such ")
        assert "@" not in answer.err


def test_the_history_tells_who_was_skipped_and_names_outside_addresses(
    house: House, call: Call
) -> None:
    nameless = outside_of(house, "x@partner.example").id
    call(house.environment, "schedules", "unsubscribe", "weekly", "bob")
    call(house.environment, "schedules", "unsubscribe", "weekly", "jane@partner.example")
    assert house.deliver(MONDAY) == ["delivered"]

    out = " ".join(call(house.environment, "history", "weekly").out.split())
    told = call(house.environment, "history", "weekly", "--json").json()

    assert (
        f"bob skipped (unsubscribed), cyd sent, Jane Doe skipped (unsubscribed), {nameless} sent"
        in out
    )
    assert "@partner.example" not in out
    (occurrence,) = told["occurrences"]
    assert [(one["person"], one["title"], one["code"]) for one in occurrence["deliveries"]] == [
        ("bob", "Bob Buyer", "unsubscribed"),
        ("cyd", "Cyd Clerk", None),
        (None, "Jane Doe", "unsubscribed"),
        (None, None, None),
    ]
    assert "@partner.example" not in str(told)


def test_unusable_words_are_told_in_the_history(house: House, call: Call) -> None:
    house.apply(catalog("[bob]", workspace=", messages: {subject: x}"))
    with house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql('UPDATE workspaces SET messages = \'{"subject": "{{ gone }}"}\'')
    assert house.deliver(MONDAY) == ["delivered"]

    out = " ".join(call(house.environment, "history", "weekly").out.split())

    assert "its messages have the standard subject: the workspace's own could not be used" in out
