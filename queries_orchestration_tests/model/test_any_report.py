"""Whatever stands in a report's definition, it is read or refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings, strategies as st

from queries_orchestration.model.errors import InvalidQuery
from queries_orchestration.model.reports import (
    QuerySection,
    parse_report,
    queries_named,
)
from queries_orchestration_tests.model.test_reports import (
    BAR,
    COMPARISON,
    DAY1,
    FREE,
    NUMBER,
    QUERIES,
    TABLE,
)

GOOD = {"parameters": [DAY1, FREE], "sections": [{"text": "a"}, TABLE, BAR, NUMBER, COMPARISON]}
WORDS = st.sampled_from(
    [
        *("table", "bar", "number", "comparison", "flights", "period", "day", "delay", "day1"),
        *("sections", "parameters", "text", "title", "show", "query", "values", "since", "name"),
        *("columns", "totals", "x", "y", "by", "previous", "decimals", "parameter", "type", "list"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=8,
)


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for key, item in value.items() if isinstance(value, dict) else enumerate(value):
        yield (*path, key)
        if isinstance(item, dict | list):
            yield from paths_of(item, (*path, key))


@settings(max_examples=300)
@given(path=st.sampled_from(sorted(paths_of(GOOD), key=repr)), value=JSON)
def test_a_definition_is_read_or_refused_whatever_stands_in_any_place(
    path: tuple[Any, ...], value: Any
) -> None:
    definition = json.loads(json.dumps(GOOD))
    place = definition
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    _read_or_refused(definition)


@given(definition=st.dictionaries(WORDS, JSON, max_size=3), sections=st.lists(JSON, max_size=3))
def test_any_json_is_read_or_refused(definition: dict[str, Any], sections: list[Any]) -> None:
    _read_or_refused(definition)
    _read_or_refused(definition | {"sections": sections})


def _read_or_refused(definition: dict[str, Any]) -> None:
    named = queries_named(definition)
    try:
        report = parse_report(definition, QUERIES)
    except InvalidQuery:
        return
    assert {section.query for section in report.sections if isinstance(section, QuerySection)} == (
        named
    )


def test_the_definition_that_is_spoilt_is_good() -> None:
    assert len(parse_report(GOOD, QUERIES).sections) == 5
