"""The texts of a whole column at once, where its values are in their usual form.

A column is looked at once with one regular expression; what it does not know goes the long way,
value by value. Both ways give the same texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from types import NoneType
from typing import Any, Final, TypeAlias, cast

from pydantic_core import to_json

from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.columns import ValueType

_Hour: TypeAlias = tuple[str, str]
Texts: TypeAlias = Sequence[str | None]
Quickly: TypeAlias = Callable[[Sequence[Any]], Texts | None]
"""Returns the texts of raw cells, or None if one of them needs to be looked at."""

_LARGEST_PLAIN_FLOAT: Final = 1e15
_UNLIKE_REPR: Final = ("e", "0.0000", "N")
"""What JSON may have where repr has another text: exponents, small numbers, NaN."""
_HOURS_KEPT: Final = 4_096
_HOUR: Final = timedelta(hours=1)
_INSTANT: Final = len("2027-07-01T00:30:00")
_HEX_AS_ZERO: Final = bytes.maketrans(b"123456789abcdef", b"000000000000000")
_UUID: Final = b"00000000-0000-0000-0000-000000000000"
_BOOLEANS: Final[Mapping[object, str | None]] = {0: "false", 1: "true", None: None}


def _lines(pattern: str) -> Callable[[str], object]:
    return re.compile(f"(?>{pattern}\n)*+", re.ASCII).fullmatch


def _are_uuids(lines: str) -> bool:
    shapes = lines.encode(errors="surrogatepass").translate(_HEX_AS_ZERO).split(b"\n")
    return set(shapes[:-1]) <= {_UUID}


_SAME: Final[Mapping[ValueType, Callable[[str], object] | None]] = {
    "text": None,
    "json": None,
    "decimal": _lines(r"-?(?:0|[1-9]\d*)(?:\.\d+)?"),
    "date": _lines(r"\d{4}-\d\d-\d\d"),
    "timestamp": _lines(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{0,5}[1-9])?"),
    "uuid": _are_uuids,
}
"""By type, whether stored texts, a line each, are the texts that files have; None: always."""

_INSTANTS: Final = _lines(
    r"\d{4}-\d\d-\d\d[T ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?(?:Z|\+00:00)?"
)
"""Minutes and seconds are kept as they stand, so they must be some; days are looked at later."""


def quickly(type_: ValueType, form: TextForm) -> Quickly:
    """Return what makes the texts of a column of a type, if it can."""
    instants = _Instants(form)

    def texts(column: Sequence[Any]) -> Texts | None:
        kinds = set(map(type, column)) - {NoneType}
        if kinds == {str}:
            if type_ == "timestamptz":
                return instants(column) if _are(column, _INSTANTS) else None
            return column if type_ in _SAME and _are(column, _SAME[type_]) else None
        if kinds == {int}:
            return _of_integers(column, type_)
        if kinds == {float} and type_ == "float":
            return _of_floats(column)
        return None if kinds else column  # nothing but NULLs

    return texts


def _are(column: Sequence[str | None], known: Callable[[str], object] | None) -> bool:
    if known is None:
        return True
    texts = [text for text in column if text is not None]
    lines = "\n".join(texts) + "\n"
    return lines.count("\n") == len(texts) and bool(known(lines))


def _of_integers(column: Sequence[int | None], type_: ValueType) -> Texts | None:
    if type_ in ("integer", "decimal", "text"):
        return [None if value is None else str(value) for value in column]
    if type_ == "boolean" and _BOOLEANS.keys() >= set(column):
        return [_BOOLEANS[value] for value in column]
    return None


def _of_floats(column: Sequence[float | None]) -> Texts | None:
    values = [value for value in column if value is not None]
    # Written so that NaN, which is neither smaller nor larger, goes the long way.
    if not (min(values) > -_LARGEST_PLAIN_FLOAT and max(values) < _LARGEST_PLAIN_FLOAT):
        return None
    joined = to_json(values)[1:-1].decode()  # as repr has them, much faster
    if any(unlike in joined for unlike in _UNLIKE_REPR):
        return None
    return _spread(joined.replace(".0,", ",").removesuffix(".0").split(","), column)


def _spread(texts: Sequence[str], column: Sequence[object]) -> Texts:
    """Return the texts of a column's values with its NULLs between."""
    if len(texts) == len(column):
        return texts
    following = iter(texts)
    return [None if value is None else next(following) for value in column]


class _Instants:
    """Shows instants that are stored in UTC in another zone, hour by hour."""

    def __init__(self, form: TextForm) -> None:
        self._form = form
        self._hour = lru_cache(_HOURS_KEPT)(self._shown_hour)

    def __call__(self, column: Sequence[str | None]) -> Texts | None:
        stored = [text for text in column if text is not None]
        hours = [self._hour(text[:13]) for text in stored]
        if None in hours:
            return None
        fractions = {rest: _fraction(rest) for rest in {text[_INSTANT:] for text in stored}}
        shown = [
            f"{start}{text[13:_INSTANT]}{fractions[text[_INSTANT:]]}{offset}"
            for text, (start, offset) in zip(stored, cast("list[_Hour]", hours), strict=True)
        ]
        return _spread(shown, column)

    def _shown_hour(self, hour: str) -> _Hour | None:
        """Return what stands before the minutes and after the seconds in an hour of UTC.

        None where minutes or offset differ within it, or where there is no such hour.
        """
        try:
            start = datetime.fromisoformat(f"{hour}:00:00+00:00")
            first, last = (
                self._form.local(moment) for moment in (start, start + _HOUR - timedelta.resolution)
            )
        except (ValueError, OverflowError):
            return None
        offset = first.utcoffset()
        if offset != last.utcoffset() or offset is None or offset % _HOUR:
            return None
        text = first.isoformat()
        return text[:13], text[_INSTANT:]


def _fraction(rest: str) -> str:
    """Return the fraction of what stands after the seconds, without needless zeros."""
    digits = rest.removesuffix("Z").removesuffix("+00:00").rstrip("0")
    return "" if digits == "." else digits
