"""What PostgreSQL and SQLite spell differently, and how values are bound and cursors kept.

PostgreSQL: every value is bound as text, and the database reads it as the type of the column it
meets. So an enum, a ``real`` or a domain compares as itself, and the text that the database
printed for a cursor comes back as exactly the value that it had: no driver rounds it. The integer
of a filter is read as a bigint, which every column of integers compares with, by its index too: a
smaller column has no row beyond its range, and is not broken. The decimal or float of a filter is
read as what it and its column have in common: beside integers it keeps its digits.

SQLite: sorts by what is stored; else a field is read as its type, as
:mod:`queries_orchestration.model.sqlite_values` tells.

A list of values is one bound text, however long it is: an array of PostgreSQL, JSON for SQLite.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    BindParameter,
    Boolean,
    ColumnElement,
    Dialect,
    Double,
    Numeric,
    String,
    Text,
    Time,
    TypeDecorator,
    Uuid,
    all_,
    and_,
    any_,
    bindparam,
    case,
    cast,
    collate,
    distinct,
    func,
    literal_column,
    true,
)
from sqlalchemy.dialects.postgresql import array as array_of
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeEngine

from queries_orchestration.model import sqlite_values
from queries_orchestration.model.columns import ValueType

COMPARISONS: Final = {
    "eq": operators.eq,
    "ne": operators.ne,
    "lt": operators.lt,
    "le": operators.le,
    "gt": operators.gt,
    "ge": operators.ge,
}

Expression = ColumnElement[Any]

_SMALLEST_BIGINT: Final = -(2**63)
_LARGEST_BIGINT: Final = 2**63 - 1
_READ_AS: Final[dict[ValueType, type[TypeEngine[Any]]]] = {
    "integer": BigInteger,
    "decimal": Numeric,
    "float": Numeric,
    "boolean": Boolean,
    "time": Time,
    "uuid": Uuid,
}
_IN_COMMON: Final = _READ_AS.keys() - {"integer"}


class ByDatabase(FunctionElement[Any]):
    """One meaning in two spellings: the first for PostgreSQL, the second for SQLite."""

    inherit_cache = True

    def __init__(self, postgresql: Expression, sqlite: Expression) -> None:
        super().__init__(postgresql, sqlite)


@compiles(ByDatabase, "postgresql")
def _postgresql(element: ByDatabase, compiler: SQLCompiler, **options: Any) -> str:
    postgresql, _ = element.clauses
    return f"({compiler.process(postgresql, **options)})"


@compiles(ByDatabase, "sqlite")
def _sqlite(element: ByDatabase, compiler: SQLCompiler, **options: Any) -> str:
    _, sqlite = element.clauses
    return f"({compiler.process(sqlite, **options)})"


class SourceValue(TypeDecorator[object]):
    """A bound value, in the form that the database at hand compares with."""

    impl = String
    cache_ok = True

    def process_bind_param(self, value: object, dialect: Dialect) -> object:
        """Turn an exact value of ours, or a cursor value, into what the driver binds."""
        if dialect.name == "postgresql":
            return _as_text(value)
        if isinstance(value, Decimal | date | datetime | time | UUID):
            return _as_text(value)
        return value


def bound(value: object) -> BindParameter[object]:
    """Make a bound parameter; values never become part of the statement's text."""
    return bindparam(None, value, type_=SourceValue())


@dataclass(frozen=True, slots=True)
class RawText:
    """Text of a cursor that SQLite keeps although it is no UTF-8, by its bytes."""

    content: object


def cursor_part(value: object) -> object:
    """Return one value of a cursor as it can be bound: no driver takes text that is no UTF-8."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            return RawText(value.encode("utf-8", "surrogateescape"))
    return value


def edge(value: object) -> Expression:
    """Bind one value of a cursor, to be compared with what it was selected from."""
    part = cursor_part(value)
    if not isinstance(part, RawText):
        return bound(part)
    # Without one of its own, as any bound value, it takes the column's.
    return sqlite_values.without_affinity(cast(bound(part.content), Text))


def comparable(expression: Expression) -> Expression:
    """Return what a bound value is compared with: a domain of PostgreSQL as what it is made of.

    No operator takes a domain over an enum. CASE has the type below the domain, and is folded
    before a plan is made: an index serves it as it serves the column.
    """
    return ByDatabase(case((true(), expression)), expression)


def comparison(field: Expression, type_: ValueType, op: str, value: object) -> Expression:
    """Compare a field of the dataset with an exact value of its type."""
    compare = COMPARISONS[op]
    column = comparable(field)
    text_, read_as = _read_as([value], type_)
    given: Expression = bound(text_[0])
    if read_as is not None:
        given = cast(given, read_as)
    if type_ in _IN_COMMON and read_as is not BigInteger:
        given = func.coalesce(given, column)
    return ByDatabase(
        _checked(compare(column, given), column, type_),
        sqlite_values.compared(compare, field, type_, bound(value)),
    )


def among(
    field: Expression, type_: ValueType, values: Sequence[object], *, negated: bool
) -> Expression:
    """Whether a field has one of some exact values of its type; ``negated``: none of them.

    NULL is neither, except that every row has none of no values.
    """
    column = comparable(field)
    texts, read_as = _read_as(values, type_)
    array: Expression = bound(_array(texts))
    if read_as is not None:
        array = cast(array, ARRAY(read_as))
    if type_ in _IN_COMMON and read_as is not BigInteger:
        array = func.coalesce(array, array_of([column]))
    is_among = column != all_(array) if negated else column == any_(array)
    return ByDatabase(
        _checked(is_among, column, type_),
        sqlite_values.listed(field, type_, values, bound, negated=negated),
    )


def _read_as(
    values: Sequence[object], type_: ValueType
) -> tuple[Sequence[object], type[TypeEngine[Any]] | None]:
    """Return values as PostgreSQL is given them, and the type as which it reads them.

    None is that of the column which they meet: a moment is in UTC, whatever the session's zone is
    that the file has asked for, and a column of wall times leaves the offset out.

    Fractions, booleans, times and UUIDs are given to COALESCE with the column, which makes of them
    what both have in common: a numeric beside integers, a ``real`` beside a ``real``, which 0.1 as
    a numeric would not equal, and no text beside one. The planner makes a constant of it, for which
    it can use an index. Whole numbers are bigints, since an index of integers finds no numeric.
    """
    match type_:
        case "decimal" | "float" if all(map(_is_bigint, values)):
            return [
                int(value) for value in values if isinstance(value, Decimal | float)
            ], BigInteger
        case "date" | "timestamp" | "timestamptz":
            return [_in_utc(value) for value in values], None
    return values, _READ_AS.get(type_)


def _checked(condition: Expression, column: Expression, type_: ValueType) -> Expression:
    """Let a condition fail on a column of text that is called a date or a moment.

    It would compare spellings. No text is asked whether it is finite.
    """
    if type_ not in ("date", "timestamp", "timestamptz"):
        return condition
    return and_(condition, func.coalesce(func.isfinite(column), true()).is_not(None))


def _is_bigint(value: object) -> bool:
    return (
        isinstance(value, Decimal | float)
        and _SMALLEST_BIGINT <= value <= _LARGEST_BIGINT
        and value == int(value)
    )


def _in_utc(value: object) -> str:
    if not isinstance(value, datetime):
        return f"{value}T00:00:00+00:00"
    if value.tzinfo is None:
        value = value.replace(tzinfo=UTC)
    with suppress(OverflowError):  # at the ends of the calendar
        value = value.astimezone(UTC)
    return value.isoformat()


def contains(field: Expression, part: object) -> Expression:
    """Whether a text has ``part`` in it, letter for letter, in any collation."""
    return ByDatabase(
        func.strpos(_plain_text(field), bound(part)) > literal_column("0"),
        sqlite_values.of_text(
            field, lambda read: func.instr(read, bound(part)) > literal_column("0")
        ),
    )


def starts_with(field: Expression, start: object) -> Expression:
    """Whether a text begins with ``start``, letter for letter, in any collation."""
    length = func.length(bound(start))
    return ByDatabase(
        func.starts_with(_plain_text(field), bound(start)),
        sqlite_values.of_text(
            field, lambda read: func.substr(read, literal_column("1"), length) == bound(start)
        ),
    )


def sortable(expression: Expression, type_: ValueType) -> Expression:
    """Return what a field is sorted by: SQLite may store decimals as text, which is no number.

    Not for a tie-breaker: decimals beyond a double's digits would become equal.
    """
    if type_ != "decimal":
        return expression
    return ByDatabase(expression, cast(expression, Numeric))


def cursor_value(expression: Expression) -> Expression:
    """Return what is kept of a sort value to go on after it: exact, and JSON can hold it."""
    return ByDatabase(cast(expression, Text), expression)


def cell(expression: Expression, type_: ValueType) -> Expression:
    """Return what is selected for a cell: text as the database prints it, the rest typed."""
    if type_ not in ("text", "json"):
        return expression
    return ByDatabase(cast(expression, Text), expression)


def stored(selected: Expression) -> Expression:
    """Return what a selected :func:`cell` is made of: what the database stores, in its own type."""
    return tuple(selected.clauses)[1] if isinstance(selected, ByDatabase) else selected


def aggregate(name: str, field: Expression | None, type_: ValueType | None) -> Expression:
    """Return an aggregate that gives the same value each time, whatever order rows come in.

    Args:
        name: one of the aggregates of a query.
        field: the field, or ``None`` to count rows.
        type_: the field's type.
    """
    if field is None:
        return func.count()
    if name == "count":
        return func.count(field)
    if type_ is None:
        raise TypeError("a field has a type")
    function = getattr(func, {"count_distinct": "count"}.get(name, name))
    if name == "count_distinct":
        postgresql = function(distinct(field))
    elif name in ("min", "max"):
        postgresql = function(comparable(field))
    elif type_ == "float":
        # The sum of floats depends on their order, which a plan may change from page to page.
        postgresql = cast(function(cast(cast(field, Text), Numeric)), Double)
    else:
        postgresql = function(field)
    return ByDatabase(postgresql, sqlite_values.aggregate(name, field, type_))


def _plain_text(field: Expression) -> Expression:
    # Searching inside a text fails in a nondeterministic collation, and an enum is no text.
    return collate(cast(field, Text), "C")


def _array(values: Sequence[object]) -> str:
    """Write an array as PostgreSQL reads it; of which type, the field tells that it meets."""
    texts = (str(_as_text(value)) for value in values)
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def _as_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return str(value)
