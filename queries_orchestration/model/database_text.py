"""The text of docs/formats.md, made by PostgreSQL itself, in the session's time zone.

What the database renders costs this process nothing. Each expression prints as the very text that
``exports.text_form`` gives for the value, or is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Double, Text, and_, case, cast, func, literal_column

from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.dialects import Expression

_RENDERED: Final[Mapping[ValueType, frozenset[int]]] = {
    "integer": frozenset({20, 21, 23}),
    "decimal": frozenset({20, 21, 23, 1700}),
    "float": frozenset({700, 701}),
    "boolean": frozenset({16}),
    "date": frozenset({1082}),
    "timestamp": frozenset({1114}),
    "timestamptz": frozenset({1184}),
    "time": frozenset({1083}),
    "uuid": frozenset({2950}),
    "json": frozenset({114, 3802}),
    "bytes": frozenset({17}),
}
"""By type of the catalog, the types (OIDs) of a column that the database renders.

A column may be of another type than the catalog says, such as text where it says numbers; but all
types print as text.
"""

RUN_BY_SPREADSHEETS: Final = "=+-@\t\r"
"""Text that starts with one of these is guarded."""

_REAL: Final = 700
_GUARDED: Final[list[Expression]] = [
    literal_column(str(ord(character))) for character in RUN_BY_SPREADSHEETS
]
_LAST_GUARDED: Final[Expression] = literal_column(str(max(map(ord, RUN_BY_SPREADSHEETS))))
_QUOTE: Final[Expression] = literal_column("'\"'")
_APOSTROPHE: Final[Expression] = literal_column("''''")
_BLANK: Final[Expression] = literal_column("' '")
_T: Final[Expression] = literal_column("'T'")
_NO_MINUTES: Final[Expression] = literal_column("':00'")
_FIRST: Final[Expression] = literal_column("'0001-01-01'")
_BEYOND: Final[Expression] = literal_column("'10000-01-01'")


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeHours:
    """Between these instants, as PostgreSQL reads them, the session's zone is whole hours off."""

    start: str
    end: str


def renders(type_: ValueType, oid: int) -> bool:
    """Tell whether the database renders a column of a type that it stores as ``oid``."""
    return type_ == "text" or oid in _RENDERED[type_]


def rendered(
    cell: Expression, type_: ValueType, oid: int, whole_hours: WholeHours | None
) -> Expression:
    """Return what prints as the text of a cell, before quotes and guard.

    Args:
        cell: as ``model.dialects.cell`` selects it.
        oid: the type that the database stores.
        whole_hours: when an offset can be completed with ``:00``; None: never.
    """
    if type_ == "boolean":
        return cast(cell, Text)
    if type_ == "timestamp":
        return _with_t(cell, _FIRST, _BEYOND, _printed_with_t(cell))
    if type_ == "timestamptz" and whole_hours is not None:
        start: Expression = literal_column(f"'{whole_hours.start}'")
        end: Expression = literal_column(f"'{whole_hours.end}'")
        return _with_t(cell, start, end, _printed_with_t(cell).op("||")(_NO_MINUTES))
    if type_ == "timestamptz":
        return _as_json(cell)
    if oid == _REAL:
        # Printed by other rules than double precision, which keeps the digits that it is given.
        return cast(cast(cell, Text), Double)
    return cell


def guarded(
    cell: Expression, type_: ValueType, oid: int, whole_hours: WholeHours | None
) -> Expression:
    """Return what prints as the text of a cell, made inert where a spreadsheet would run it.

    Numbers never are, nor is ``-infinity``; and JSON begins with nothing that runs. Arguments are
    those of :func:`rendered`.
    """
    text = rendered(cell, type_, oid, whole_hours)
    if type_ != "text":
        return text
    # Most text begins with a letter, and is done with the first comparison.
    runs = and_(func.ascii(text) <= _LAST_GUARDED, func.ascii(text).in_(_GUARDED))
    return case((runs, _APOSTROPHE.op("||")(text)), else_=text)


def _with_t(
    cell: Expression, start: Expression, end: Expression, quickly: Expression
) -> Expression:
    return case((and_(cell >= start, cell < end), quickly), else_=_as_json(cell))


def _printed_with_t(cell: Expression) -> Expression:
    return func.replace(cast(cell, Text), _BLANK, _T)


def _as_json(cell: Expression) -> Expression:
    """ISO 8601 with a T and a whole offset for every moment; costs twice as much."""
    return func.btrim(cast(func.pg_catalog.to_json(cell), Text), _QUOTE)
