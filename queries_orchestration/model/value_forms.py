"""How a parameter's values are spelt: the forms that each type takes, and the exact value of each.

Nothing is guessed: what could change in silence, such as a binary float for a decimal, has no
value here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Final, Literal, get_args

from queries_orchestration.model.time_zones import instant_of, zone

ParameterType = Literal["text", "integer", "decimal", "boolean", "date", "timestamp", "timestamptz"]
Unit = Literal["day", "week", "month", "quarter", "year"]

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WALL_TIME = re.compile(_DATE.pattern + r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?")
_INSTANT = re.compile(_WALL_TIME.pattern + r"(?:Z|[+-][0-9]{2}:[0-9]{2})")
_START_OF = re.compile(r"start_of:(?P<unit>[a-z]+)(?:, ?shift:(?P<shift>[+-]?[0-9]{1,4}))?")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1  # what every database's bigint holds
_MOST_DIGITS = 1000
_FARTHEST_SHIFT = 1000


@dataclass(frozen=True, slots=True)
class StartOf:
    """A relative value: the local midnight at which a unit began, ``shift`` units on.

    Weeks begin on Monday. It is counted from the occurrence's slot, not from its execution.
    """

    unit: Unit
    shift: int = 0

    def at(self, moment: datetime, time_zone: str) -> date:
        """The local day of ``time_zone`` that this names, seen from the aware ``moment``."""
        today = moment.astimezone(zone(time_zone)).date()
        if self.unit == "day":
            return today + timedelta(days=self.shift)
        if self.unit == "week":
            return today - timedelta(days=today.weekday()) + timedelta(weeks=self.shift)
        months_a_unit = {"month": 1, "quarter": 3, "year": 12}[self.unit]
        units = (today.year * 12 + today.month - 1) // months_a_unit + self.shift
        year, months = divmod(units * months_a_unit, 12)
        return date(year, months + 1, 1)


def read(type_: ParameterType, given: object) -> object:
    """The exact value or StartOf that ``given`` spells; None if it has the wrong form."""
    exact = FORMS[type_].read(given)
    if exact is None and type_ in ("date", "timestamp", "timestamptz"):
        return _read_start_of(given)
    return exact


def read_list(given: object) -> list[object] | None:
    """The elements of a list, or of its JSON text; None if it is neither."""
    if isinstance(given, str):
        try:
            # A number with a point is exact in the text, and stays so.
            given = json.loads(given, parse_float=Decimal, parse_constant=_no_number)
        except (ValueError, RecursionError, InvalidOperation):
            return None
    return list(given) if isinstance(given, list | tuple) else None


def absolute(value: object, type_: ParameterType, moment: datetime, time_zone: str) -> object:
    """The exact value of the type that a StartOf names, seen from the aware ``moment``."""
    if not isinstance(value, StartOf):
        return value
    day = value.at(moment, time_zone)
    midnight = datetime.combine(day, time())
    if type_ == "timestamptz":
        return instant_of(midnight, zone(time_zone))
    return midnight if type_ == "timestamp" else day


def spell(value: object) -> object:
    """A value that JSON lacks, as the text that reads back as the same value."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, StartOf):
        return {"start_of": value.unit, "shift": value.shift}
    raise TypeError(f"a {type(value).__name__} is no runtime value")


def _no_number(constant: str) -> object:
    raise ValueError(f"{constant} is no number of JSON")


def _read_start_of(given: object) -> StartOf | None:
    if isinstance(given, StartOf):
        return given
    if isinstance(given, str):
        match = _START_OF.fullmatch(given)
        if match is None:
            return None
        unit, shift = match["unit"], int(match["shift"] or 0)
    elif isinstance(given, Mapping) and set(given) <= {"start_of", "shift"}:
        unit, shift = given.get("start_of"), given.get("shift", 0)
    else:
        return None
    known = next((name for name in get_args(Unit) if name == unit), None)
    if known is None or type(shift) is not int or abs(shift) > _FARTHEST_SHIFT:
        return None
    return StartOf(known, shift)


def _read_text(given: object) -> str | None:
    if not isinstance(given, str) or "\0" in given:
        return None
    has_lone_surrogate = any("\ud800" <= character <= "\udfff" for character in given)
    return None if has_lone_surrogate else given


def _read_integer(given: object) -> int | None:
    if isinstance(given, str) and _INTEGER.fullmatch(given):
        given = int(given)
    if type(given) is int and _SMALLEST <= given <= _LARGEST:
        return given
    return None


def _read_decimal(given: object) -> Decimal | None:
    """Never from a float: it has lost digits already."""
    if isinstance(given, str):
        fits = len(given) <= _MOST_DIGITS and _DECIMAL.fullmatch(given)
        return Decimal(given) if fits else None
    if type(given) is int and given.bit_length() <= 3 * _MOST_DIGITS:
        return Decimal(given)
    if isinstance(given, Decimal) and given.is_finite():
        exponent = given.as_tuple().exponent
        near = isinstance(exponent, int) and abs(exponent) + abs(given.adjusted()) < _MOST_DIGITS
        return Decimal(f"{given:f}") if near else None
    return None


def _read_boolean(given: object) -> bool | None:
    if isinstance(given, str):
        return {"true": True, "false": False}.get(given)
    return given if isinstance(given, bool) else None


def _read_date(given: object) -> date | None:
    if isinstance(given, str) and _DATE.fullmatch(given):
        return _calendar_date(given)
    return given if type(given) is date else None


def _read_wall_time(given: object) -> datetime | None:
    if isinstance(given, str) and _WALL_TIME.fullmatch(given):
        given = _calendar_time(given)
    if isinstance(given, datetime) and given.tzinfo is None:
        return given
    return None


def _read_instant(given: object) -> datetime | None:
    if isinstance(given, str) and _INSTANT.fullmatch(given):
        given = _calendar_time(given)
    if not isinstance(given, datetime) or given.tzinfo is None:
        return None
    try:
        return given.astimezone(UTC)
    except OverflowError:  # before year 1 or after 9999 in UTC
        return None


def _calendar_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:  # no such day
        return None


def _calendar_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # no such day or time
        return None


@dataclass(frozen=True, slots=True)
class Form:
    """How a type's values are spelt: ``read`` gives the exact value, None for another form."""

    read: Callable[[object], object]
    expected: str


_OR_START = " or a start such as {start_of: month, shift: -1} (day, week, month, quarter, year)"
FORMS: Final[dict[ParameterType, Form]] = {
    "text": Form(_read_text, "a text (in YAML, in quotes)"),
    "integer": Form(_read_integer, "a whole number of at most 64 bits such as 42"),
    "decimal": Form(_read_decimal, 'a decimal number in quotes such as "12.50"'),
    "boolean": Form(_read_boolean, "true or false"),
    "date": Form(_read_date, 'a date such as "2027-01-31",' + _OR_START),
    "timestamp": Form(
        _read_wall_time, 'a time without offset such as "2027-01-31T08:30:00",' + _OR_START
    ),
    "timestamptz": Form(
        _read_instant, 'a time with its offset such as "2027-01-31T08:30:00+01:00",' + _OR_START
    ),
}
