"""What the model knows of one piece of work: who holds it, and how it ends."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

RECEIVES: Final = 3
SILENCE: Final = timedelta(seconds=120)
_FIRST_RETRY: Final = timedelta(seconds=60)
_LONGEST_DELAY: Final = timedelta(hours=6)


@dataclass(slots=True, kw_only=True)
class Claim:
    """Three receives, each after a growing delay; a killed one is silent until it is found."""

    not_before: datetime
    receives: int = 0
    silent_since: datetime | None = None
    is_done: bool = False

    def why_not(self, at: datetime) -> str | None:
        """Return why no receive may begin at ``at``."""
        if self.is_done:
            return "it was done already"
        if self.silent_since is not None:
            return "another receive holds it"
        if self.not_before > at:
            return "its retry was to wait"
        return "it has had its three receives" if self.receives == RECEIVES else None

    def try_again(self, at: datetime) -> bool:
        """Wait for the next receive; False if there is none."""
        self.silent_since = None
        if self.receives == RECEIVES:
            return False
        self.not_before = at + _FIRST_RETRY * 4 ** (self.receives - 1)
        return True

    def is_silent(self, at: datetime) -> bool:
        """Whether recovery finds a killed receive at ``at``."""
        return self.silent_since is not None and at - self.silent_since > SILENCE

    def next_moment(self) -> datetime | None:
        """Return when something may happen to it."""
        if self.is_done:
            return None
        if self.silent_since is not None:
            return self.silent_since + SILENCE + timedelta(seconds=1)
        return self.not_before


@dataclass(slots=True, kw_only=True)
class Render:
    """The render of a report: work of its own, as the same person."""

    claim: Claim
    actor: str
    is_ready: bool = False
    has_file: bool = False
    failed_with: str | None = None


@dataclass(slots=True, kw_only=True)
class Notice:
    """What one person must be told of one failure.

    Which of several a killed pass has sent is not modelled, so that ``ends`` has every state that
    it may end in, and ``due_by`` is when it is tried again at the latest. A person who is inactive
    when it is to be sent is skipped.
    """

    work: Work
    kind: str
    person: str
    code: str
    ends: set[str] = field(default_factory=set)
    kills: int = 0
    due_by: datetime | None = None
    is_done: bool = False

    def send(self, at: datetime, state: str, *, is_killed: bool) -> None:
        """Take part in a pass at ``at``, which may have been killed at this notice."""
        self.ends.add(state)
        if is_killed:
            self.kills += 1
            self.due_by = at + min(_FIRST_RETRY * 4 ** (self.kills - 1), _LONGEST_DELAY)
        else:
            self.is_done = self.due_by is None or self.due_by <= at


@dataclass(slots=True, kw_only=True)
class Work:
    """One occurrence: a slot, or a person's click.

    ``rows`` has the state of each recipient's delivery, ``unanswered`` how many submissions to
    them are without an answer, ``messages`` who has a message.
    """

    label: str
    slot: datetime | None
    claim: Claim
    clicked_by: str | None = None
    key: str | None = None
    outcome: str | None = None
    code: str | None = None
    is_resolved: bool = False
    has_file: bool = False
    rows: dict[str, str] = field(default_factory=dict)
    unanswered: dict[str, int] = field(default_factory=dict)
    messages: set[str] = field(default_factory=set)
    render: Render | None = None

    def settle(self, outcome: str, code: str | None = None) -> None:
        assert self.outcome is None, f"{self.label} was settled as {self.outcome}"
        self.outcome, self.code, self.claim.is_done = outcome, code, True
        self.claim.silent_since = None
