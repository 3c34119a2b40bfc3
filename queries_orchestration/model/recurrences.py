"""Recurrences: a five-field cron rule in an IANA zone, and the slots that it names.

cronsim finds the wall times of a rule; this module says which instants they are. The rules are
in ``docs/recurrences.md``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from itertools import pairwise, takewhile
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from queries_orchestration.model.errors import InvalidRecurrence
from queries_orchestration.model.time_zones import instant_of, zone

FINEST = timedelta(minutes=5)
_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
_LAST_DAY = "L"  # as cronsim writes it
_SAMPLE_DAY = datetime(2001, 1, 1)  # noqa: DTZ001 a wall time
_FIRST_YEAR = 1900
_LAST_YEAR = 9900  # cronsim looks 50 years ahead, datetime ends in 9999
_EVERY = re.compile(r"\*(?:/(?P<step>[0-9]{1,2}))?")
_ELEMENT = re.compile(
    r"(?P<first>[0-9]{1,2}|[A-Z]{3})(?:-(?P<last>[0-9]{1,2}|[A-Z]{3})(?:/(?P<step>[0-9]{1,2}))?)?"
)


@dataclass(frozen=True, slots=True)
class Recurrence:
    """A rule of wall times: five-field ``cron`` text, read in the IANA zone ``time_zone``.

    Make one from a person's text with ``parse``; the constructor takes what ``parse`` made.

    Args:
        last_day: of the days that the rule names, only the last one of each month.
        starts_on: the first local date that may have slots; None: any.
        ends_on: the last local date that may have slots; None: any.
    """

    cron: str
    time_zone: str
    last_day: bool = False
    starts_on: date | None = None
    ends_on: date | None = None

    @classmethod
    def parse(
        cls,
        cron: str,
        time_zone: str,
        *,
        last_day: bool = False,
        starts_on: date | None = None,
        ends_on: date | None = None,
    ) -> Recurrence:
        """Check all; the cron text is kept in capitals with single blanks.

        Raises InvalidRecurrence for text outside the grammar, for rules that never come or come
        more often than every five minutes, for dates in the wrong order and for a last day beside
        other days; UnknownTimeZone for the zone.
        """
        zone(time_zone)
        written = cron.upper() if cron.isascii() else cron
        texts = written.split()
        if len(texts) != len(_FIELDS):
            raise InvalidRecurrence(
                f"The recurrence {cron[:80]!r} has {len(texts)} fields: give exactly five, "
                "minute hour day-of-month month day-of-week, such as '30 6 * * MON-FRI'."
            )
        for field, text in zip(_FIELDS, texts, strict=True):
            field.check(text)
        recurrence = cls(" ".join(texts), time_zone, last_day, starts_on, ends_on)
        if last_day and (texts[2], texts[4]) != ("*", "*"):
            raise InvalidRecurrence(
                f"The recurrence {recurrence.cron!r} names days beside the last day of the month: "
                "leave its day-of-month and day-of-week '*', such as '0 8 * * *'."
            )
        if starts_on and ends_on and ends_on < starts_on:
            raise InvalidRecurrence(
                f"The recurrence ends on {ends_on}, before it starts on {starts_on}: "
                "the last date is on the first one or after it."
            )
        for day in (starts_on, ends_on):
            if day is not None and not _FIRST_YEAR <= day.year <= _LAST_YEAR:
                raise InvalidRecurrence(
                    f"{day} is no date that a recurrence starts or ends on: give one of the years"
                    f" {_FIRST_YEAR} to {_LAST_YEAR}."
                )
        _refuse_impossible(recurrence)
        _refuse_finer(recurrence)
        return recurrence

    @property
    def is_hourly(self) -> bool:
        """Whether every instant that shows a local time of the rule counts: an hour field ``*``."""
        return self.cron.split(" ")[1].startswith("*")


def next_slot(recurrence: Recurrence, after: datetime) -> datetime | None:
    """The first slot strictly after the aware instant ``after``, as an aware UTC instant.

    None if the rule has ended, or names no time within cronsim's horizon of fifty years.
    """
    if after.tzinfo is None:
        raise ValueError("after must be an aware instant")
    if after.year > _LAST_YEAR:
        return None
    place = zone(recurrence.time_zone)
    start = _earliest_wall_time(after, place)
    if recurrence.starts_on is not None:
        start = max(start, datetime.combine(recurrence.starts_on, time()) - _MINUTE)
        if start.year > _LAST_YEAR:
            return None
    candidates: list[datetime] = []
    for wall_time in CronSim(_for_cronsim(recurrence), start):
        if recurrence.ends_on is not None and wall_time.date() > recurrence.ends_on:
            break
        first = instant_of(wall_time, place)
        second = instant_of(wall_time, place, fold=1)
        in_gap = first > second
        named = [first]
        if recurrence.is_hourly:
            named = [] if in_gap else [first, second]
        candidates.extend(instant for instant in named if instant > after)
        # Only a time read out of a gap can be overtaken by one that the clock shows later.
        if first > after and not in_gap:
            break
    return min(candidates, default=None)


def slots(recurrence: Recurrence, after: datetime, until: datetime) -> Iterator[datetime]:
    """The slots in (``after``, ``until``], in order, as aware UTC instants; both bounds aware."""
    slot = next_slot(recurrence, after)
    while slot is not None and slot <= until:
        yield slot
        slot = next_slot(recurrence, slot)


def names(recurrence: Recurrence, wall_time: datetime) -> bool:
    """Whether the rule names the naive ``wall_time``, be it that no clock ever shows it."""
    moments = CronSim(_for_cronsim(recurrence), wall_time - _MINUTE)
    return next(moments, None) == wall_time


def local_time(recurrence: Recurrence, slot: datetime) -> datetime:
    """What the clocks of the recurrence's zone show at ``slot`` (aware, in that zone)."""
    return slot.astimezone(zone(recurrence.time_zone))


def _earliest_wall_time(after: datetime, place: ZoneInfo) -> datetime:
    """The naive wall time from which cron must look, so that no slot after ``after`` is missed.

    Shortly after a gap, times inside it are still to come: they are read with the offset of
    before. Shortly before a repeated hour, times already shown come again with the offset of
    after. No zone shifts by more than a day, and none twice within a day.
    """
    return min(
        (after + shift).astimezone(place).replace(tzinfo=None) - shift
        for shift in (-_DAY, timedelta(0), _DAY)
    )


@dataclass(frozen=True, slots=True)
class _Field:
    name: str
    lowest: int
    highest: int
    names: tuple[str, ...] = ()

    def check(self, text: str) -> None:
        """POSIX grammar, with names and with steps after ``*`` or a range."""
        every = _EVERY.fullmatch(text)
        if every:
            self._check_step(text, every["step"], self.highest - self.lowest)
            return
        for element in text.split(","):
            match = _ELEMENT.fullmatch(element)
            if match is None:
                raise self._refusal(
                    text,
                    "use '*', '*/2', or a list of numbers and ranges such as '1,5-9,10-20/2' "
                    "(L, W, #, ? and '5/2' are not accepted)",
                )
            first = self._number(text, match["first"])
            last = self._number(text, match["last"] or match["first"])
            if last < first:
                raise self._refusal(text, "a range runs upwards; write a list instead")
            self._check_step(text, match["step"], last - first)

    def _number(self, text: str, written: str) -> int:
        if written in self.names:
            return self.lowest + self.names.index(written)
        if written.isdigit() and self.lowest <= int(written) <= self.highest:
            return int(written)
        names = f" or {self.names[0]} to {self.names[-1]}" if self.names else ""
        raise self._refusal(text, f"{written} is not in {self.lowest} to {self.highest}{names}")

    def _check_step(self, text: str, step: str | None, longest: int) -> None:
        if step is not None and not 1 <= int(step) <= longest:
            raise self._refusal(text, f"a step is 1 to {longest}")

    def _refusal(self, text: str, reason: str) -> InvalidRecurrence:
        return InvalidRecurrence(f"The recurrence's {self.name} {text[:80]!r}: {reason}.")


_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_WEEKDAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_FIELDS = (
    _Field("minute", 0, 59),
    _Field("hour", 0, 23),
    _Field("day-of-month", 1, 31),
    _Field("month", 1, 12, _MONTHS),
    _Field("day-of-week", 0, 7, _WEEKDAYS),
)


def _for_cronsim(recurrence: Recurrence) -> str:
    """The rule in cronsim's terms.

    As Vixie cron, cronsim takes a day field that begins with ``*`` for unrestricted, ``*/2`` too;
    for us only ``*`` (and ``*/1``) is.
    """
    minute, hour, day, month, weekday = recurrence.cron.split(" ")
    days = _LAST_DAY if recurrence.last_day else _spelt_out(day, "1-31")
    return " ".join((minute, hour, days, month, _spelt_out(weekday, "0-6")))


def _spelt_out(text: str, whole: str) -> str:
    every = _EVERY.fullmatch(text)
    if every and every["step"] and int(every["step"]) > 1:
        return f"{whole}/{every['step']}"
    return text


def _refuse_impossible(recurrence: Recurrence) -> None:
    try:
        CronSim(_for_cronsim(recurrence), _SAMPLE_DAY)
    except CronSimError as error:
        _, _, day, month, _ = recurrence.cron.split(" ")
        raise InvalidRecurrence(
            f"The recurrence {recurrence.cron!r} never comes: no month of {month} has a day {day}."
        ) from error


def _refuse_finer(recurrence: Recurrence) -> None:
    minute, hour, day, month, weekday = _for_cronsim(recurrence).split(" ")
    moments = CronSim(f"{minute} {hour} * * *", _SAMPLE_DAY - timedelta(seconds=1))
    today = list(takewhile(lambda moment: moment < _SAMPLE_DAY + _DAY, moments))
    too_fine = any(later - earlier < FINEST for earlier, later in pairwise(today))
    over_midnight = today[0] + _DAY - today[-1]
    if not too_fine and over_midnight < FINEST:
        too_fine = _has_days_in_a_row(f"0 0 {day} {month} {weekday}")
    if too_fine:
        raise InvalidRecurrence(
            f"The recurrence {recurrence.cron!r} names times less than five minutes apart: "
            "five minutes is the shortest interval, such as '*/5 * * * *'."
        )


def _has_days_in_a_row(daily_cron: str) -> bool:
    """Whether two days in a row match; after 28 years the calendar repeats itself."""
    days = CronSim(daily_cron, _SAMPLE_DAY - _DAY)
    cycle = takewhile(lambda day: day.year <= _SAMPLE_DAY.year + 28, days)
    return any(later - earlier == _DAY for earlier, later in pairwise(cycle))
