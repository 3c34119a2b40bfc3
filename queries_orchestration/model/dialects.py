"""What PostgreSQL and SQLite spell differently, and how values are bound and cursors kept.

PostgreSQL: every value is bound as text, and the database reads it as the type of the column it
meets. So an enum, a ``real`` or a domain compares as itself, and the text that the database
printed for a cursor comes back as exactly the value that it had: no driver rounds it. The integer
of a filter is read as a bigint, which every column of integers compares with, by its index too: a
smaller column has no row beyond its range, and is not broken.

SQLite: values are compared as they are stored. Where one value has many stored forms (decimals,
moments, UUIDs) a filter asks functions of ours, which
:mod:`queries_orchestration.exports.sources` registers.

A list of values is one bound text, however long it is: an array of PostgreSQL, JSON for SQLite.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    BigInteger,
    BindParameter,
    ColumnElement,
    Dialect,
    Double,
    Numeric,
    Select,
    String,
    Text,
    TypeDecorator,
    UnaryExpression,
    all_,
    any_,
    bindparam,
    case,
    cast,
    collate,
    distinct,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql import operators
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.values import one_form

SQLITE_COMPARE: Final = "queries_compare"
SQLITE_ONE_FORM: Final = "queries_one_form"
SQLITE_SUM: Final = "queries_sum"
SQLITE_AVERAGE: Final = "queries_average"

COMPARISONS: Final = {
    "eq": operators.eq,
    "ne": operators.ne,
    "lt": operators.lt,
    "le": operators.le,
    "gt": operators.gt,
    "ge": operators.ge,
}

Expression = ColumnElement[Any]

_MANY_FORMS: Final = frozenset({"decimal", "date", "timestamp", "timestamptz", "time", "uuid"})


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
    # With a plus it has no affinity of its own, as any bound value, and takes the column's.
    return UnaryExpression(cast(bound(part.content), Text), operator=operators.custom_op("+"))


def comparable(expression: Expression) -> Expression:
    """Return what a bound value is compared with: a domain of PostgreSQL as what it is made of.

    No operator takes a domain over an enum. CASE has the type below the domain, and is folded
    before a plan is made: an index serves it as it serves the column.
    """
    return ByDatabase(case((true(), expression)), expression)


def comparison(field: Expression, type_: ValueType, op: str, value: object) -> Expression:
    """Compare a field of the dataset with an exact value of its type."""
    field = comparable(field)
    native = COMPARISONS[op](field, bound(value))
    if type_ == "integer":
        return ByDatabase(COMPARISONS[op](field, cast(bound(value), BigInteger)), native)
    if type_ not in _MANY_FORMS:
        return native
    sign = getattr(func, SQLITE_COMPARE)(field, literal_column(f"'{type_}'"), bound(value))
    return ByDatabase(native, COMPARISONS[op](sign, literal_column("0")))


def among(
    field: Expression, type_: ValueType, values: Sequence[object], *, negated: bool
) -> Expression:
    """Whether a field has one of some exact values of its type; ``negated``: none of them.

    NULL is neither, except that every row has none of no values.
    """
    field = comparable(field)
    array: Expression = bound(_array(values))
    if type_ == "integer":
        array = cast(array, ARRAY(BigInteger))
    listed = bound(_json(type_, values))
    # With a plus it has no affinity of its own, as any bound value, and takes the column's.
    elements: Select[Any] = select(literal_column("+value")).select_from(
        func.json_each(listed).table_valued("value")
    )
    stored = field
    if type_ in _MANY_FORMS or type_ == "float":  # JSON may not keep every digit of a float
        stored = getattr(func, SQLITE_ONE_FORM)(field, literal_column(f"'{type_}'"))
    if negated:
        return ByDatabase(field != all_(array), stored.not_in(elements))
    return ByDatabase(field == any_(array), stored.in_(elements))


def contains(field: Expression, part: object) -> Expression:
    """Whether a text has ``part`` in it, letter for letter, in any collation."""
    return ByDatabase(
        func.strpos(_plain_text(field), bound(part)) > literal_column("0"),
        func.instr(field, bound(part)) > literal_column("0"),
    )


def starts_with(field: Expression, start: object) -> Expression:
    """Whether a text begins with ``start``, letter for letter, in any collation."""
    return ByDatabase(
        func.starts_with(_plain_text(field), bound(start)),
        func.substr(field, literal_column("1"), func.length(bound(start))) == bound(start),
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
    if name == "count_distinct":
        return func.count(distinct(field))
    if name in ("min", "max"):
        function = getattr(func, name)
        if type_ == "decimal":
            return ByDatabase(function(field), function(cast(field, Numeric)))
        return ByDatabase(function(comparable(field)), function(field))
    if type_ == "float":
        # The sum of floats depends on their order, which a plan may change from page to page.
        digits = cast(cast(field, Text), Numeric)
        function = func.sum if name == "sum" else func.avg
        return ByDatabase(cast(function(digits), Double), function(field))
    if name == "avg":
        return ByDatabase(func.avg(field), getattr(func, SQLITE_AVERAGE)(field))
    exact = getattr(func, SQLITE_SUM)(field) if type_ == "decimal" else func.sum(field)
    return ByDatabase(func.sum(field), exact)


def _plain_text(field: Expression) -> Expression:
    # Searching inside a text fails in a nondeterministic collation, and an enum is no text.
    return collate(cast(field, Text), "C")


def _array(values: Sequence[object]) -> str:
    """Write an array as PostgreSQL reads it; of which type, the field tells that it meets."""
    texts = (str(_as_text(value)) for value in values)
    quoted = (text.replace("\\", "\\\\").replace('"', '\\"') for text in texts)
    return "{" + ",".join(f'"{text}"' for text in quoted) + "}"


def _json(type_: ValueType, values: Sequence[object]) -> str:
    """Write values as JSON, each in the form in which SQLite has it beside :func:`among`."""
    if type_ in ("text", "integer", "boolean"):
        return json.dumps(list(values), ensure_ascii=False)
    return json.dumps([one_form(value, type_) for value in values])


def _as_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    return str(value)
