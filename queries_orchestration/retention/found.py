"""What a retention finds, by kind, and removes if it is told to."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from queries_orchestration.receives.backends import Backends

Kind = Literal[
    "expired_files",
    "stale_uploads",
    "files_without_row",
    "rows_without_file",
    "occurrences",
    "exports",
    "audit_events",
    "runs",
]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SHOWN: Final = 20
"""Ids of one kind that are told; of all the rest the number is."""


@dataclass(slots=True, kw_only=True)
class Found:
    """How much of one kind there is, or was removed; ``shown`` are some of it, by id or key.

    ``code`` and ``message`` say why the rest of it is left for another time, if it is; ``is_whole``
    that all was looked at.
    """

    kind: Kind
    count: int = 0
    shown: list[str] = field(default_factory=list)
    is_whole: bool = True
    code: str | None = None
    message: str | None = None


class Retaining:
    """One retention at work: with what, until when, and what it has found.

    Args:
        do: remove what is found; else it is only counted.
        seconds: after which no further batch is begun; None: all is done.
    """

    def __init__(self, backends: Backends, *, do: bool, seconds: float | None) -> None:
        self.backends = backends
        self.do = do
        self.at: datetime = backends.clock()
        self.found: dict[Kind, Found] = {kind: Found(kind=kind) for kind in KINDS}
        self._ends = None if seconds is None else backends.waiting.now() + seconds

    def add(self, kind: Kind, count: int, ids: Iterable[str] = ()) -> None:
        """Count some more of a kind."""
        found = self.found[kind]
        found.count += count
        found.shown += list(ids)[: SHOWN - len(found.shown)]

    def goes_on(self, kind: Kind) -> bool:
        """Whether there is time for another batch of a kind."""
        if self._ends is None or self.backends.waiting.now() < self._ends:
            return True
        self.found[kind].is_whole = False
        return False

    def before(self, days: int) -> datetime:
        """Return the instant so many days ago, by the calendar clock."""
        return self.at - timedelta(days=days)
