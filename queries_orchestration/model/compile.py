"""From a query, as somebody may see it, with its values, to a SELECT that can be read in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlalchemy import FromClause, Select, TableClause, column, or_, select, table

from queries_orchestration.model import dialects
from queries_orchestration.model.access import WHO_READS, Access, Actor, access_of
from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.model.datasets import Dataset
from queries_orchestration.model.dialects import Expression
from queries_orchestration.model.errors import (
    FieldNotAvailable,
    InvalidRuntimeValue,
    SourceBroken,
)
from queries_orchestration.model.filters import VALUELESS, Filter
from queries_orchestration.model.keyset import Key, after
from queries_orchestration.model.queries import Query, QueryColumn
from queries_orchestration.model.values import UnfitValue, uuid_of, value

_SMALLEST_INTEGER, _LARGEST_INTEGER = -(2**63), 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CompiledQuery:
    """A query that can be read in pages.

    A selected row holds the result's columns, then hidden ones: the cursor. Cursor values are
    the database's own, exact, and go through JSON unharmed (SQLite blobs excepted).
    """

    dataset: str
    relation: TableClause
    columns: tuple[Column, ...]
    keys: tuple[Key, ...]
    statement: Select[Any]
    is_grouped: bool
    given: tuple[str, ...] = ()
    """What the query itself is asked with, for messages: no access rules."""

    @property
    def cells_selected(self) -> tuple[Expression, ...]:
        """The expressions of the result's columns, as the statement selects them."""
        return self._selected("c", len(self.columns))

    @property
    def cursor_selected(self) -> tuple[Expression, ...]:
        """The expressions of the cursor's values, as the statement selects them."""
        return self._selected("k", len(self.keys))

    def _selected(self, prefix: str, count: int) -> tuple[Expression, ...]:
        selected: Any = self.statement.selected_columns
        return tuple(selected[f"{prefix}{position}"].element for position in range(count))

    def selecting(self, cells: Sequence[Expression]) -> CompiledQuery:
        """Return the query with other expressions for the result's columns."""
        labelled = [cell.label(f"c{position}") for position, cell in enumerate(cells)]
        cursor = [key.label(f"k{position}") for position, key in enumerate(self.cursor_selected)]
        return replace(self, statement=self.statement.with_only_columns(*labelled, *cursor))

    def first_page(self, limit: int) -> Select[Any]:
        """Return the statement of the first ``limit`` rows."""
        return self.statement.limit(limit)

    def rest_after(self, cursor: Sequence[object]) -> Select[Any]:
        """Return the statement of all rows that come after the row of ``cursor``."""
        return self.statement.where(after(self.keys, cursor))

    def page_after(self, cursor: Sequence[object], limit: int) -> Select[Any]:
        """Return the statement of the ``limit`` rows that come after the row of ``cursor``."""
        return self.rest_after(cursor).limit(limit)

    def forbidden_nulls(self) -> Select[Any] | None:
        """Return a statement that finds a row without a sort value that the dataset promises.

        Paging rests on the promise, for the sake of indexes, and would leave such rows out.
        """
        promised = [key.expression.is_(None) for key in self.keys if not key.nullable]
        return self.statement.where(or_(*promised)).order_by(None).limit(1) if promised else None

    def cursor(self, row: Sequence[object]) -> tuple[object, ...]:
        """Return the cursor of a selected row."""
        return tuple(row[len(self.columns) :])

    def cells(self, row: Sequence[object]) -> tuple[object, ...]:
        """Return the result's cells of a selected row, each an exact value of its column's type.

        Raises:
            SourceBroken: the database holds something else than the type; names the column.
        """
        cells: list[object] = []
        for raw, column_ in zip(row, self.columns, strict=False):
            try:
                cells.append(value(raw, column_.type))
            except UnfitValue as error:
                raise SourceBroken(
                    f"The column {column_.label!r} of the dataset {self.dataset} holds something"
                    f" that is {error}. Correct the field's type in the dataset, or the data."
                ) from None
        return tuple(cells)


def check_access(query: Query, dataset: Dataset, actor: Actor) -> Access:
    """Return what the actor may see of the dataset, if that is all that the query uses of it.

    Raises:
        AccessLost: the actor may not open the dataset.
        FieldNotAvailable: the actor may not see a field that the query uses.
    """
    access = access_of(dataset, actor)
    for name in query.fields_used():
        if name not in access.fields:
            raise FieldNotAvailable(
                f"The field {name} of the dataset {dataset.name} is not available to {WHO_READS}."
                " Take it out of the query, or ask an administrator for it."
            )
    return access


def compile_query(
    query: Query, dataset: Dataset, actor: Actor, values: Mapping[str, object]
) -> CompiledQuery:
    """Compile a query as the actor may see it now.

    The key of the dataset breaks ties even where the actor may not see it; it is never shown.

    Args:
        query: the query, read against this dataset.
        dataset: the dataset as it is now.
        actor: as whom the source is opened.
        values: the exact value of every parameter, of a list a tuple; a filter whose value is
            ``None`` is left out.

    Raises:
        AccessLost: the actor may not open the dataset.
        FieldNotAvailable: the actor may not see a field that the query uses.
        InvalidRuntimeValue: a value is missing, or no database can hold it.
    """
    access = check_access(query, dataset, actor)
    relation = table(
        dataset.relation,
        *(column(name) for name in {field.column: None for field in dataset.fields.values()}),
        schema=dataset.schema,
    )
    asked = [
        filter_
        for filter_ in query.filters
        if filter_.parameter is None or _value_of(filter_.parameter, values) is not None
    ]
    conditions = [
        *(_condition(filter_, relation, dataset, {}) for filter_ in access.row_filters),
        *(_condition(filter_, relation, dataset, values) for filter_ in asked),
    ]
    if query.is_grouped:
        selected, keys = _grouped(query, dataset, relation, conditions)
    else:
        selected, keys = _plain(query, dataset, relation, conditions)
    statement = selected.add_columns(
        *(
            dialects.cursor_value(key.expression).label(f"k{position}")
            for position, key in enumerate(keys)
        )
    ).order_by(*(key.order() for key in keys))
    return CompiledQuery(
        dataset=dataset.name,
        relation=relation,
        columns=tuple(column_.column() for column_ in query.columns),
        keys=keys,
        statement=statement,
        is_grouped=query.is_grouped,
        given=tuple(_named(filter_) for filter_ in asked if filter_.op not in VALUELESS),
    )


def _plain(
    query: Query, dataset: Dataset, relation: FromClause, conditions: Sequence[Expression]
) -> tuple[Select[Any], tuple[Key, ...]]:
    cells = (
        dialects.cell(_field(relation, dataset, column_.field or ""), column_.type).label(f"c{n}")
        for n, column_ in enumerate(query.columns)
    )
    keys: dict[tuple[str, bool], Key] = {}
    wanted = [(sort.field or "", sort.descending, False) for sort in query.sort]
    wanted += [(name, False, True) for name in dataset.key]
    for name, descending, breaks_ties in wanted:
        field = dataset.fields[name]
        expression = _field(relation, dataset, name)
        exact = breaks_ties or field.type != "decimal"
        if (name, exact) in keys:  # sorted by already; what follows cannot change the order
            continue
        keys[name, exact] = Key(
            name=name,
            expression=expression if exact else dialects.sortable(expression, field.type),
            nullable=field.nullable,
            descending=descending,
        )
    return select(*cells).select_from(relation).where(*conditions), tuple(keys.values())


def _grouped(
    query: Query, dataset: Dataset, relation: FromClause, conditions: Sequence[Expression]
) -> tuple[Select[Any], tuple[Key, ...]]:
    groups = [n for n, column_ in enumerate(query.columns) if column_.aggregate is None]
    # Materialized: every page groups the same way, so that a result cannot differ from page to
    # page by the order in which it was added up.
    result = (
        select(
            *(
                _result_expression(column_, dataset, relation).label(f"c{n}")
                for n, column_ in enumerate(query.columns)
            )
        )
        .select_from(relation)
        .where(*conditions)
        .group_by(*(_field(relation, dataset, query.columns[n].field or "") for n in groups))
        .cte("result")
        .prefix_with("MATERIALIZED")
    )
    # No index serves a result, so nothing is gained by promising that it has no NULL.
    keys = [
        Key(
            name=query.columns[n].label,
            expression=dialects.sortable(result.c[n], query.columns[n].type),
            nullable=True,
            descending=descending,
        )
        for n, descending in ((sort.column, sort.descending) for sort in query.sort)
        if n is not None
    ]
    keys += [
        Key(name=query.columns[n].label, expression=result.c[n], nullable=True, descending=False)
        for n in groups
    ]
    cells = (
        dialects.cell(result.c[n], column_.type).label(f"c{n}")
        for n, column_ in enumerate(query.columns)
    )
    return select(*cells).select_from(result), tuple(keys) if groups else ()


def _result_expression(column_: QueryColumn, dataset: Dataset, relation: FromClause) -> Expression:
    if column_.field is None:
        return dialects.aggregate("count", None, None)
    field = _field(relation, dataset, column_.field)
    if column_.aggregate is None:
        return field
    return dialects.aggregate(column_.aggregate, field, dataset.fields[column_.field].type)


def _field(relation: FromClause, dataset: Dataset, name: str) -> Expression:
    return relation.c[dataset.fields[name].column]


def _condition(
    filter_: Filter, relation: FromClause, dataset: Dataset, values: Mapping[str, object]
) -> Expression:
    field = dataset.fields[filter_.field]
    expression = _field(relation, dataset, filter_.field)
    if filter_.op == "is_null":
        return expression.is_(None)
    if filter_.op == "not_null":
        return expression.is_not(None)
    if filter_.parameter is None:
        given, named = filter_.constant, f"the filter on {filter_.field}"
    else:
        given, named = _value_of(filter_.parameter, values), f"the parameter {filter_.parameter}"
    if isinstance(given, tuple):
        listed = [_fitted(one, field.type, f"an element of {named}") for one in given]
        return dialects.among(expression, field.type, listed, negated=filter_.op == "not_in")
    fitted = _fitted(given, field.type, named)
    if filter_.op == "contains":
        return dialects.contains(expression, fitted)
    if filter_.op == "starts_with":
        return dialects.starts_with(expression, fitted)
    return dialects.comparison(expression, field.type, filter_.op, fitted)


def _named(filter_: Filter) -> str:
    if filter_.parameter is None:
        return f"the filter on {filter_.field}"
    return f"the parameter {filter_.parameter} (the filter on {filter_.field})"


def _value_of(parameter: str, values: Mapping[str, object]) -> object:
    if parameter not in values:
        raise InvalidRuntimeValue(f"The parameter {parameter} has no value. Give it one.")
    return values[parameter]


def _fitted(given: object, type_: ValueType, named: str) -> object:
    """Turn a value of a parameter's type into one of the field's, as far as databases hold it."""
    if isinstance(given, str):
        if not _is_storable(given):
            raise InvalidRuntimeValue(f"The text for {named} has a character no database can hold.")
        if type_ == "uuid":
            try:
                return uuid_of(given)
            except ValueError:
                raise InvalidRuntimeValue(f"The text for {named} is no UUID.") from None
    if type_ == "integer" and isinstance(given, int):
        if not _SMALLEST_INTEGER <= given <= _LARGEST_INTEGER:
            raise InvalidRuntimeValue(f"The number for {named} has more than 64 bits.")
    elif type_ == "decimal" and isinstance(given, int):
        return Decimal(given)
    elif type_ == "float" and isinstance(given, int | Decimal):
        return float(given)
    return given


def _is_storable(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
