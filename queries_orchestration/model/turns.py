"""Turns: everybody has one before anybody has another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from itertools import chain, zip_longest
from typing import Final, TypeVar

Item = TypeVar("Item")

_NONE: Final = object()


def in_turns(items: Iterable[Item], whose: Callable[[Item], Hashable]) -> list[Item]:
    """Return the items so that each owner's first come before any owner's second.

    Owners, and the items of one, stay in the order in which they came.
    """
    of_owner: dict[Hashable, list[Item]] = {}
    for item in items:
        of_owner.setdefault(whose(item), []).append(item)
    rounds = zip_longest(*of_owner.values(), fillvalue=_NONE)
    return [item for item in chain.from_iterable(rounds) if item is not _NONE]  # type: ignore[misc]
