"""Reading ahead: in order, bounded, and ended by whoever fails first."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count
from threading import Event, Lock
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from queries_orchestration.exports import ahead as ahead_module
from queries_orchestration.exports.ahead import MOST_AHEAD, Ahead, read_ahead


class Broken(Exception):
    """What a reader fails with."""


def in_turn(parts: list[list[int]], readers: int) -> list[Callable[[Ahead[int]], None]]:
    """Return readers that take one part after the other, whoever is first."""
    turn, left = Lock(), list(parts)

    def read(ahead: Ahead[int]) -> None:
        while True:
            with turn:
                if not left:
                    return
                items = left.pop(0)
                part = ahead.begin_part()
            with part as give:
                for item in items:
                    give(item)

    return [read] * readers


def nothing() -> None:
    """Nobody waits for what must be interrupted."""


def take(reads: list[Callable[[Ahead[int]], None]], taken: list[int], *, after: float = 0) -> None:
    """Take all that is read, some seconds after it began."""
    with read_ahead(reads, interrupt=nothing) as items:
        time.sleep(after)
        taken.extend(items)


@given(st.lists(st.lists(st.integers(), max_size=5), max_size=20), st.integers(1, 4))
@settings(max_examples=50)
def test_items_come_in_the_order_in_which_their_parts_began(
    parts: list[list[int]], readers: int
) -> None:
    with read_ahead(in_turn(parts, readers), interrupt=nothing) as items:
        assert list(items) == [item for part in parts for item in part]


def test_what_fails_within_a_part_is_raised_after_what_the_part_has() -> None:
    def read(ahead: Ahead[int]) -> None:
        with ahead.begin_part() as give:
            give(1)
        with ahead.begin_part() as give:
            give(2)
            raise Broken

    taken: list[int] = []
    with pytest.raises(Broken):
        take([read], taken)
    assert taken == [1, 2]


@pytest.mark.parametrize("is_within_a_part", [True, False])
def test_one_that_fails_ends_all_although_no_queue_has_room(is_within_a_part: bool) -> None:
    others_are_stuck = Event()

    def endless(ahead: Ahead[int]) -> None:
        for number in count():
            if number == MOST_AHEAD:
                others_are_stuck.set()
            with ahead.begin_part() as give:
                give(number)

    def broken(ahead: Ahead[int]) -> None:
        others_are_stuck.wait()
        if is_within_a_part:
            with ahead.begin_part() as give:
                give(-1)
                raise Broken
        raise Broken

    with pytest.raises(Broken):
        take([endless, broken], [], after=0.3)  # when both wait for room


def test_whoever_takes_no_more_ends_the_readers_and_interrupts_what_they_wait_for() -> None:
    interrupted = Event()

    def waiting(ahead: Ahead[int]) -> None:
        with ahead.begin_part() as give:
            give(1)
            assert interrupted.wait(10)
            give(2)

    with read_ahead([waiting], interrupt=interrupted.set) as items:
        assert next(items) == 1


def test_who_has_read_all_is_not_interrupted_although_the_thread_takes_its_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    leave = ahead_module._Open.__exit__

    def leave_slowly(opened: Any, *raised: Any) -> None:
        leave(opened, *raised)
        time.sleep(0.2)

    monkeypatch.setattr(ahead_module._Open, "__exit__", leave_slowly)
    interrupted: list[bool] = []
    with read_ahead(in_turn([[1]], 1), interrupt=lambda: interrupted.append(True)) as items:
        assert list(items) == [1]
    assert interrupted == []


def test_no_more_is_read_ahead_than_may_be() -> None:
    given_items = 0

    def read(ahead: Ahead[int]) -> None:
        nonlocal given_items
        with ahead.begin_part() as give:
            for number in range(100):
                give(number)
                given_items = number + 1

    with read_ahead([read], interrupt=nothing) as items:
        for taken, _ in enumerate(items, start=1):
            time.sleep(0.001)
            assert given_items <= taken + MOST_AHEAD
