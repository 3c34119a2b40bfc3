"""How SQLite reads a field strictly as its type, although any column of it may hold anything.

What is stored as its type is stored is compared and added up by SQLite itself, in its column's
collation. All else, and the types of which one value has many stored forms (decimals, moments,
UUIDs), is read by functions of :mod:`queries_orchestration.model.values`, which fail on what is no
value of the type. :mod:`queries_orchestration.exports.sqlite_functions` registers them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from sqlalchemy import (
    ColumnElement,
    Select,
    UnaryExpression,
    and_,
    case,
    distinct,
    func,
    literal_column,
    or_,
    select,
)
from sqlalchemy.sql import operators

from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.values import one_form

SQLITE_VALUE: Final = "queries_value"
SQLITE_COMPARE: Final = "queries_compare"
SQLITE_ONE_FORM: Final = "queries_one_form"
SQLITE_WHOLE: Final = "queries_whole"
SQLITE_SUM: Final = "queries_sum"
SQLITE_AVERAGE: Final = "queries_average"
SQLITE_LEAST: Final = "queries_least"
SQLITE_GREATEST: Final = "queries_greatest"

Expression = ColumnElement[Any]

_ZERO: Final[Expression] = literal_column("0")
_RARE: Final[Expression] = literal_column("0.0001")
_EXACT_IN_REAL: Final = 2**53
_STORED_AS: Final[dict[ValueType, str]] = {
    "integer": "integer",
    "boolean": "integer",
    "float": "real",
    "text": "text",
}
"""The types that SQLite has itself, or that are some of its integers."""


def compared(
    compare: Callable[[Any, Any], Expression],
    field: Expression,
    type_: ValueType,
    bound: Expression,
) -> Expression:
    """Compare a field with a bound value of its type."""
    if type_ == "text" and compare not in (operators.eq, operators.ne):
        # An affinity of numbers would order texts by what they count.
        field = without_affinity(field)
    if type_ in _STORED_AS:
        return _holds(field, type_, lambda read: compare(read, bound))
    return compare(_call(SQLITE_COMPARE, field, _named(type_), bound), _ZERO)


def listed(
    field: Expression,
    type_: ValueType,
    values: Sequence[object],
    bound: Callable[[object], Expression],
    *,
    negated: bool,
) -> Expression:
    """Whether a field has one of some values of its type; ``negated``: none of them."""
    if type_ == "integer" and any(abs(cast(int, value)) > _EXACT_IN_REAL for value in values):
        field = without_affinity(field)  # which may be that of REAL
    # With a plus it has no affinity of its own, as any bound value, and takes the column's.
    elements: Select[Any] = select(literal_column("+value")).select_from(
        func.json_each(bound(_json(type_, values))).table_valued("value")
    )

    def is_listed(read: Expression) -> Expression:
        return read.not_in(elements) if negated else read.in_(elements)

    if type_ in _STORED_AS and type_ != "float":  # JSON may not keep every digit of a float
        return _holds(field, type_, is_listed)
    return is_listed(_one_form(field, type_))


def of_text(field: Expression, asked: Callable[[Expression], Expression]) -> Expression:
    """Whether what is asked holds of the text that a field has."""
    return _holds(field, "text", asked)


def aggregate(name: str, field: Expression, type_: ValueType) -> Expression:
    """Return an aggregate of the values of a field: as :func:`dialects.aggregate`, but ``count``.

    Texts are ordered and told apart by their column's collation, which no function knows.
    """
    if name == "count_distinct":
        if type_ in ("text", "bytes"):
            return func.count(distinct(field))
        read = _value if type_ in _STORED_AS else _one_form
        return func.count(distinct(read(field, type_)))
    if name in ("min", "max"):
        if type_ in _STORED_AS:
            return _call(name, field if type_ == "text" else _value(field, type_))
        extreme = SQLITE_LEAST if name == "min" else SQLITE_GREATEST
        return _call(extreme, field, _named(type_))
    if type_ == "decimal" or (type_, name) == ("integer", "avg"):
        exact = SQLITE_SUM if name == "sum" else SQLITE_AVERAGE
        return _call(exact, field, _named(type_))
    if type_ == "integer":
        # SQLite's own sum ends where 64 bits do; of halves, it holds two billion rows.
        whole = _value(field, type_)
        high = func.sum(whole.op(">>")(literal_column("32")))
        return _call(SQLITE_WHOLE, high, func.sum(whole.op("&")(literal_column("4294967295"))))
    return _call(name, _value(field, type_))


def without_affinity(field: Expression) -> Expression:
    """Return what is compared as it is stored, and is found by no index of its own."""
    return UnaryExpression(field, operator=operators.custom_op("+"))


def _holds(
    field: Expression, type_: ValueType, asked: Callable[[Expression], Expression]
) -> Expression:
    """Whether what is asked holds of the value of a field; an index can find where it does.

    SQLite orders numbers before texts before bytes, whatever they are compared with. So an index
    finds the strays, too, and is told that they are few.
    """
    read = _call(SQLITE_VALUE, field, _named(type_))
    strays = [field >= literal_column("''")]
    if type_ == "text":
        strays = [field < literal_column("''"), field >= literal_column("x''")]
    return or_(
        and_(asked(field), or_(_is_plain(field, type_), asked(read))),
        *(and_(func.likelihood(stray, _RARE), asked(read)) for stray in strays),
    )


def _value(field: Expression, type_: ValueType) -> Expression:
    """Return the value of a field, which a function reads only where it must."""
    read = _call(SQLITE_VALUE, field, _named(type_))
    return case((_is_plain(field, type_), field), else_=read)


def _is_plain(field: Expression, type_: ValueType) -> Expression:
    is_plain: Expression = func.typeof(field) == literal_column(f"'{_STORED_AS[type_]}'")
    if type_ == "boolean":
        is_plain = and_(is_plain, field.in_([_ZERO, literal_column("1")]))
    return is_plain


def _one_form(field: Expression, type_: ValueType) -> Expression:
    return _call(SQLITE_ONE_FORM, field, _named(type_))


def _call(name: str, *arguments: Expression) -> Expression:
    called: Expression = getattr(func, name)(*arguments)
    return called


def _named(type_: ValueType) -> Expression:
    return literal_column(f"'{type_}'")


def _json(type_: ValueType, values: Sequence[object]) -> str:
    """Write values as JSON, each in the form in which SQLite has it beside :func:`listed`."""
    if type_ in ("text", "integer", "boolean"):
        return json.dumps(list(values), ensure_ascii=False)
    return json.dumps([one_form(value, type_) for value in values])
