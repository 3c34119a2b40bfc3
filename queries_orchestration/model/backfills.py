"""Which slots of a UTC day a backfill may admit: never one that was not due, or is nobody's memory.

A slot that a backfill tried in vain may be tried by another one if nobody has a delivery of it:
the source was broken, or closed to its actor. When the slots of a schedule fail one after the other
with the same code, and nobody gets a message, the rest that waits is called off.

A schedule's slots were due after it was created, while it was not paused or ended, and by the rule
that it had then. Which rule that was is known since its definition last changed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, Literal

from queries_orchestration.model.recurrences import Recurrence, slots

HISTORY: Final = timedelta(days=365)
"""How far back the history reaches: as long as the audit trail is kept, which tells of pauses."""

FAILURES_THAT_CALL_OFF: Final = 2
"""So many in a row of a schedule, with the same code, call off the rest of its backfill."""
CALLED_OFF: Final = "backfill_called_off"

TakenBack = Literal["missed", "called_off", "failed"]
"""What a backfill may take back: what is missed, by an earlier backfill called off, or failed."""
Turn = Literal["changed", "paused", "resumed", "ended"]

_ORDER: Final[dict[Turn, int]] = {"changed": 0, "ended": 1, "paused": 2, "resumed": 3}
"""Of turns at one instant, as a clock that stands still tells them."""
_DAY: Final = timedelta(days=1)
_LEAST: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class Change:
    """A turn in the life of a schedule, at a calendar instant."""

    at: datetime
    turn: Turn


@dataclass(frozen=True, slots=True)
class Stretch:
    """The time after one instant up to another, that one included."""

    after: datetime
    until: datetime

    def __contains__(self, slot: datetime) -> bool:
        """Whether a slot was due within it."""
        return self.after < slot <= self.until

    def within(self, other: Stretch) -> Stretch:
        """Return the part that lies within another one, which may be nothing."""
        return Stretch(max(self.after, other.after), min(self.until, other.until))


@dataclass(frozen=True, slots=True)
class Life:
    """When a schedule was active, as far as the history reaches, and since when by its rule."""

    active: tuple[Stretch, ...]
    rule_since: datetime

    def was_due(self, slot: datetime) -> bool:
        """Whether the schedule was active when a slot came due."""
        return any(slot in stretch for stretch in self.active)


def calls_off(last: Sequence[str | None]) -> bool:
    """Whether the rest of a schedule's backfill would fail as its last slots did.

    Args:
        last: the codes of the last failures, the latest first; None: it did not fail, or somebody
            may have a message.
    """
    codes = set(last[:FAILURES_THAT_CALL_OFF])
    return len(last) >= FAILURES_THAT_CALL_OFF and len(codes) == 1 and None not in codes


def day_of(day: date) -> Stretch:
    """Return the time of a UTC day."""
    begins = datetime.combine(day, time(), tzinfo=UTC)
    return Stretch(begins - _LEAST, begins + _DAY - _LEAST)


def life_of(created_at: datetime, changes: Iterable[Change], *, now: datetime) -> Life:
    """Return when a schedule that is active now was active, from the turns of the last year.

    A slot at the instant of a pause was due; one at the instant of a resumption was not.

    Args:
        created_at: aware; the first slot comes after it.
        changes: in any order; those that are older than the history tell nothing.
        now: aware; no slot is due after it.
    """
    begins = max(created_at, now - HISTORY)
    told = sorted(
        (one for one in changes if begins <= one.at <= now),
        key=lambda one: (one.at, _ORDER[one.turn]),
    )
    active: list[Stretch] = []
    open_since: datetime | None = begins
    rule_since, has_ended = begins, False
    for one in told:
        if one.turn == "changed":
            rule_since = one.at
            if has_ended:  # what had ended goes on so, what is paused does not
                open_since, has_ended = one.at, False
        elif one.turn == "resumed":
            if open_since is not None:
                # Nobody told of the pause: it is older than the history, or came with the change.
                active.append(Stretch(open_since, max(open_since, rule_since)))
            open_since = one.at
        else:
            if open_since is not None:
                active.append(Stretch(open_since, one.at))
            open_since, has_ended = None, one.turn == "ended"
    if open_since is not None:
        active.append(Stretch(open_since, now))
    return Life(tuple(active), rule_since)


def missing_slots(
    recurrence: Recurrence, life: Life, day: date, *, before: datetime | None
) -> Iterator[datetime]:
    """Yield the slots of a UTC day that were due by the schedule's rule, whoever recorded them.

    Args:
        before: the schedule's next slot, which its dispatcher has yet to reach; None: none.
    """
    for stretch in life.active:
        sought = stretch.within(day_of(day))
        for slot in slots(recurrence, max(sought.after, life.rule_since), sought.until):
            if before is None or slot < before:
                yield slot
