"""Values as they are printed, for a person to read: numbers, dates and instants in English.

What is printed is rounded and shortened; the exact value is for the workbook and for CSV.

- NULL is an en dash; a text that is empty stays empty.
- Numbers have thousands separators. As many digits after the point are printed as the value has,
  at most ``decimals`` (a float's end zeros are none). Half is rounded away from zero, and what
  becomes zero has no sign. Unless ``decimals`` was chosen, a number that two digits would turn
  into zero gets two significant ones: ``0.0012``, ``-3.5e-09``.
- From 10^30 on (floats: from 10^15 on) numbers are in powers of ten: ``1.23457e+30``.
- Dates are ISO 8601. Instants are in the zone of the report; the hour that a clock goes through
  twice tells its offset. Seconds are printed where they are not zero, fractions of them never.
- Bytes are hexadecimal, the first sixteen of them. Texts are cut after 2,000 characters. Both say
  what they had.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, time
from decimal import MAX_EMAX, MIN_EMIN, ROUND_HALF_UP, Context, Decimal, localcontext
from itertools import repeat
from typing import Final
from uuid import UUID

from queries_orchestration.model.time_zones import zone

NULL: Final = "\N{EN DASH}"
LONGEST_TEXT: Final = 2_000

_DECIMALS = 2
_SHOWN_BYTES = 16
_SHOWN_DIGITS = 6
_LARGEST_POWER = 30
_FLOATS_LARGEST_POWER = 15
_SMALLEST_POWER = -6
_ROUNDING = Context(prec=60, rounding=ROUND_HALF_UP, Emin=MIN_EMIN, Emax=MAX_EMAX)
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
_LINE_END = re.compile("\r\n?|\x85")


class Replacer:
    """Replaces by U+FFFD what no page can show, and counts it in ``replaced``.

    That are control characters, halves of surrogate pairs and codes that are no characters.
    """

    def __init__(self) -> None:
        self.replaced = 0

    def __call__(self, text: str) -> str:
        """Return ``text`` as it can be shown, its lines ending with a line feed."""
        if not _UNPRINTABLE.search(text):
            return text
        text, count = _UNPRINTABLE.subn("\ufffd", _LINE_END.sub("\n", text))
        self.replaced += count
        return text


class PrintText:
    """Turns values into printed text.

    Args:
        time_zone: IANA name of the zone in which instants are shown.
        decimals: digits after the point at most; None: two.

    Raises:
        UnknownTimeZone: there is no such zone.
    """

    def __init__(self, time_zone: str, decimals: int | None = None) -> None:
        self._zone = zone(time_zone)
        self._most = _DECIMALS if decimals is None else decimals
        self._keeps_small = decimals is None

    def __call__(self, value: object) -> str:
        """Return the text of one value.

        Raises:
            TypeError: the value is none of our value types.
        """
        return self._text(value, None)

    def column(self, values: Iterable[object]) -> list[str]:
        """Return the texts of values that stand one below the other.

        The numbers that have a fraction all get the same digits after the point, so that the
        points stand in line.

        Raises:
            TypeError: as for one value.
        """
        values = list(values)
        digits = max(map(self._digits, values), default=0)
        return list(map(self._text, values, repeat(digits)))

    def _text(self, value: object, digits: int | None) -> str:
        match value:
            case None:
                return NULL
            case str():
                return _shortened(value)
            case bool():
                return "yes" if value else "no"
            case int() | Decimal() | float():
                return self._number(value, digits)
            case datetime():
                return self._moment(value)
            case date():
                return value.isoformat()
            case time():
                return value.isoformat("seconds" if value.second else "minutes")
            case UUID():
                return str(value)
            case bytes() | bytearray() | memoryview():
                return _hexadecimal(bytes(value))
        raise TypeError(f"{type(value).__name__} is none of our value types, so it has no text")

    def _number(self, value: int | Decimal | float, digits: int | None) -> str:
        if isinstance(value, int) and abs(value) < 10**_LARGEST_POWER:
            return f"{value:,}"
        exact = _exact(value)
        if not exact.is_finite():
            return "NaN" if exact.is_nan() else "Infinity" if exact > 0 else "-Infinity"
        largest = _FLOATS_LARGEST_POWER if isinstance(value, float) else _LARGEST_POWER
        if exact and exact.adjusted() >= largest:
            return _in_powers(exact, _SHOWN_DIGITS)
        rounded = _rounded(exact, self._digits(value) if digits is None else digits)
        if exact and not rounded and self._keeps_small:
            if exact.adjusted() < _SMALLEST_POWER:
                return _in_powers(exact, 2)
            rounded = _rounded(exact, 1 - exact.adjusted()).normalize()
        return f"{rounded if rounded else abs(rounded):,f}"

    def _digits(self, value: object) -> int:
        """Return how many digits after the point a value would be printed with, on its own."""
        if not isinstance(value, float | Decimal):
            return 0
        exact = _exact(value)
        if isinstance(value, float) and exact.is_finite():
            if exact.adjusted() >= _FLOATS_LARGEST_POWER:
                return 0
            exact = _rounded(exact, self._most).normalize()
        exponent = exact.as_tuple().exponent
        return min(self._most, max(-exponent, 0)) if isinstance(exponent, int) else 0

    def _moment(self, value: datetime) -> str:
        offset = ""
        if value.tzinfo is not None:
            try:
                value = value.astimezone(self._zone)
            except OverflowError:  # at the ends of the calendar the zone has no such time
                offset = value.isoformat()[19:].lstrip(".0123456789")
            else:
                if value.utcoffset() != value.replace(fold=1 - value.fold).utcoffset():
                    offset = value.isoformat()[-6:]
        wall_time = value.replace(tzinfo=None)
        text = wall_time.isoformat(" ", "seconds" if value.second else "minutes")
        return f"{text} {offset}".rstrip()


def percent_text(value: float) -> str:
    """Return a percentage with its sign and at most one digit after the point."""
    text = PrintText("UTC", 1)(value)
    return f"{'+' if value > 0 and text.strip('0.') else ''}{text}%"


def _exact(value: int | Decimal | float) -> Decimal:
    """Return a float as its shortest digits, everything else as it is."""
    return Decimal(repr(value)) if isinstance(value, float) else Decimal(value)


def _rounded(value: Decimal, digits: int) -> Decimal:
    return value.quantize(Decimal((0, (1,), -digits)), context=_ROUNDING)


def _in_powers(value: Decimal, digits: int) -> str:
    with localcontext(_ROUNDING) as context:
        context.prec = digits
        mantissa, _, power = f"{(+value).normalize():e}".partition("e")
    return f"{mantissa}e{int(power):+03d}"


def _shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({len(text):,} characters)"


def _hexadecimal(value: bytes) -> str:
    shown = "\\x" + value[:_SHOWN_BYTES].hex()
    return shown if len(value) <= _SHOWN_BYTES else f"{shown}… ({len(value):,} bytes)"
