"""``queries resend``, ``schedules test`` and ``schedules transfer``, and how history tells them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from queries_orchestration.model.clock import system_clock
from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.house import MONDAY, House

WORKSPACE = "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"


@pytest.fixture
def refused(small_house: House) -> House:
    """A house whose first delivery bob refused."""
    wall = FaultyCommunications(
        small_house.backends.communications, refused={"bob@example.org"}, unavailable={}
    )
    walled = small_house.with_backends(replace(small_house.backends, communications=wall))
    # The command's clock is the real one: the file must not have expired by it.
    (offer,) = small_house.dispatch(MONDAY).offers
    small_house.clock.at = system_clock()
    assert walled.take(offer) == "delivered_partly"
    return small_house


def test_a_resend_is_worked_here_and_told_in_the_history(refused: House, call: Call) -> None:
    (origin,) = refused.history()

    told = call(
        refused.environment, "resend", origin.key, "--as", "ada", "--reason", "Again.", "--work",
        "--json",
    ).json()  # fmt: skip

    assert (told["outcome"], told["purpose"], told["resend_of"]) == (
        "delivered",
        "resend",
        origin.key,
    )
    assert [(one["person"], one["state"]) for one in told["deliveries"]] == [("bob", "sent")]
    assert refused.addressees() == ["bob@example.org", "cyd@example.org"]
    shown = " ".join(call(refused.environment, "history").out.split())
    assert f"sends {origin.key} again, asked for by ada at" in shown
    assert ": Again." in shown
    twice = call(refused.environment, "resend", origin.key, "--as", "ada")
    assert (twice.status, twice.err.split(":")[0]) == (2, "nothing_to_resend")


def test_without_a_worker_it_is_asked_for_once(refused: House, call: Call) -> None:
    (origin,) = refused.history()

    first = call(refused.environment, "resend", origin.key, "--as", "ada", "--no-wait")
    second = call(refused.environment, "resend", origin.key, "--as", "ada", "--no-wait")

    assert first.status == 0, first.err
    assert first.out == second.out
    assert len(refused.history()) == 2


def test_an_unknown_occurrence_or_a_stranger_is_not_found(refused: House, call: Call) -> None:
    (origin,) = refused.history()
    for words in (("nothing", "ada"), (origin.key, "bob")):
        answer = call(refused.environment, "resend", words[0], "--as", words[1])
        assert (answer.status, answer.err.split(":")[0]) == (2, "not_found")


def test_a_test_is_delivered_to_who_asks_and_told_as_one(small_house: House, call: Call) -> None:
    told = call(
        small_house.environment, "schedules", "test", "weekly", "--as", "ada", "--work", "--json"
    ).json()

    assert (told["outcome"], told["purpose"], told["actor"]) == ("delivered", "test", "ada")
    assert small_house.addressees() == ["ada@example.org"]
    shown = call(small_house.environment, "history").out
    assert "a test, asked for by ada at" in " ".join(shown.split())


def test_a_transfer_is_told_in_the_history(house: House, call: Call) -> None:
    house.apply(WORKSPACE + "people:\n  gus: {title: Gus, roles: [author]}\n")

    refused = call(
        house.environment, "schedules", "transfer", "weekly", "--to", "bob", "--as", "ada"
    )
    done = call(
        house.environment, "schedules", "transfer", "weekly", "--to", "gus", "--as", "ada",
        "--reason", "Ada leaves.", "--json",
    ).json()  # fmt: skip

    assert (refused.status, refused.err.split(":")[0]) == (2, "access_lost")
    assert (done["owner"], done["state"]) == ("gus", "active")
    (one,) = call(house.environment, "history", "--json").json()["schedules"]
    (told,) = one["transfers"]
    assert (told["from"], told["to"], told["by"], told["reason"]) == (
        "ada",
        "gus",
        "ada",
        "Ada leaves.",
    )
    shown = " ".join(call(house.environment, "history").out.split())
    assert "transferred from ada to gus by ada at" in shown
