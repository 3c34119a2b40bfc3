"""Turns are fair and keep the order of each."""

from __future__ import annotations

from queries_orchestration.model.turns import in_turns


def test_everybody_has_one_before_anybody_has_another() -> None:
    assert in_turns(["a1", "a2", "a3", "b1", "c1", "c2"], lambda item: item[0]) == [
        *("a1", "b1", "c1"),
        *("a2", "c2"),
        "a3",
    ]


def test_of_nobody_there_is_nothing() -> None:
    assert in_turns([], lambda item: item) == []


def test_what_is_false_is_an_item_too() -> None:
    assert in_turns([0, None, 0], lambda _: "one") == [0, None, 0]
