"""How a slot's local time was read on the day of a clock change, for people who look ahead.

The slots themselves come from ``model.recurrences`` alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from queries_orchestration.model.recurrences import Recurrence, local_time, names, next_slot
from queries_orchestration.model.time_zones import instant_of, zone

Reading = Literal["plain", "gap", "first_of_two", "second_of_two"]
"""``gap``: the rule names a local time that does not exist; it was read with the offset before."""

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadSlot:
    """A slot (aware UTC) as the clocks of the rule's zone show it.

    ``named`` is the naive wall time that the rule names; ``local`` differs from it in a gap.
    """

    slot: datetime
    local: datetime
    named: datetime
    reading: Reading


def preview(recurrence: Recurrence, *, after: datetime) -> Iterator[ReadSlot]:
    """Yield the slots strictly after the aware instant ``after``, as the dispatcher finds them."""
    slot = next_slot(recurrence, after)
    while slot is not None:
        yield _read(recurrence, slot)
        slot = next_slot(recurrence, slot)


def _read(recurrence: Recurrence, slot: datetime) -> ReadSlot:
    local = local_time(recurrence, slot)
    wall_time = local.replace(tzinfo=None, fold=0)
    named = _named_in_gap(recurrence, slot) or wall_time
    reading: Reading = "plain"
    if named != wall_time:
        reading = "gap"
    elif local.fold:
        reading = "second_of_two"
    elif instant_of(wall_time, zone(recurrence.time_zone), fold=1) != slot:
        reading = "first_of_two"
    return ReadSlot(slot=slot, local=local, named=named, reading=reading)


def _named_in_gap(recurrence: Recurrence, slot: datetime) -> datetime | None:
    """Return the wall time without an instant of its own that ``slot`` stands for, if there is one.

    It is what clocks would show had they not changed; no zone changes them twice within a day.
    """
    place = zone(recurrence.time_zone)
    offset_before = (slot - _DAY).astimezone(place).utcoffset()
    if offset_before is None or recurrence.is_hourly:
        return None
    unchanged = (slot.astimezone(UTC) + offset_before).replace(tzinfo=None)
    exists = instant_of(unchanged, place) <= instant_of(unchanged, place, fold=1)
    if exists or instant_of(unchanged, place) != slot or not names(recurrence, unchanged):
        return None
    return unchanged
