"""Two dispatchers, or two clicks, at the same moment: each slot and each click is there once."""

from __future__ import annotations

from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration_tests.house import MONDAY, SET_UP, WEEK, House
from queries_orchestration_tests.races.track import at_once, racers


def test_two_dispatchers_at_once_admit_each_slot_once_and_it_is_delivered_once(
    house: House, rounds: int
) -> None:
    """Q03 and Q04: whoever wins, the slot has one occurrence, one offer, one set of messages."""
    with racers(house) as racing:
        for turn in range(rounds):
            slot = MONDAY + turn * WEEK
            passes = at_once(racing, "pass", slot, offer=True)
            assert sum(done["admitted"] for done in passes) == 1
            (offer,) = (offer for done in passes for offer in done["offers"])
            assert racing[0].do("take", slot, **offer) == "delivered"

    assert [(one.slot, one.outcome) for one in house.history()] == [
        (MONDAY + turn * WEEK, "delivered") for turn in range(rounds)
    ]
    assert house.addressees() == ["bob@example.org"] * rounds + ["cyd@example.org"] * rounds


def test_two_that_offer_at_once_make_one_offer_of_each_work(house: House, rounds: int) -> None:
    with racers(house) as racing:
        for turn in range(rounds):
            slot = MONDAY + turn * WEEK
            assert racing[0].do("pass", slot, offer=False)["admitted"] == 1
            looks = at_once(racing, "offer", slot, lane=DELIVERY_LANE)
            (offer,) = (offer for look in looks for offer in look["offers"])
            assert offer["number"] == 1
            assert racing[1].do("take", slot, **offer) == "delivered"


def test_one_click_that_comes_twice_at_once_is_one_occurrence(house: House, rounds: int) -> None:
    who = {
        "workspace": house.workspace_id,
        "schedule": house.schedule().id,
        "person": house.person("ada"),
    }
    with racers(house) as racing:
        for turn in range(rounds):
            first, second = at_once(racing, "click", SET_UP, click=f"click {turn}", **who)
            assert first == second

    assert len(house.history()) == rounds
