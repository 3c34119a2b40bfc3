"""The one text of every value: what a CSV field holds, and a workbook's cell where it holds text.

The texts are those of PostgreSQL's ``COPY … CSV``, except that dates with times are ISO 8601 with
a ``T`` and booleans are ``true`` and ``false``. docs/formats.md lists them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

_WHOLE_FROM = 2.0**53  # from here on floats and what lies halfway between them are whole numbers
_HALFWAY_BELOW = 1e40  # from here on nothing of 17 digits lies halfway between two floats


class TextForm:
    """Turns values into text; instants are shown in ``zone``."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self.zone_name = zone.key
        self._forms: dict[type, Callable[[Any], str]] = {
            str: str,
            int: str,
            Decimal: decimal_text,
            float: float_text,
            bool: lambda value: "true" if value else "false",
            date: date.isoformat,
            datetime: self._datetime_text,
            time: time_text,
            UUID: str,
            bytes: bytes_text,
            bytearray: bytes_text,
            memoryview: bytes_text,
        }

    def __call__(self, value: object) -> str:
        """Return the text of a value that is not NULL.

        Raises:
            TypeError: a page brought something that is none of our value types.
        """
        kind = type(value)
        form = self._forms.get(kind)
        if form is None:
            form = self._forms[kind] = self._form_of_base(kind)
        return form(value)

    def local(self, instant: datetime) -> datetime:
        """Return the aware ``instant`` in the zone of the file.

        At the ends of the calendar, where the zone has no such time, it keeps its own.
        """
        try:
            return instant.astimezone(self._zone)
        except OverflowError:
            return instant

    def _datetime_text(self, value: datetime) -> str:
        return datetime_text(value if value.tzinfo is None else self.local(value))

    def _form_of_base(self, kind: type) -> Callable[[Any], str]:
        for base in kind.__mro__:
            if base in self._forms:
                return self._forms[base]
        raise TypeError(f"{kind.__name__} is none of our value types, so it has no text")


def decimal_text(value: Decimal) -> str:
    """Digit for digit with its scale, never with an exponent."""
    return "NaN" if value.is_nan() else format(value, "f")


def float_text(value: float) -> str:
    """The shortest digits that read back as the same float, written as PostgreSQL writes them."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    digits = repr(value)
    if _WHOLE_FROM <= abs(value) < _HALFWAY_BELOW:
        digits = _inside(value, digits)
    if abs(value) >= 1e15:  # Python writes out numbers below 1e16, PostgreSQL those below 1e15
        return f"{Decimal(digits).normalize():e}"
    return digits.removesuffix(".0")


def _inside(value: float, digits: str) -> str:
    """Take more digits where the shortest lie exactly halfway between a float and its neighbour.

    Python trusts readers to round those to the even one, PostgreSQL does not.
    """
    for candidate in (digits, f"{value:.15e}"):
        if float(candidate) == value and not _is_halfway(value, candidate):
            return candidate
    return f"{value:.16e}"


def _is_halfway(value: float, digits: str) -> bool:
    distance = int(Decimal(digits)) - int(value)
    towards = math.copysign(math.inf, distance)
    return distance != 0 and 2 * distance == int(math.nextafter(value, towards)) - int(value)


def datetime_text(value: datetime) -> str:
    """ISO 8601, with an offset if the value has one; a fraction of a second without end zeros."""
    whole = value.replace(microsecond=0).isoformat()
    return whole[:19] + _fraction(value.microsecond) + whole[19:]


def time_text(value: time) -> str:
    """ISO 8601, as :func:`datetime_text`."""
    whole = value.replace(microsecond=0).isoformat()
    return whole[:8] + _fraction(value.microsecond) + whole[8:]


def _fraction(microsecond: int) -> str:
    return f".{microsecond:06d}".rstrip("0") if microsecond else ""


def bytes_text(value: bytes | bytearray | memoryview) -> str:
    r"""Hexadecimal as PostgreSQL writes it: ``\xdeadbeef``."""
    return "\\x" + value.hex()
