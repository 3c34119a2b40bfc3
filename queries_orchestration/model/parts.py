"""Reading a definition out of the catalog piece by piece, so that a fault names its place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from queries_orchestration.model.errors import InvalidQuery


@dataclass(frozen=True, slots=True)
class Part:
    """One piece of a definition and the path to it, as ``filters[1].op``; the whole has none."""

    value: object
    path: str = ""

    def refuse(self, message: str) -> InvalidQuery:
        """Make the error that names this piece."""
        return InvalidQuery(f"{self.path}: {message}" if self.path else message)

    def mapping(
        self, *, required: Sequence[str] = (), optional: Sequence[str] = ()
    ) -> dict[str, Part]:
        """Return the pieces of a mapping by key; a key that nobody reads is a typing error.

        Raises:
            InvalidQuery: no mapping, a key is missing, or one is unknown.
        """
        if not isinstance(self.value, Mapping):
            raise self.refuse("must be a mapping")
        pieces: dict[str, Part] = {}
        known = (*required, *optional)
        for key, value in self.value.items():
            if key not in known:
                raise self.refuse(f"unknown key {key!r}; known are {', '.join(known)}")
            pieces[key] = Part(value, f"{self.path}.{key}" if self.path else key)
        for key in required:
            if key not in pieces:
                raise self.refuse(f"{key!r} is missing")
        return pieces

    def items(self) -> list[Part]:
        """Return the pieces of a list that has at least one.

        Raises:
            InvalidQuery: no list, or an empty one.
        """
        if not isinstance(self.value, list | tuple) or not self.value:
            raise self.refuse("must be a list with at least one entry")
        return [Part(value, f"{self.path}[{index}]") for index, value in enumerate(self.value)]

    def text(self) -> str:
        """Return a text that is not blank.

        Raises:
            InvalidQuery: something else is there.
        """
        if not isinstance(self.value, str) or not self.value.strip() or "\0" in self.value:
            raise self.refuse("must be a text that is not empty")
        return self.value

    def flag(self) -> bool:
        """Return true or false.

        Raises:
            InvalidQuery: something else is there.
        """
        if not isinstance(self.value, bool):
            raise self.refuse("must be true or false")
        return self.value

    def choice(self, choices: Iterable[str]) -> str:
        """Return one of ``choices``.

        Raises:
            InvalidQuery: something else is there.
        """
        known = tuple(choices)
        if not isinstance(self.value, str) or self.value not in known:
            listed = f"one of {', '.join(known)}" if known else "possible here: there is none"
            raise self.refuse(f"{self.value!r} is not {listed}")
        return self.value
