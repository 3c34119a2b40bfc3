"""Reports as they are written in the catalog, and the values that they give to their queries."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import pytest

from queries_orchestration.model.errors import InvalidQuery
from queries_orchestration.model.queries import parse_query
from queries_orchestration.model.report_values import OfReport, given_values
from queries_orchestration.model.reports import (
    ChartView,
    ComparisonView,
    NumberView,
    QuerySection,
    Report,
    TableView,
    TextSection,
    View,
    parse_report,
    queries_named,
)
from queries_orchestration.model.runtime_values import resolve_values
from queries_orchestration_tests.model.definitions import a_dataset

TYPES = {"day": "date", "carrier": "text", "delay": "decimal", "load": "float", "extra": "json"}
FLIGHTS = a_dataset({"id": "integer", **TYPES})
SINCE = {"name": "since", "type": "date"}
UNTIL = {"name": "until", "type": "date", "required": False}
CARRIERS = {"name": "carriers", "type": "text", "list": True}
QUERIES = {
    name: parse_query(
        {
            "dataset": "things",
            "fields": [{"field": field} for field in fields],
            "parameters": parameters,
        },
        FLIGHTS,
    )
    for name, fields, parameters in (
        ("flights", TYPES, []),
        ("period", TYPES, [SINCE, UNTIL]),
        ("of", TYPES, [CARRIERS]),
        ("twice", ["delay", "delay", "day"], []),
    )
} | {
    "grouped": parse_query(
        {
            "dataset": "things",
            "fields": [
                {"field": "day"},
                {"field": "carrier"},
                {"field": "load"},
                {"aggregate": "avg", "field": "delay", "label": "mean"},
                {"aggregate": "sum", "field": "delay", "label": "sum"},
                {"aggregate": "count", "label": "count"},
            ],
        },
        FLIGHTS,
    )
}
DAY1 = {"name": "day1", "type": "date"}
FREE = {"name": "free", "type": "date", "required": False}
WORD = {"name": "word", "type": "text"}

TABLE = {"show": "table", "title": "Late", "query": "flights"}
BAR = {"show": "bar", "title": "By airline", "query": "flights", "x": "carrier", "y": "delay"}
NUMBER = {"show": "number", "title": "Latest", "query": "flights", "value": "day"}
COMPARISON = {
    "show": "comparison",
    "title": "Then and now",
    "query": "period",
    "values": {"since": "2027-01-01"},
    "previous": {"since": "2026-12-01", "until": {"parameter": "day1"}},
    "value": "delay",
}


def parsed(*sections: Any, parameters: Any = (DAY1, FREE, WORD)) -> Report:
    definition = {"sections": list(sections), "parameters": list(parameters)}
    return parse_report(definition, QUERIES)


def view_of(section: Mapping[str, Any]) -> View:
    (only,) = parsed(section).sections
    assert isinstance(only, QuerySection)
    return only.view


def refusal_of(*sections: Any, **rest: Any) -> str:
    with pytest.raises(InvalidQuery) as refusal:
        parsed(*sections, **rest)
    return refusal.value.message


def test_sections_keep_their_order_and_text_may_lack_a_title() -> None:
    report = parsed({"text": "*Late*"}, {"title": " Why ", "text": "so"}, TABLE)
    assert report.sections[:2] == (
        TextSection(title=None, markdown="*Late*"),
        TextSection(title="Why", markdown="so"),
    )
    assert report.sections[2] == QuerySection(
        title="Late",
        query="flights",
        values={},
        decimals=None,
        view=TableView(columns=(0, 1, 2, 3, 4), totals=()),
    )
    assert [parameter.name for parameter in report.parameters] == ["day1", "free", "word"]


def test_each_view_names_columns_by_their_positions() -> None:
    assert view_of(TABLE | {"columns": ["load", "delay"], "totals": ["delay"]}) == TableView(
        columns=(3, 2), totals=(2,)
    )
    assert view_of(BAR) == ChartView(kind="bar", x=1, y=(2,), by=None)
    lines = BAR | {"show": "line", "x": "day", "y": ["load", "delay"]}
    assert view_of(lines) == ChartView(kind="line", x=0, y=(3, 2), by=None)
    stacked = BAR | {"show": "stacked", "x": "day", "by": "carrier"}
    assert view_of(stacked) == ChartView(kind="stacked", x=0, y=(2,), by=1)
    assert view_of(NUMBER) == NumberView(value=0)
    assert view_of(COMPARISON) == ComparisonView(
        value=2, previous={"since": "2026-12-01", "until": OfReport("day1")}
    )


def test_a_column_whose_label_another_has_can_be_shown_with_all_but_not_named() -> None:
    assert view_of(TABLE | {"query": "twice"}) == TableView(columns=(0, 1, 2), totals=())
    message = refusal_of(TABLE | {"query": "twice", "columns": ["delay"]})
    assert message == "sections[0].columns[0]: 2 columns of the query have the label 'delay'"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ("text", "sections[0]: must have either a text, or a query and show, one of table, line,"),
        ({"query": "flights"}, "sections[0]: must have either a text, or a query and show"),
        ({"text": ""}, "sections[0].text: must be a text that is not empty"),
        ({"text": "a" * 20_001}, "sections[0].text: has 20001 characters; 20000 is the most"),
        ({"text": "a", "query": "flights"}, "sections[0]: unknown key 'query'"),
        ({"text": "a", "title": "b\nc"}, "sections[0].title: must be one line without control"),
        ({"text": "a", "title": "b" * 301}, "sections[0].title: has 301 characters; 300 is"),
        (
            TABLE | {"show": "pie"},
            "sections[0].show: 'pie' is not one of table, line, bar, stacked",
        ),
        (TABLE | {"show": ["bar"]}, "sections[0].show: ['bar'] is not one of"),
        ({"show": "table", "title": "Late"}, "sections[0]: 'query' is missing"),
        ({"show": "table", "query": "flights"}, "sections[0]: 'title' is missing"),
        (TABLE | {"query": "nights"}, "sections[0].query: 'nights' is not one of flights, period"),
        (TABLE | {"x": "day"}, "sections[0]: unknown key 'x'"),
        (TABLE | {"decimals": 11}, "sections[0].decimals: must be a whole number from 0 to 10"),
        (TABLE | {"decimals": True}, "sections[0].decimals: must be a whole number from 0 to 10"),
        (TABLE | {"columns": []}, "sections[0].columns: must be a list with at least one entry"),
        (TABLE | {"columns": ["nigh"]}, "sections[0].columns[0]: 'nigh' is no column of the query"),
        (TABLE | {"columns": ["day", "day"]}, "sections[0].columns: names a column twice"),
        (
            TABLE | {"totals": ["day"]},
            "sections[0].totals[0]: 'day' is a date column, not a number",
        ),
        (TABLE | {"totals": ["load", "load"]}, "sections[0].totals: names a column twice"),
        (
            TABLE | {"columns": ["day"], "totals": ["delay"]},
            "sections[0].totals[0]: 'delay' is not among the columns of the table",
        ),
        (BAR | {"x": "extra"}, "sections[0].x: a json column cannot be the x of a chart"),
        (BAR | {"y": "carrier"}, "sections[0].y: 'carrier' is a text column, not a number"),
        (BAR | {"y": ["delay", "day"]}, "sections[0].y[1]: 'day' is a date column, not a number"),
        (BAR | {"y": ["load", "load"]}, "sections[0].y: names a column twice"),
        (BAR | {"x": "load", "y": "load"}, "sections[0].y: names the column that is the x already"),
        (BAR | {"by": "extra"}, "sections[0].by: a json column cannot name series"),
        (BAR | {"by": "carrier"}, "sections[0].by: is the x or the y already"),
        (BAR | {"by": "delay"}, "sections[0].by: is the x or the y already"),
        (
            BAR | {"y": ["load", "delay"], "by": "day"},
            "sections[0].by: makes the series of one y; there are more",
        ),
        (NUMBER | {"value": "night"}, "sections[0].value: 'night' is no column of the query"),
        (COMPARISON | {"value": "day"}, "sections[0].value: 'day' is a date column, not a number"),
        (COMPARISON | {"previous": {}}, "sections[0].previous: must give a value that names"),
        (COMPARISON | {"previous": {"day": 1}}, "sections[0].previous: unknown key 'day'"),
    ],
)
def test_a_fault_names_its_place(section: Any, message: str) -> None:
    assert refusal_of(section).startswith(message)
    assert refusal_of({"text": "first"}, section).startswith(message.replace("[0]", "[1]", 1))


def test_a_chart_adds_up_only_what_has_a_sum() -> None:
    chart = BAR | {"query": "grouped", "x": "day", "by": "carrier"}

    assert refusal_of(chart | {"y": "mean"}) == (
        "sections[0].y: 'mean' is an avg, and the chart would add it up over load:"
        " show a query that groups by x and by alone"
    )
    for summed in ("sum", "count"):
        assert isinstance(view_of(chart | {"y": summed}), ChartView)
    without_series = {key: value for key, value in chart.items() if key != "by"}
    assert isinstance(view_of(without_series | {"y": "mean"}), ChartView)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({}, "'sections' is missing"),
        ({"sections": []}, "sections: must be a list with at least one entry"),
        ({"sections": [{"text": "a"}] * 51}, "sections: are 51; 50 is the most"),
        ({"sections": [{"text": "a"}], "title": "A"}, "unknown key 'title'"),
        (
            {"sections": [{"text": "a"}], "parameters": [DAY1, DAY1]},
            "parameters[1]: there are two parameters day1",
        ),
        (
            {"sections": [{"text": "a"}], "parameters": [{"name": "a"}]},
            "parameters[0]: Parameter 'a': its type must be one of",
        ),
    ],
)
def test_a_fault_of_the_whole_names_its_key(definition: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQuery) as refusal:
        parse_report(definition, QUERIES)
    assert refusal.value.message.startswith(message)


PERIOD = {"show": "table", "title": "Late", "query": "period"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({}, "sections[0]: the query needs a value for its parameter 'since'"),
        ({"until": "2027-01-01"}, "sections[0]: the query needs a value for its parameter 'since'"),
        ({"since": "soon"}, "sections[0].values.since: Parameter 'since': give a date"),
        ({"since": None}, "sections[0].values.since: Parameter 'since' is required"),
        ({"day": 1}, "sections[0].values: unknown key 'day'; known are since, until"),
        ([], "sections[0].values: must be a mapping"),
        (
            {"since": {"parameter": "day"}},
            "sections[0].values.since.parameter: 'day' is not one of day1, free, word",
        ),
        (
            {"since": {"parameter": "word"}},
            "sections[0].values.since: the report's parameter 'word' is a text, the query's"
            " 'since' a date",
        ),
        (
            {"since": {"parameter": "free"}},
            "sections[0]: the query needs a value for its parameter 'since', and the report's"
            " parameter 'free' may have none",
        ),
        (
            {"since": {"parameter": "day1", "shift": 1}},
            "sections[0].values.since: unknown key 'shift'; known are parameter",
        ),
    ],
)
def test_a_value_that_does_not_fit_the_query_names_its_place(values: Any, message: str) -> None:
    assert refusal_of(PERIOD | {"values": values}).startswith(message)


def test_a_report_without_parameters_says_so() -> None:
    section = PERIOD | {"values": {"since": {"parameter": "day1"}}}
    message = refusal_of(section, parameters=[])
    assert message == "sections[0].values.since: the report has no parameters"


def test_the_previous_period_needs_the_values_of_the_query_too() -> None:
    previous = {"since": {"parameter": "free"}}
    assert refusal_of(COMPARISON | {"previous": previous}).startswith(
        "sections[0].previous: the query needs a value for its parameter 'since'"
    )


def test_values_of_the_report_take_their_places_and_none_leaves_the_querys_default() -> None:
    section = PERIOD | {"values": {"since": {"parameter": "day1"}, "until": {"parameter": "free"}}}
    report = parsed(section)
    (only,) = report.sections
    assert isinstance(only, QuerySection)
    moment = datetime(2027, 3, 10, tzinfo=UTC)
    of_report = resolve_values(
        report.parameters,
        {"day1": {"start_of": "month"}, "word": "w"},
        moment=moment,
        time_zone="UTC",
    )
    assert given_values(only.values, of_report) == {"since": date(2027, 3, 1)}
    assert given_values(only.values, of_report | {"free": date(2027, 4, 1)}) == {
        "since": date(2027, 3, 1),
        "until": date(2027, 4, 1),
    }
    assert given_values({"since": {"start_of": "week"}, "until": None}, {}) == {
        "since": {"start_of": "week"},
        "until": None,
    }


def test_a_relative_value_is_kept_as_it_is_written() -> None:
    (only,) = parsed(PERIOD | {"values": {"since": {"start_of": "month", "shift": -1}}}).sections
    assert isinstance(only, QuerySection)
    assert only.values == {"since": {"start_of": "month", "shift": -1}}


OF = {"show": "table", "title": "Of some", "query": "of"}
SOME = {"name": "some", "type": "text", "list": True, "default": ["AA", "BA"]}
DAYS = {"name": "days", "type": "date", "list": True}


def test_a_list_of_the_report_takes_its_place_in_the_query_the_empty_one_too() -> None:
    report = parsed(OF | {"values": {"carriers": {"parameter": "some"}}}, parameters=[SOME])
    (only,) = report.sections
    assert isinstance(only, QuerySection)
    moment = datetime(2027, 3, 10, tzinfo=UTC)
    cases: list[tuple[dict[str, object], tuple[str, ...]]] = [
        ({}, ("AA", "BA")),
        ({"some": '["LH"]'}, ("LH",)),
        ({"some": []}, ()),
    ]
    for asked, expected in cases:
        of_report = resolve_values(report.parameters, asked, moment=moment, time_zone="UTC")
        values = given_values(only.values, of_report)
        assert values == {"carriers": expected}
        query = QUERIES["of"]
        exact = resolve_values(query.parameters, values, moment=moment, time_zone="UTC")
        assert exact == {"carriers": expected}


def test_a_section_may_give_a_list_itself() -> None:
    (only,) = parsed(OF | {"values": {"carriers": ["AA", "O'Neil"]}}).sections
    assert isinstance(only, QuerySection)
    assert only.values == {"carriers": ["AA", "O'Neil"]}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            {"parameter": "word"},
            "the report's parameter 'word' is a text, the query's 'carriers' a list of text",
        ),
        ({"parameter": "days"}, "the report's parameter 'days' is a list of date, the query's"),
        ("AA", "Parameter 'carriers': give a list"),
        (["AA", None], "Parameter 'carriers': element 2 is null, and nothing equals null"),
        (["AA", {"parameter": "word"}], "Parameter 'carriers': element 2: give a text"),
        (["x"] * 10_001, "Parameter 'carriers': the list has 10,001 elements"),
    ],
)
def test_a_list_that_does_not_fit_the_query_names_its_place(value: Any, message: str) -> None:
    section = OF | {"values": {"carriers": value}}
    refused = refusal_of(section, parameters=[WORD, SOME, DAYS])
    assert refused.startswith(f"sections[0].values.carriers: {message}")
    one = PERIOD | {"values": {"since": {"parameter": "days"}}}
    assert refusal_of(one, parameters=[DAYS]).endswith(
        "'days' is a list of date, the query's 'since' a date"
    )


def test_a_title_may_hold_whatever_one_line_can() -> None:
    family = "\N{MAN}\N{ZERO WIDTH JOINER}\N{WOMAN}\N{NO-BREAK SPACE}soft\N{SOFT HYPHEN}ly"
    assert parsed({"text": "a", "title": family}).sections[0].title == family


def test_the_queries_of_a_definition_are_named_also_when_it_has_faults() -> None:
    assert queries_named({"sections": [TABLE, BAR, {"text": "a"}, PERIOD]}) == {"flights", "period"}
    for sections in (None, "flights", [None, {"query": ["flights"]}, {"query": None}]):
        assert queries_named({"sections": sections}) == frozenset()
