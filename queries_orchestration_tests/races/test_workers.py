"""Two workers on one piece of work: one works it; who lost it changes nothing any more."""

from __future__ import annotations

import time
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from queries_orchestration.settings import EXPORT_LANE
from queries_orchestration_tests.crash.kills import PATIENCE
from queries_orchestration_tests.house import MONDAY, WEEK, House, build_house
from queries_orchestration_tests.races.track import Racer, at_once, racers

TEN_MINUTES = timedelta(minutes=10)
STEPS = (
    "started",
    "resolved",
    "upload begun, not recorded",
    "upload recorded",
    "page written",
    "written, not complete",
    "file complete, not recorded",
    "file recorded",
    "sending recorded",
    "submitted, not recorded",
    "recipient concluded",
)
"""Where a worker is suspended: everywhere in a receive."""


def test_two_workers_at_once_on_one_occurrence_deliver_it_once(house: House, rounds: int) -> None:
    with racers(house) as racing:
        for turn in range(rounds):
            slot = MONDAY + turn * WEEK
            (offer,) = racing[0].do("pass", slot, offer=True)["offers"]
            assert sorted(at_once(racing, "take", slot, **offer)) == ["delivered", "nothing"]

    assert [one.receive_number for one in house.history()] == [1] * rounds
    assert house.addressees() == ["bob@example.org"] * rounds + ["cyd@example.org"] * rounds


def test_two_workers_at_once_on_one_export_make_one_file(house: House, rounds: int) -> None:
    made = []
    with racers(house) as racing:
        for _ in range(rounds):
            made.append(house.ask_export())
            (offer,) = racing[0].do("offer", MONDAY, lane=EXPORT_LANE)["offers"]
            assert sorted(at_once(racing, "take", MONDAY, **offer)) == ["nothing", "ready"]

    assert [house.claim(key).receive_number for key in made] == [1] * rounds
    assert [house.asked_export(key).rows for key in made] == [2_500] * rounds
    assert house.backends.storage.open_uploads("") == []


def test_a_worker_that_is_suspended_anywhere_and_wakes_after_another_changes_nothing(
    tmp_path: Path, store_url: str, source_url: str, rounds: int
) -> None:
    """Q06: its writes, its upload and its messages are refused or known already."""
    # A first heartbeat so late that the suspension meets no transaction in the middle.
    house = build_house(
        tmp_path, store_url, source_url, settings={"QUERIES_HEARTBEAT_INTERVAL": "0.9"}
    )
    with racers(house) as (late, other):
        for turn in range(max(rounds, len(STEPS))):
            slot, step = MONDAY + turn * WEEK, STEPS[turn % len(STEPS)]
            (offer,) = other.do("pass", slot, offer=True)["offers"]
            late.ask("take", slot, hang=step, **offer)
            assert late.answer() == "hanging"
            late.suspend()
            again = _taken_over(other, slot)
            assert other.do("take", slot, **again) == "delivered"
            settled = house.history()[-1]
            late.wake()
            assert late.answer() == "receive_lost", step

            assert house.history()[-1] == settled
            assert settled.receive_number == 2
            assert len(house.messages()) == 2 * (turn + 1), step
            assert house.backends.storage.open_uploads("") == []


@pytest.mark.parametrize("wrong_by", [TEN_MINUTES, -TEN_MINUTES], ids=["ahead", "behind"])
def test_a_process_whose_clock_is_wrong_takes_nothing_that_another_holds(
    tmp_path: Path, store_url: str, source_url: str, wrong_by: timedelta
) -> None:
    """Q06: leases and heartbeats follow the database's clock, whatever a worker's calendar says."""
    house = build_house(
        tmp_path,
        store_url,
        source_url,
        settings={"QUERIES_OFFER_LEASE": "300", "QUERIES_HEARTBEAT_SILENCE": "30"},
    )
    with racers(house) as (right, wrong):
        (offer,) = right.do("pass", MONDAY, offer=True)["offers"]
        look = wrong.do("pass", MONDAY + wrong_by, offer=True)
        assert (look["offers"], look["recovered"]) == ([], 0)

        right.ask("take", MONDAY, hang="page written", **offer)
        assert right.answer() == "hanging"
        look = wrong.do("pass", MONDAY + wrong_by, offer=True)
        assert (look["offers"], look["recovered"]) == ([], 0)
        assert wrong.do("take", MONDAY + wrong_by, **offer) == "nothing"

        right.wake()
        assert right.answer() == "delivered"
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert house.history()[0].receive_number == 1


def _taken_over(other: Racer, at: Any) -> dict[str, Any]:
    """Return the offer that is made once the suspended worker's heartbeat is silent."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for offer in other.do("pass", at, offer=True)["offers"]:
            return dict(offer)
        time.sleep(0.05)
    raise AssertionError("nobody took the work over")
