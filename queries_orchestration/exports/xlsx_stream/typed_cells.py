"""Numbers, booleans, dates and times as Excel has them, made of their texts.

Each function returns a cell from the end of its address on; None where the text is not of the
type's form or Excel's number would lose something of it, which then is a text cell.
"""

from __future__ import annotations

import re
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.xlsx_stream import styles

EXACT_DIGITS = 15
"""Significant decimal digits that Excel keeps."""

_SMALLEST_EXPONENT = -307
_DAY_ZERO = date(1899, 12, 30)
_MIDNIGHT_ZERO = datetime.combine(_DAY_ZERO, time())
_FIRST_DAY = 61  # 1 March 1900: Excel believes in a 29 February 1900 and knows no earlier century
_LAST_DAY = "9999-12-31"
_COARSE_FROM = 2**16  # days, in 2079: below it a double tells every microsecond
_DAY = timedelta(days=1)
_MICROSECOND = timedelta(microseconds=1)

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}").fullmatch
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?").fullmatch
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?").fullmatch
_DAY_TEXT = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME_TEXT = r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?"
_OFFSET_TEXT = "[+-][0-9]{2}:[0-9]{2}(?::[0-9]{2})?"
_DATE = re.compile(_DAY_TEXT).fullmatch
_TIME = re.compile(_TIME_TEXT).fullmatch
_TIMESTAMP = re.compile(f"{_DAY_TEXT}T{_TIME_TEXT}").fullmatch
_TIMESTAMPTZ = re.compile(f"({_DAY_TEXT}T{_TIME_TEXT}){_OFFSET_TEXT}").fullmatch


def integer_cell(text: str) -> str | None:
    return f'" t="n"><v>{text}</v></c>' if _INTEGER(text) else None


def decimal_cell(text: str) -> str | None:
    if not _DECIMAL(text):
        return None
    if len(text) <= EXACT_DIGITS:
        return _number(text)
    value = Decimal(text)
    digits = text.replace("-", "").replace(".", "").strip("0")
    if len(digits) > EXACT_DIGITS:
        return None
    if value and not _SMALLEST_EXPONENT <= value.adjusted() < EXACT_DIGITS:
        return None
    return _number(repr(float(value)))


def float_cell(text: str) -> str | None:
    if not _FLOAT(text):
        return None
    value = float(text)
    if value and not sys.float_info.min <= abs(value) <= sys.float_info.max:
        return None
    return _number(text)


def boolean_cell(text: str) -> str | None:
    return _BOOLEANS.get(text)


_BOOLEANS = {"true": '" t="b"><v>1</v></c>', "false": '" t="b"><v>0</v></c>'}


def date_cell(text: str) -> str | None:
    if not _DATE(text):
        return None
    try:
        days = (date.fromisoformat(text) - _DAY_ZERO).days
    except ValueError:  # such as 2027-02-30
        return None
    return _number(days, styles.DATE) if days >= _FIRST_DAY else None


def timestamp_cell(text: str) -> str | None:
    return _moment_cell(text) if _TIMESTAMP(text) else None


class InstantCell:
    """The cell of an instant that is given as the wall time of ``zone``, with its offset."""

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._form = TextForm(zone)

    def __call__(self, text: str) -> str | None:
        found = _TIMESTAMPTZ(text)
        if not found or (text.startswith(_LAST_DAY) and not self._is_in_zone(text)):
            return None
        return _moment_cell(found[1])

    def _is_in_zone(self, text: str) -> bool:
        """Whether the zone has such a time: at the calendar's end, instants keep their own."""
        try:
            return self._form.local(datetime.fromisoformat(text)).tzinfo is self._zone
        except ValueError:
            return False


def time_cell(text: str) -> str | None:
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
    return _number(since / _DAY, styles.TIME_MILLISECONDS if value.microsecond else styles.TIME)


def _moment_cell(text: str) -> str | None:
    try:
        wall = datetime.fromisoformat(text)
    except ValueError:
        return None
    since = wall - _MIDNIGHT_ZERO
    days = since / _DAY
    if days < _FIRST_DAY:
        return None
    if not wall.microsecond:
        return _number(days, styles.MOMENT)
    return _number(days, styles.MOMENT_MILLISECONDS) if _holds(days, since) else None


def _holds(days: float, since: timedelta) -> bool:
    """Whether Excel's count of days still tells the microsecond."""
    return (
        days < _COARSE_FROM
        or round(Decimal(days) * (_DAY // _MICROSECOND)) == since // _MICROSECOND
    )


def _number(value: object, style: int = 0) -> str:
    return f'" s="{style}" t="n"><v>{value}</v></c>' if style else f'" t="n"><v>{value}</v></c>'
