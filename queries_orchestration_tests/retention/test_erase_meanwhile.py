"""Somebody is erased while something is at work: nothing reaches them, and no trace is left."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import Refused
from queries_orchestration.retention.erase import erase
from queries_orchestration.store import erasure
from queries_orchestration_tests.deliveries.wider_house import (
    execute,
    outcomes,
    outside_of,
)
from queries_orchestration_tests.exports.admitted import at_point
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.retention.erasing import (
    furnish,
    gone,
    texts,
)


@pytest.fixture
def house(house: House) -> House:
    """The house with a group and an outside address, all of whom got a file."""
    return furnish(house)


def test_who_is_erased_while_others_are_sent_to_is_sent_nothing(house: House) -> None:
    jane = outside_of(house, "jane@partner.example").id

    def erase_both() -> None:
        gone(house, "cyd")
        erase(house.backends, house.workspace_id, jane, by=OPERATOR, do=True)

    # Bob comes first: the others have been looked up, too.
    sending = at_point(house, "recipient concluded", erase_both)
    assert sending.deliver(MONDAY + WEEK) == ["delivered"]

    assert sorted(outcomes(house).values()) == ["left_workspace", "no_address", "sent"]
    assert house.addressees() == ["bob@example.org"] * 2
    words = ("cyd@example.org", "Cyd Clerk", "jane@partner.example")
    assert [text for text in texts(house) for word in words if word in text] == []


@pytest.mark.parametrize("step", ["sending recorded", "submitted, not recorded"])
def test_to_whom_a_message_may_be_on_its_way_is_erased_once_it_is_settled(
    house: House, step: str
) -> None:
    bob = house.person("bob")

    def ask() -> None:
        with pytest.raises(Refused) as error:
            erase(house.backends, house.workspace_id, bob, by=OPERATOR, do=True)
        assert error.value.code == "message_under_way"
        assert house.person("bob") == bob

    assert at_point(house, step, ask).deliver(MONDAY + WEEK) == ["delivered"]
    gone(house, "bob")
    assert "bob@example.org" not in house.addressees()


def test_who_is_being_told_of_a_failure_is_erased_once_that_is_done(house: House) -> None:
    execute(house, "UPDATE people SET roles = '[]' WHERE name = 'ada'")
    assert house.deliver(MONDAY + WEEK) == ["access_lost"]

    codes = []

    def reached(step: str) -> None:
        if step == "notice begun, not submitted":
            try:
                erase(
                    house.backends, house.workspace_id, house.person("root"), by=OPERATOR, do=False
                )
            except Refused as error:
                codes.append(error.code)

    house.with_backends(replace(house.backends, reached=reached)).dispatch(MONDAY + WEEK)
    assert codes == ["message_under_way"]  # of the two that are told, while she is
    assert "root@example.org" in str(house.told())
    gone(house, "root")
    assert "root@example.org" not in str(house.told())


def test_what_is_sent_while_they_are_being_erased_is_removed_as_well(house: House) -> None:
    bob = house.person("bob")
    sending = at_point(
        house,
        "messages of somebody forgotten, not erased",
        lambda: house.deliver(MONDAY + WEEK),
    )

    erased = erase(sending.backends, house.workspace_id, bob, by=OPERATOR, do=True)

    assert erased.messages == 2
    assert "bob@example.org" not in house.addressees()
    assert house.person(f"erased-{bob}") == bob


def test_an_erasure_waits_for_who_is_about_to_send_and_the_other_way(house: House) -> None:
    bob, workspace_id = house.person("bob"), house.workspace_id
    with ThreadPoolExecutor(1) as thread:
        with house.backends.database.transaction(workspace_id) as connection:
            assert erasure.is_there(connection, workspace_id, bob)
            erasing = thread.submit(gone, house, "bob")
            time.sleep(0.3)
            assert not erasing.done()
        assert erasing.result(30) == bob
    with house.backends.database.transaction(workspace_id) as connection:
        assert not erasure.is_there(connection, workspace_id, bob)
