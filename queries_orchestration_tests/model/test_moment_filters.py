"""Filters on moments, whatever moments the columns of PostgreSQL hold that are called so."""

from __future__ import annotations

from typing import Any

import pytest

from queries_orchestration.exports.file_writer import FileOptions
from queries_orchestration.model.errors import SourceBroken
from queries_orchestration_tests.exports.query_files import csv_of
from queries_orchestration_tests.model.definitions import (
    EVERYTHING,
    POSTGRESQL,
    a_dataset,
    compiled,
    fill,
)

ZONES = ["UTC", "Europe/Berlin", "Asia/Tokyo"]
NEW_YEAR = "2027-01-01T00:00:00"
SAME = ["2027-01-01T00:00:00Z", "2027-01-01T01:00:00+01:00", "2026-12-31T19:00:00-05:00"]


def found(
    url: str, called: str, op: str, value: object, zone: str, *, as_rule: bool = False
) -> list[str | None]:
    condition: dict[str, Any] = {"field": "v", "op": op, "value": value}
    access = {**EVERYTHING, "rows": [condition]} if as_rule else EVERYTHING
    query = compiled(
        a_dataset({"id": "integer", "v": called}, access=[access], not_null=["id"]),
        "id",
        filters=[] if as_rule else [condition],
    )
    return [row[0] for row in csv_of(url, query, options=FileOptions(time_zone=zone))]


@pytest.fixture
def moments(source_url: str, column: str) -> str:
    fill(
        source_url,
        f"CREATE TABLE t (id integer PRIMARY KEY, v {column})",
        "INSERT INTO t VALUES (1, '2026-12-31T23:00:00Z'), (2, '2027-01-01T00:00:00Z'),"
        " (3, '2027-01-01T01:00:00Z'), (4, NULL)",
    )
    return source_url


@pytest.mark.parametrize("as_rule", [False, True])
@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("column", ["timestamptz", "timestamp"])
@POSTGRESQL
def test_an_instant_is_found_however_it_is_written_and_shown(
    moments: str, zone: str, as_rule: bool
) -> None:
    """A column of wall times that is called one of instants is in UTC, as files tell it."""
    for written in SAME:
        assert found(moments, "timestamptz", "eq", written, zone, as_rule=as_rule) == ["2"]
        assert found(moments, "timestamptz", "lt", written, zone, as_rule=as_rule) == ["1"]
        assert found(moments, "timestamptz", "in", [written], zone, as_rule=as_rule) == ["2"]
        listed = found(moments, "timestamptz", "not_in", [written], zone, as_rule=as_rule)
        assert listed == ["1", "3"]
    assert found(moments, "timestamptz", "not_in", [], zone) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("column", ["timestamptz", "timestamp"])
@POSTGRESQL
def test_what_a_wall_time_finds_does_not_depend_on_the_zone_of_the_file(
    moments: str, zone: str
) -> None:
    assert found(moments, "timestamp", "eq", NEW_YEAR, zone) == ["2"]
    assert found(moments, "timestamp", "ge", NEW_YEAR, zone, as_rule=True) == ["2", "3"]
    assert found(moments, "date", "eq", "2027-01-01", zone) == ["2"]
    assert found(moments, "date", "lt", "2027-01-01", zone, as_rule=True) == ["1"]


@pytest.mark.parametrize("column", ["date"])
@pytest.mark.parametrize("called", ["date", "timestamp", "timestamptz"])
@POSTGRESQL
def test_a_date_is_its_midnight(moments: str, called: str) -> None:
    midnight = {"date": "2027-01-01", "timestamp": NEW_YEAR, "timestamptz": SAME[0]}[called]
    assert found(moments, called, "eq", midnight, "UTC") == ["2", "3"]
    assert found(moments, called, "lt", midnight, "UTC") == ["1"]


@pytest.mark.parametrize("column", ["text"])
@pytest.mark.parametrize(
    ("called", "value"),
    [
        ("date", "2027-01-01"),
        ("timestamp", NEW_YEAR),
        ("timestamptz", SAME[0]),
        ("time", "10:00"),
        ("uuid", "6f9619ff-8b86-d011-b42d-00c04fc964ff"),
        ("boolean", True),
        ("integer", 1),
        ("decimal", 1),
    ],
)
@pytest.mark.parametrize("is_listed", [False, True])
@POSTGRESQL
def test_spellings_are_not_compared_in_silence(
    moments: str, called: str, value: object, is_listed: bool
) -> None:
    op, given = ("in", [value]) if is_listed else ("eq", value)
    with pytest.raises(SourceBroken, match="type does not allow what is asked"):
        found(moments, called, op, given, "UTC")
