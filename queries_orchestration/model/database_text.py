"""The text of docs/formats.md, made by PostgreSQL itself, in the session's time zone.

What the database renders costs this process nothing. Each expression prints as the very text that
``exports.text_form`` gives for the value, or is NULL.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from sqlalchemy import Double, Text, and_, case, cast, func, literal_column, not_

from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.dialects import Expression

RENDERED: Final[Mapping[ValueType, frozenset[int]]] = {
    "text": frozenset({25}),
    "integer": frozenset({20, 21, 23}),
    "decimal": frozenset({20, 21, 23, 1700}),
    "float": frozenset({700, 701}),
    "boolean": frozenset({16}),
    "date": frozenset({1082}),
    "timestamp": frozenset({1114}),
    "timestamptz": frozenset({1184}),
    "time": frozenset({1083}),
    "uuid": frozenset({2950}),
    "json": frozenset({25}),
    "bytes": frozenset({17}),
}
"""By type of the catalog, the types (OIDs) of a selected cell that the database renders.

A column may be of another type than the catalog says, such as text where it says numbers.
"""

RUN_BY_SPREADSHEETS: Final = "=+-@\t\r"
"""Text that starts with one of these is guarded."""

_REAL: Final = 700
_GUARDED: Final[list[Expression]] = [literal_column(str(ord(character))) for character in RUN_BY_SPREADSHEETS]
_NUMBER: Final[Expression] = literal_column(r"'^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$'")
_QUOTE: Final[Expression] = literal_column("'\"'")
_APOSTROPHE: Final[Expression] = literal_column("''''")
_BEFORE_ALL: Final[Expression] = literal_column("'-infinity'")
_GUARDED_BEFORE_ALL: Final[Expression] = literal_column("'''-infinity'")


def rendered(cell: Expression, type_: ValueType, oid: int) -> Expression:
    """Return what prints as the text of a cell, before quotes and guard.

    Args:
        cell: as ``model.dialects.cell`` selects it.
        oid: its type in the database, one of :data:`RENDERED`.
    """
    if type_ == "boolean":
        return cast(cell, Text)
    if type_ in ("timestamp", "timestamptz"):
        # As JSON it is ISO 8601 with a T and a whole offset; to_char would cost much more.
        return func.btrim(cast(func.to_json(cell), Text), _QUOTE)
    if oid == _REAL:
        # Printed by other rules than double precision, which keeps the digits that it is given.
        return cast(cast(cell, Text), Double)
    return cell


def guarded(cell: Expression, type_: ValueType, oid: int) -> Expression:
    """Return what prints as the text of a cell, made inert where a spreadsheet would run it.

    Numbers never are.
    """
    text = rendered(cell, type_, oid)
    starts = func.ascii(text).in_(_GUARDED)
    if type_ == "text":
        return case((starts, _APOSTROPHE.op("||")(text)), else_=text)
    if type_ == "json":
        runs = and_(starts, not_(text.op("~")(_NUMBER)))
        return case((runs, _APOSTROPHE.op("||")(text)), else_=text)
    if type_ in ("date", "timestamp", "timestamptz"):
        return case((cell == _BEFORE_ALL, _GUARDED_BEFORE_ALL), else_=cast(text, Text))
    return text
