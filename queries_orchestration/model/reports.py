"""A report: a titled document of texts, tables, charts and numbers over saved queries.

A section shows one query. It gives the query's parameters exact values of its own, or those of
the report's parameters: ``{parameter: name}``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast, get_args

from queries_orchestration.model.columns import VALUE_TYPES
from queries_orchestration.model.fields import NUMBERS
from queries_orchestration.model.parts import Part
from queries_orchestration.model.queries import Query, parse_parameters
from queries_orchestration.model.report_values import (
    SectionValues,
    check_required,
    parse_section_values,
)
from queries_orchestration.model.runtime_values import Parameter
from queries_orchestration.model.titles import LONGEST_TITLE, is_one_line

ChartKind = Literal["line", "bar", "stacked"]
CHARTS: Final[tuple[str, ...]] = get_args(ChartKind)
SHOWN: Final = ("table", *CHARTS, "number", "comparison")
MOST_SECTIONS: Final = 50
LONGEST_TEXT: Final = 20_000
MOST_DECIMALS: Final = 10

_PLOTTED: Final = frozenset(VALUE_TYPES) - {"json", "bytes"}
_ADDITIVE: Final = frozenset({"sum", "count"})
_REQUIRED: Final = ("show", "title", "query")
_OPTIONAL: Final = ("values", "decimals")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSection:
    """A text in Markdown; without a title it stands where it is, in no list of contents."""

    title: str | None
    markdown: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableView:
    """Some columns of the result by position; ``totals`` are those that are summed up."""

    columns: tuple[int, ...]
    totals: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartView:
    """``y`` over ``x``, columns by position; ``by`` makes of the one ``y`` a series a value."""

    kind: ChartKind
    x: int
    y: tuple[int, ...]
    by: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberView:
    """One value of the first row."""

    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonView:
    """One value of the first row beside that of the previous period.

    ``previous`` are the values by which the query names the previous period; the others stay.
    """

    value: int
    previous: SectionValues


View: TypeAlias = TableView | ChartView | NumberView | ComparisonView


@dataclass(frozen=True, slots=True, kw_only=True)
class QuerySection:
    """A query's result and how it is shown; ``decimals`` is how many digits are printed at most."""

    title: str
    query: str
    values: SectionValues
    decimals: int | None
    view: View


Section: TypeAlias = TextSection | QuerySection


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One version of a report; its title is its source's."""

    parameters: tuple[Parameter, ...]
    sections: tuple[Section, ...]


def queries_named(definition: Mapping[str, object]) -> frozenset[str]:
    """Return the names of the queries that a definition shows; one with faults may name none."""
    sections = definition.get("sections")
    return frozenset(
        section["query"]
        for section in (sections if isinstance(sections, list | tuple) else ())
        if isinstance(section, Mapping) and isinstance(section.get("query"), str)
    )


def parse_report(mapping: Mapping[str, object], queries: Mapping[str, Query]) -> Report:
    """Read a report's definition out of the catalog, against the queries that it shows.

    Args:
        mapping: ``sections`` and, if there are any, ``parameters``.
        queries: by name, in the versions that the report shows.

    Raises:
        InvalidQuery: the definition is wrong; the message names the piece.
    """
    pieces = Part(mapping).mapping(required=["sections"], optional=["parameters"])
    parameters = parse_parameters(pieces.get("parameters"))
    items = pieces["sections"].items()
    if len(items) > MOST_SECTIONS:
        raise pieces["sections"].refuse(f"are {len(items)}; {MOST_SECTIONS} is the most")
    return Report(
        parameters=tuple(parameters.values()),
        sections=tuple(_parse_section(item, queries, parameters) for item in items),
    )


def _parse_section(
    part: Part, queries: Mapping[str, Query], parameters: Mapping[str, Parameter]
) -> Section:
    if isinstance(part.value, Mapping) and "text" in part.value:
        pieces = part.mapping(required=["text"], optional=["title"])
        return TextSection(
            title=_title(pieces["title"]) if "title" in pieces else None,
            markdown=_bounded(pieces["text"], LONGEST_TEXT),
        )
    shown = _shown(part)
    keys = {
        "table": ([], ["columns", "totals"]),
        "number": (["value"], []),
        "comparison": (["value", "previous"], []),
    }
    required, optional = keys.get(shown, (["x", "y"], ["by"]))
    pieces = part.mapping(required=[*_REQUIRED, *required], optional=[*_OPTIONAL, *optional])
    name = pieces["query"].choice(queries)
    query = queries[name]
    values = parse_section_values(pieces.get("values"), query.parameters, parameters)
    check_required(part, values, query.parameters, parameters)
    view = _parse_view(shown, pieces, query, parameters)
    if isinstance(view, ComparisonView):
        both = {**values, **view.previous}
        check_required(pieces["previous"], both, query.parameters, parameters)
    return QuerySection(
        title=_title(pieces["title"]),
        query=name,
        values=values,
        decimals=_decimals(pieces.get("decimals")),
        view=view,
    )


def _shown(part: Part) -> str:
    if isinstance(part.value, Mapping) and "show" in part.value:
        return Part(part.value["show"], f"{part.path}.show").choice(SHOWN)
    raise part.refuse(f"must have either a text, or a query and show, one of {', '.join(SHOWN)}")


def _parse_view(
    shown: str, pieces: Mapping[str, Part], query: Query, parameters: Mapping[str, Parameter]
) -> View:
    if shown == "table":
        return _parse_table(pieces, query)
    if shown == "number":
        return NumberView(value=_column(pieces["value"], query))
    if shown == "comparison":
        previous = parse_section_values(pieces["previous"], query.parameters, parameters)
        if not previous:
            raise pieces["previous"].refuse("must give a value that names the previous period")
        value = _number_column(pieces["value"], query)
        return ComparisonView(value=value, previous=previous)
    return _parse_chart(cast(ChartKind, shown), pieces, query)


def _parse_table(pieces: Mapping[str, Part], query: Query) -> TableView:
    columns = tuple(range(len(query.columns)))
    if "columns" in pieces:
        columns = tuple(_column(item, query) for item in pieces["columns"].items())
        _check_once(pieces["columns"], columns)
    totals: list[int] = []
    for item in pieces["totals"].items() if "totals" in pieces else ():
        total = _number_column(item, query)
        if total not in columns:
            raise item.refuse(f"{item.value!r} is not among the columns of the table")
        totals.append(total)
    _check_once(pieces.get("totals"), totals)
    return TableView(columns=columns, totals=tuple(totals))


def _parse_chart(kind: ChartKind, pieces: Mapping[str, Part], query: Query) -> ChartView:
    x = _column(pieces["x"], query)
    if query.columns[x].type not in _PLOTTED:
        raise pieces["x"].refuse(f"a {query.columns[x].type} column cannot be the x of a chart")
    listed = pieces["y"].items() if isinstance(pieces["y"].value, list) else [pieces["y"]]
    y = tuple(_number_column(item, query) for item in listed)
    _check_once(pieces["y"], y)
    if x in y:
        raise pieces["y"].refuse("names the column that is the x already")
    by = _column(pieces["by"], query) if "by" in pieces else None
    if by is not None:
        if query.columns[by].type not in _PLOTTED:
            raise pieces["by"].refuse(f"a {query.columns[by].type} column cannot name series")
        if len(y) > 1:
            raise pieces["by"].refuse("makes the series of one y; there are more")
        if by in (x, *y):
            raise pieces["by"].refuse("is the x or the y already")
        _check_additive(pieces["y"], query, y[0], {x, by})
    return ChartView(kind=kind, x=x, y=y, by=by)


def _check_additive(part: Part, query: Query, y: int, shown: set[int]) -> None:
    """Refuse a y that no sum makes sense of where rows of one x and series are added up."""
    aggregate = query.columns[y].aggregate
    groups = {n for n, column in enumerate(query.columns) if column.aggregate is None}
    if query.is_grouped and aggregate not in _ADDITIVE and not groups <= shown:
        others = ", ".join(query.columns[n].label for n in sorted(groups - shown))
        raise part.refuse(
            f"{query.columns[y].label!r} is an {aggregate}, and the chart would add it up over"
            f" {others}: show a query that groups by x and by alone"
        )


def _column(part: Part, query: Query) -> int:
    """Return the position of the column of that label."""
    found = [n for n, column in enumerate(query.columns) if column.label == part.value]
    if len(found) > 1:
        raise part.refuse(f"{len(found)} columns of the query have the label {part.value!r}")
    if not found:
        labels = ", ".join(column.label for column in query.columns)
        raise part.refuse(f"{part.value!r} is no column of the query; it has {labels}")
    return found[0]


def _check_once(part: Part | None, columns: Sequence[int]) -> None:
    if part is not None and len(set(columns)) < len(columns):
        raise part.refuse("names a column twice")


def _number_column(part: Part, query: Query) -> int:
    found = _column(part, query)
    if query.columns[found].type not in NUMBERS:
        raise part.refuse(f"{part.value!r} is a {query.columns[found].type} column, not a number")
    return found


def _title(part: Part) -> str:
    title = _bounded(part, LONGEST_TITLE).strip()
    if not is_one_line(title):
        raise part.refuse("must be one line without control characters")
    return title


def _bounded(part: Part, longest: int) -> str:
    text = part.text()
    if len(text) > longest:
        raise part.refuse(f"has {len(text)} characters; {longest} is the most")
    return text


def _decimals(part: Part | None) -> int | None:
    if part is None:
        return None
    if type(part.value) is not int or not 0 <= part.value <= MOST_DECIMALS:
        raise part.refuse(f"must be a whole number from 0 to {MOST_DECIMALS}")
    return part.value
