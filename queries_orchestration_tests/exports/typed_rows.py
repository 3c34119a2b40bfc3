"""Random results: columns of every type with rows that fit them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from hypothesis import strategies as st

from queries_orchestration.model.columns import Column, ValueType

_TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=12)
_DECIMALS = st.decimals(allow_nan=False, allow_infinity=False) | st.decimals(
    min_value=-(10**17), max_value=10**17, places=4
)
_WALL_TIMES = st.datetimes() | st.datetimes(
    min_value=datetime(1970, 1, 1, tzinfo=UTC).replace(tzinfo=None),
    max_value=datetime(2080, 1, 1, tzinfo=UTC).replace(tzinfo=None),
)

VALUES: dict[ValueType, st.SearchStrategy[object]] = {
    "text": _TEXT,
    "integer": st.integers(-(10**20), 10**20) | st.integers(-1000, 1000),
    "decimal": _DECIMALS,
    "float": st.floats(allow_nan=False),
    "boolean": st.booleans(),
    "date": st.dates(),
    "timestamp": _WALL_TIMES,
    "timestamptz": _WALL_TIMES.map(lambda wall_time: wall_time.replace(tzinfo=UTC)),
    "time": st.times(),
    "uuid": st.uuids().map(str),
    "json": st.recursive(st.none() | _TEXT, st.lists, max_leaves=3).map(json.dumps),
    "bytes": st.binary(max_size=8),
}


@st.composite
def typed_results(
    draw: st.DrawFn,
) -> tuple[list[Column], list[tuple[object, ...]]]:
    """One to four columns and up to three rows, any value NULL at times."""
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    columns = [Column(f"c{index}", kind) for index, kind in enumerate(kinds)]
    row = st.tuples(*(st.none() | VALUES[kind] for kind in kinds))
    return columns, draw(st.lists(row, max_size=3))
