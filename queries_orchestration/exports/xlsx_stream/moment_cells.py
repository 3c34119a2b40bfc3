"""Dates and times as Excel has them, counts of days, made of their texts.

Each function returns the content of a cell; None where the text is not of the type's form or
Excel's days would lose something of it, which then is a text cell.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from pydantic_core import to_json

from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.xlsx_stream import styles
from queries_orchestration.exports.xlsx_stream.cell_form import styled

_DAY_ZERO = date(1899, 12, 30)
_ZERO = datetime.combine(_DAY_ZERO, time())
_FIRST_DAY = 61  # 1 March 1900: Excel believes in a 29 February 1900 and knows no earlier century
_LAST_DAY = "9999-12-31"
_COARSE_FROM = 2**16  # days, in 2079: below it a double tells every microsecond
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)
_SECONDS = styled(styles.MOMENT, "")
_MILLISECONDS = styled(styles.MOMENT_MILLISECONDS, "")

_DAY_FORM = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_FORM = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_TIMESTAMP_FORM = f"{_DAY_FORM}T{_TIME_FORM}"

_DATE = re.compile(_DAY_FORM).fullmatch
_TIME = re.compile(_TIME_FORM).fullmatch
_TIMESTAMP = re.compile(_TIMESTAMP_FORM).fullmatch
_OFFSET_FORM = "[+-](?:[01][0-9]|2[0-3]):[0-5][0-9]"
_OFFSET = re.compile(_OFFSET_FORM).fullmatch
_TIMESTAMPTZ = re.compile(f"({_TIMESTAMP_FORM}){_OFFSET_FORM}(?::[0-5][0-9])?").fullmatch

_AS_ZERO = bytes.maketrans(b"123456789", b"000000000")
_FRACTIONS = [b"", *(b"." + b"0" * digits for digits in range(1, 7))]
_TIMESTAMP_SHAPES = {b"0000-00-00T00:00:00" + fraction for fraction in _FRACTIONS}
_INSTANT_SHAPES = {shape + sign + b"00:00" for shape in _TIMESTAMP_SHAPES for sign in (b"+", b"-")}


def date_content(text: str) -> str | None:
    if not _DATE(text):
        return None
    try:
        days = (date.fromisoformat(text) - _DAY_ZERO).days
    except ValueError:  # such as 2027-02-30
        return None
    return styled(styles.DATE, str(days)) if days >= _FIRST_DAY else None


def timestamp_content(text: str) -> str | None:
    return _moment_content(text) if _TIMESTAMP(text) else None


def plain_timestamps(texts: Sequence[str]) -> list[str] | None:
    """Return the contents of texts of which each surely has one; None otherwise."""
    return _moment_contents(texts) if _shapes(texts) <= _TIMESTAMP_SHAPES else None


def plain_instants(texts: Sequence[str]) -> list[str] | None:
    """Return the contents of instants that every zone has; None where one may have none."""
    if not _shapes(texts) <= _INSTANT_SHAPES or _LAST_DAY in "".join(texts):
        return None
    if not all(map(_OFFSET, {text[-6:] for text in texts})):
        return None
    return _moment_contents([text[:-6] for text in texts])


def _shapes(texts: Sequence[str]) -> set[bytes]:
    """Return the different texts that there are with each digit 0."""
    return set("\n".join(texts).encode(errors="surrogatepass").translate(_AS_ZERO).split(b"\n"))


def _moment_contents(texts: Sequence[str]) -> list[str] | None:
    try:
        times = [datetime.fromisoformat(text) - _ZERO for text in texts]
    except ValueError:  # such as 2027-02-30T00:00:00
        return None
    days = [since / _DAY for since in times]
    if min(days) < _FIRST_DAY:
        return None
    if max(days) >= _COARSE_FROM and any(since.microseconds for since in times):
        return None
    numbers = to_json(days)[1:-1].decode().split(",")  # as repr has them, much faster
    return [
        (_MILLISECONDS if since.microseconds else _SECONDS) + number
        for since, number in zip(times, numbers, strict=True)
    ]


class InstantContent:
    """The content of an instant that is given as the wall time of ``zone``, with its offset."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._form = TextForm(zone)

    def __call__(self, text: str) -> str | None:
        found = _TIMESTAMPTZ(text)
        if not found or (text.startswith(_LAST_DAY) and not self._is_in_zone(text)):
            return None
        return _moment_content(found[1])

    def _is_in_zone(self, text: str) -> bool:
        """Whether the zone has such a time: at the calendar's end, instants keep their own."""
        try:
            return self._form.local(datetime.fromisoformat(text)).tzinfo is self._zone
        except ValueError:
            return False


def time_content(text: str) -> str | None:
    if not _TIME(text):
        return None
    try:
        value = time.fromisoformat(text)
    except ValueError:  # such as 24:00:00
        return None
    since = timedelta(
        hours=value.hour,
        minutes=value.minute,
        seconds=value.second,
        microseconds=value.microsecond,
    )
    style = styles.TIME_MILLISECONDS if value.microsecond else styles.TIME
    return styled(style, repr(since / _DAY))


def _moment_content(text: str) -> str | None:
    try:
        since = datetime.fromisoformat(text) - _ZERO
    except ValueError:  # such as 2027-02-30T00:00:00
        return None
    days = since / _DAY
    if days < _FIRST_DAY:
        return None
    if not since.microseconds:
        return f"{_SECONDS}{days!r}"
    if days >= _COARSE_FROM and not _holds(days, since):
        return None
    return f"{_MILLISECONDS}{days!r}"


def _holds(days: float, since: timedelta) -> bool:
    """Whether Excel's count of days still tells the microsecond."""
    return round(Decimal(days) * (_DAY // _MICROSECOND)) == since // _MICROSECOND
