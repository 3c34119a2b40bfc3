"""A structured query: columns, filters, sort and parameters over one dataset.

With any aggregate among the columns, the plain fields are the groups. Two columns may have one
label; inside, columns are told apart by their position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from queries_orchestration.model.columns import Column, ValueType
from queries_orchestration.model.datasets import Dataset
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.fields import MEASURED, NUMBERS, SORTABLE, Field
from queries_orchestration.model.filters import Filter, parse_filter
from queries_orchestration.model.parts import Part
from queries_orchestration.model.runtime_values import Parameter, parse_parameter

AGGREGATES: Final[dict[str, frozenset[str] | None]] = {
    "count": None,
    "count_distinct": SORTABLE,
    "sum": NUMBERS,
    "avg": NUMBERS,
    "min": MEASURED,
    "max": MEASURED,
}
"""Each aggregate with the types of field that it fits; ``count`` takes any field, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryColumn:
    """A column of the result: a field, or an aggregate of one; a bare ``count`` has no field."""

    label: str
    field: str | None
    aggregate: str | None
    type: ValueType

    def column(self) -> Column:
        """Return what the writers see of it."""
        return Column(self.label, self.type)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sort:
    """A part of the order: by a field of the rows, or by a column of a grouped result."""

    field: str | None
    column: int | None
    descending: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query that :func:`queries_orchestration.model.compile.compile_query` can compile."""

    dataset: str
    columns: tuple[QueryColumn, ...]
    filters: tuple[Filter, ...]
    sort: tuple[Sort, ...]
    parameters: tuple[Parameter, ...]

    @property
    def is_grouped(self) -> bool:
        """Whether rows are grouped: a column is an aggregate."""
        return any(column.aggregate for column in self.columns)

    def fields_used(self) -> tuple[str, ...]:
        """Return every field that the result, the filters or the order depend on."""
        used = [column.field for column in self.columns]
        used += [filter_.field for filter_ in self.filters]
        used += [sort.field for sort in self.sort]
        return tuple(dict.fromkeys(name for name in used if name is not None))


def parse_query(mapping: Mapping[str, object], dataset: Dataset) -> Query:
    """Read a query's definition out of the catalog, against its dataset.

    Raises:
        InvalidQuery: the definition is wrong; the message names the piece.
    """
    pieces = Part(mapping).mapping(
        required=["dataset", "fields"], optional=["filters", "sort", "parameters"]
    )
    pieces["dataset"].choice([dataset.name])
    parameters = parse_parameters(pieces.get("parameters"))
    columns = tuple(_parse_column(item, dataset) for item in pieces["fields"].items())
    query = Query(
        dataset=dataset.name,
        columns=columns,
        filters=tuple(
            parse_filter(item, dataset.fields, parameters) for item in _items(pieces.get("filters"))
        ),
        sort=(),
        parameters=tuple(parameters.values()),
    )
    if query.is_grouped:
        for item, column in zip(pieces["fields"].items(), columns, strict=True):
            if column.aggregate is None and column.type not in SORTABLE:
                raise item.refuse(f"a {column.type} field cannot be a group")
    return replace(
        query, sort=tuple(_parse_sort(item, query, dataset) for item in _items(pieces.get("sort")))
    )


def _items(part: Part | None) -> Sequence[Part]:
    return part.items() if part is not None and part.value != [] else ()


def parse_parameters(part: Part | None) -> dict[str, Parameter]:
    """Read the parameters of a query or report, by name; None for none.

    Raises:
        InvalidQuery: the definition is wrong; the message names the piece.
    """
    parameters: dict[str, Parameter] = {}
    for item in _items(part):
        if not isinstance(item.value, Mapping):
            raise item.refuse("must be a mapping")
        try:
            parameter = parse_parameter(item.value)
        except Refused as error:
            raise item.refuse(error.message) from error
        if parameter.name in parameters:
            raise item.refuse(f"there are two parameters {parameter.name}")
        parameters[parameter.name] = parameter
    return parameters


def _parse_column(part: Part, dataset: Dataset) -> QueryColumn:
    pieces = part.mapping(optional=["field", "aggregate", "label"])
    field = dataset.fields[pieces["field"].choice(dataset.fields)] if "field" in pieces else None
    if "aggregate" not in pieces:
        if field is None:
            raise part.refuse("must name a field or an aggregate")
        label = pieces["label"].text() if "label" in pieces else field.label
        return QueryColumn(label=label, field=field.name, aggregate=None, type=field.type)
    aggregate = pieces["aggregate"].choice(AGGREGATES)
    fitting = AGGREGATES[aggregate]
    if field is None and fitting is not None:
        raise part.refuse(f"{aggregate} needs a field")
    if field is not None and fitting is not None and field.type not in fitting:
        raise pieces["aggregate"].refuse(
            f"{aggregate} does not fit the field {field.name}, a {field.type}"
        )
    if "label" not in pieces:
        raise part.refuse("'label' is missing; an aggregate needs one")
    return QueryColumn(
        label=pieces["label"].text(),
        field=field.name if field is not None else None,
        aggregate=aggregate,
        type=_aggregate_type(aggregate, field),
    )


def _aggregate_type(aggregate: str, field: Field | None) -> ValueType:
    if field is None or aggregate in ("count", "count_distinct"):
        return "integer"
    if aggregate == "avg" and field.type == "integer":
        return "decimal"
    return field.type


def _parse_sort(part: Part, query: Query, dataset: Dataset) -> Sort:
    pieces = part.mapping(optional=["field", "label", "direction"])
    if ("field" in pieces) == ("label" in pieces):
        raise part.refuse("must name either a field or the label of a column")
    descending = "direction" in pieces and pieces["direction"].choice(("asc", "desc")) == "desc"
    if "label" in pieces:
        named = pieces["label"]
        found = [n for n, column in enumerate(query.columns) if column.label == named.value]
        if len(found) > 1:
            raise named.refuse(f"{len(found)} columns have the label {named.value!r}")
    else:
        named = pieces["field"]
        name = named.choice(dataset.fields)
        if dataset.fields[name].type not in SORTABLE:
            raise named.refuse(f"a {dataset.fields[name].type} field cannot be sorted")
        if not query.is_grouped:
            return Sort(field=name, column=None, descending=descending)
        found = [
            n
            for n, column in enumerate(query.columns)
            if column.field == name and not column.aggregate
        ]
    if not found:
        raise named.refuse(f"{named.value!r} is no column of the result")
    if query.is_grouped:
        return Sort(field=None, column=found[0], descending=descending)
    column = query.columns[found[0]]
    if column.type not in SORTABLE:
        raise named.refuse(f"a {column.type} column cannot be sorted")
    return Sort(field=column.field, column=None, descending=descending)
