"""How often somebody may ask, in a fixed amount of memory."""

from __future__ import annotations

import threading

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.settings import Settings
from queries_orchestration.web.rate_limits import (
    WINDOW_SECONDS,
    RateLimit,
    RateLimits,
    TooManyRequests,
    network_of,
)


class Clock:
    def __init__(self) -> None:
        self.at = 12_345.0

    def __call__(self) -> float:
        return self.at


def counted(limit: RateLimit, caller: str = "a") -> bool:
    try:
        limit.count(caller)
    except TooManyRequests:
        return False
    return True


def asked(limit: RateLimit) -> int | None:
    """In how many seconds it is answered again, if it is not now."""
    try:
        limit.count("a")
    except TooManyRequests as error:
        return error.retry_after
    return None


def test_so_many_in_a_minute_and_each_caller_has_their_own() -> None:
    limit = RateLimit(3, clock=Clock())
    assert [counted(limit) for _ in range(5)] == [True, True, True, False, False]
    assert counted(limit, "b")


@given(
    most=st.integers(1, 20),
    steps=st.lists(st.floats(0, 40, allow_subnormal=False), min_size=1, max_size=60),
)
def test_it_is_open_again_when_it_says_and_not_before_and_a_minute_never_has_twice_as_many(
    most: int, steps: list[float]
) -> None:
    clock = Clock()
    limit = RateLimit(most, clock=clock)
    taken: list[float] = []
    for step in steps:
        clock.at += step
        if (wait := asked(limit)) is not None:
            assert 1 <= wait <= 2 * WINDOW_SECONDS
            clock.at += wait
            limit.count("a")
        taken.append(clock.at)
        assert sum(clock.at - WINDOW_SECONDS < at for at in taken) <= 2 * most


def test_after_two_minutes_nothing_is_held_against_anybody() -> None:
    clock = Clock()
    limit = RateLimit(2, clock=clock)
    for _ in range(3):
        assert [counted(limit) for _ in range(3)] == [True, True, False]
        clock.at += 2 * WINDOW_SECONDS


def test_a_flood_of_made_up_callers_takes_no_more_memory_and_forgets_the_idle_first() -> None:
    limit = RateLimit(2, clock=Clock(), most_callers=100)
    for number in range(5_000):
        counted(limit, f"made-up-{number}")
        if number % 50 == 0:
            counted(limit, "busy")
    assert len(limit) == 100
    assert not counted(limit, "busy")


def test_a_flood_of_tokens_and_addresses_is_bounded_in_the_limits_of_a_process() -> None:
    limits = RateLimits(Settings(), clock=Clock())
    for number in range(25_000):
        limits.count_link(f"2001:db8:{number:x}::1", f"token {number}" * 3)
        limits.count_failed_sign_in(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    kept = [limits._addresses, limits._tokens, limits._failed_sign_ins]
    assert [len(one) for one in kept] == [20_000] * 3
    # Of a token a digest is kept, of one length, and never the token.
    assert {len(key) for key in limits._tokens._counted} == {16}


def test_two_at_once_take_no_more_than_there_is() -> None:
    limit = RateLimit(500, clock=Clock())
    taken: list[bool] = []
    threads = [
        threading.Thread(target=lambda: taken.extend(counted(limit) for _ in range(200)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(taken) == 500


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("testclient", "testclient"),
        ("x:y", "x:y"),
        ("", ""),
    ],
)
def test_one_household_of_ipv6_is_one_caller(address: str, network: str) -> None:
    assert network_of(address) == network
