"""Values in one form: from a definition, and from what a database or its driver returned.

The only place that turns one into the other. It is strict: a value that the type cannot hold
exactly is a fault, never a guess. SQLite keeps what was written into it; what we read:

=============  ==============================================================================
decimal        integer, real (its shortest digits), text; as many digits as PostgreSQL holds
boolean        0, 1, ``true``, ``false``
date, time     ISO 8601 text
timestamp      ISO 8601 text without offset
timestamptz    ISO 8601 text; without an offset it is UTC, as SQLite's own functions write it;
               an integer is Unix seconds
=============  ==============================================================================
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from queries_orchestration.model.columns import ValueType

_INTEGER: Final = re.compile(r"[+-]?[0-9]+", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)
# What PostgreSQL's numeric holds.
_DIGITS_BEFORE_POINT: Final = 131_072
_DIGITS_AFTER_POINT: Final = 16_383
_FINER: Final = re.compile(r"[.,][0-9]{6}[0-9]*[1-9]", re.ASCII)
# Python's own readers take more than is one: blanks, underscores, digits too many.
_UUID: Final = re.compile(
    "-?".join(f"[0-9a-f]{{{count}}}" for count in (8, 4, 4, 4, 12)), re.ASCII | re.IGNORECASE
)
_TIME_FORM: Final = (
    r"[0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.,][0-9]+)?)?)?"
    r"(?:Z|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2}(?:[.][0-9]+)?)?)?)?"
)
_TIME: Final = re.compile(_TIME_FORM, re.ASCII)
_MOMENT: Final = re.compile(
    f"(?:[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}|[0-9]{{8}})(?:[T ]{_TIME_FORM})?", re.ASCII
)
_BOOLEANS: Final = {0: False, 1: True, "0": False, "1": True, "false": False, "true": True}


class UnfitValue(ValueError):
    """A value that its type cannot hold. The text names no value."""


def value(raw: object, type_: ValueType) -> object:
    """Turn what a database returned into the exact Python value of the type.

    Args:
        raw: what the driver gave; ``None`` is NULL and stays.
        type_: the type in the catalog. ``timestamp`` gives a wall time (naive),
            ``timestamptz`` an aware datetime, ``json`` the JSON text.

    Raises:
        UnfitValue: the raw value is not one of the type.
    """
    if raw is None:
        return None
    try:
        return _CONVERTERS[type_](raw)
    except (ValueError, OverflowError, OSError, TypeError, InvalidOperation) as error:
        raise UnfitValue(f"not a value of type {type_}") from error


def constant(raw: object, type_: ValueType) -> object:
    """Turn a constant of a definition (JSON or YAML) into the exact Python value of the type.

    Raises:
        UnfitValue: the constant is not one of the type; a ``timestamptz`` without offset is none.
    """
    if not isinstance(raw, _CONSTANTS.get(type_, ())) or (
        isinstance(raw, bool) and type_ != "boolean"
    ):
        raise UnfitValue(f"not a value of type {type_}")
    converted = value(raw, type_)
    if type_ == "timestamptz" and isinstance(raw, str) and _moment(raw).tzinfo is None:
        raise UnfitValue("a timestamptz needs an offset")
    return converted


def stored_value(raw: object, type_: ValueType) -> int | float | str | None:
    """Return the integer, boolean, float or text that SQLite stores in another form as its own.

    Raises:
        UnfitValue: the stored value is not one of the type, or an integer of more than 64 bits.
    """
    exact = value(raw, type_)
    if exact is not None and not isinstance(exact, int | float | str):
        raise TypeError("SQLite has no such type of its own")
    if isinstance(exact, int) and not -(2**63) <= exact < 2**63:
        raise UnfitValue("an integer of more than 64 bits")
    return exact


def compare_stored(raw: object, type_: ValueType, text: str) -> int | None:
    """Compare a value that SQLite stores with the value written in ``text``: -1, 0 or 1.

    SQLite itself would compare the stored forms, so ``10.50`` and ``10.5``, or one instant
    written in two ways, would differ.

    Raises:
        UnfitValue: the stored value is not one of the type.
    """
    if raw is None:
        return None
    left: Any = value(raw, type_)
    right: Any = _parsed(text, type_)
    return int(left > right) - int(left < right)


def one_form(raw: object, type_: ValueType) -> str | None:
    """Return the text that all spellings of a value share, and no other value of the type has.

    By it SQLite finds a stored value in a list, whose elements went through here, too.

    Raises:
        UnfitValue: the stored value is not one of the type.
    """
    exact: Any = value(raw, type_)
    match exact:
        case Decimal():
            return str(EXACT.normalize(exact)) if exact else "0"
        case float():
            return (exact + 0.0).hex()  # -0.0 equals 0.0
        case datetime(tzinfo=tzinfo) if tzinfo is not None:
            return str((exact - _EPOCH) // timedelta(microseconds=1))
        case date() | time():
            return exact.isoformat()
    return None if exact is None else str(exact)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
EXACT: Final = Context(prec=200_000, traps=[Inexact, InvalidOperation])
"""Rounding would be silent otherwise; no database keeps numbers of more digits than this."""


@lru_cache(maxsize=256)
def _parsed(text: str, type_: ValueType) -> object:
    return value(text, type_)


def _text(raw: object) -> str:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        return str(raw)
    raise TypeError


def _integer(raw: object) -> int:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return raw
    if isinstance(raw, Decimal | float) and raw == int(raw):
        return int(raw)
    if isinstance(raw, str) and _INTEGER.fullmatch(raw):
        return int(raw)
    raise TypeError


def _decimal(raw: object) -> Decimal:
    number = _any_decimal(raw)
    if not number.is_finite():
        return number
    exponent: Any = number.as_tuple().exponent
    # Written out, 1e999999999 would have as many digits.
    if number.adjusted() >= _DIGITS_BEFORE_POINT or exponent < -_DIGITS_AFTER_POINT:
        raise ValueError
    return number


def _any_decimal(raw: object) -> Decimal:
    if isinstance(raw, Decimal):
        return raw
    if isinstance(raw, int) and not isinstance(raw, bool):
        return Decimal(raw)
    if isinstance(raw, float):
        return Decimal(repr(raw))
    if isinstance(raw, str) and _NUMBER.fullmatch(raw):
        return Decimal(raw)
    raise TypeError


def _float(raw: object) -> float:
    if isinstance(raw, float):
        return raw
    if isinstance(raw, int) and not isinstance(raw, bool) and int(float(raw)) == raw:
        return float(raw)
    if isinstance(raw, Decimal) or (isinstance(raw, str) and _NUMBER.fullmatch(raw)):
        return _float_near(Decimal(raw))
    raise TypeError


def _float_near(number: Decimal) -> float:
    near = float(number)
    # What is too large or too small for a float would become infinite or zero in silence.
    if number.is_finite() and (math.isinf(near) or (number and not near)):
        raise ValueError
    return near


def _boolean(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, int | str) and raw in _BOOLEANS:
        return _BOOLEANS[raw]
    raise TypeError


def _date(raw: object) -> date:
    if isinstance(raw, date) and not isinstance(raw, datetime):
        return raw
    # A timestamp is a date only when no time of day would be lost.
    wall = _timestamp(raw)
    if wall.time() != time():
        raise ValueError
    return wall.date()


def _read(raw: str, form: re.Pattern[str]) -> str:
    # Python would cut what is finer than it can hold, in silence.
    if not form.fullmatch(raw) or _FINER.search(raw):
        raise ValueError
    return raw


def _moment(raw: object) -> datetime:
    if isinstance(raw, datetime):
        return raw
    if isinstance(raw, date):
        return datetime.combine(raw, time())
    if isinstance(raw, str):
        return datetime.fromisoformat(_read(raw, _MOMENT))
    raise TypeError


def _timestamp(raw: object) -> datetime:
    moment = _moment(raw)
    if moment.tzinfo is not None:
        raise ValueError
    return moment


def _timestamptz(raw: object) -> datetime:
    if isinstance(raw, int) and not isinstance(raw, bool):
        return datetime.fromtimestamp(raw, UTC)
    moment = _moment(raw)
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


def _time(raw: object) -> time:
    if isinstance(raw, time):
        return raw
    if isinstance(raw, str):
        return time.fromisoformat(_read(raw, _TIME))
    raise TypeError


def _uuid(raw: object) -> UUID:
    if isinstance(raw, UUID):
        return raw
    if isinstance(raw, str):
        return uuid_of(raw)
    if isinstance(raw, bytes):
        return UUID(bytes=raw)
    raise TypeError


def uuid_of(text: str) -> UUID:
    """Return the UUID that a text tells, with or without its hyphens.

    Raises:
        ValueError: it tells none.
    """
    if not _UUID.fullmatch(text):
        raise ValueError
    return UUID(text)


def _json(raw: object) -> str:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, int | float):  # a bare number in a column that SQLite made numeric
        return json.dumps(raw, allow_nan=False)
    raise TypeError


def _bytes(raw: object) -> bytes:
    if isinstance(raw, bytes | memoryview):
        return bytes(raw)
    raise TypeError


_CONVERTERS: Final[dict[ValueType, Callable[[object], object]]] = {
    "text": _text,
    "integer": _integer,
    "decimal": _decimal,
    "float": _float,
    "boolean": _boolean,
    "date": _date,
    "timestamp": _timestamp,
    "timestamptz": _timestamptz,
    "time": _time,
    "uuid": _uuid,
    "json": _json,
    "bytes": _bytes,
}

_CONSTANTS: Final[dict[ValueType, tuple[type, ...]]] = {
    "text": (str,),
    "integer": (int,),
    "decimal": (int, float, str, Decimal),
    "float": (int, float),
    "boolean": (bool,),
    "date": (str, date),
    "timestamp": (str, datetime),
    "timestamptz": (str, datetime),
    "time": (str, time),
    "uuid": (str, UUID),
}
