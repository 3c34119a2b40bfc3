"""Hop 1 of an export: a saved query opened as a person, or refused before anything is written."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.exports.open_query import OpenedQuery, open_query
from queries_orchestration.exports.pages import read_pages
from queries_orchestration.exports.sources import engine_of, read_snapshot
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.store import people, sources
from queries_orchestration.store.tables import metadata
from queries_orchestration_tests.house import CATALOG, MONDAY, House

REGIONAL = CATALOG.replace(
    "      - {who: {roles: [author]}, fields: all, rows: all}\n",
    "      - {who: {people: [bob]}, fields: [id, region],"
    " rows: [{field: region, op: eq, value: r3}]}\n"
    "      - {who: {roles: [author]}, fields: all, rows: all}\n",
).replace(
    "queries:\n",
    "queries:\n"
    "  by-region:\n"
    "    title: Orders of a region\n"
    "    dataset: orders\n"
    "    fields: [{field: id}, {field: region}]\n"
    "    filters: [{field: region, op: eq, value: {parameter: region}}]\n"
    "    parameters: [{name: region, type: text, allowed: [r1, r2, r3]}]\n"
    "  regions:\n"
    "    title: Regions\n"
    "    dataset: orders\n"
    "    fields: [{field: region}]\n",
)


@pytest.fixture
def regional(house: House) -> House:
    """The house, where bob sees two fields of one region and cyd nothing."""
    house.apply(REGIONAL)
    return house


def test_a_person_reads_their_own_rows_and_fields_only(regional: House) -> None:
    by_owner = _read(_open(regional, "by-region", "ada", {"region": "r2"}))
    by_bob = _read(_open(regional, "by-region", "bob", {"region": "r3"}))

    assert by_owner == [(n, "r2") for n in range(1, 2_501) if n % 7 == 2]
    assert by_bob == [(n, "r3") for n in range(1, 2_501) if n % 7 == 3]
    assert _read(_open(regional, "by-region", "bob", {"region": "r2"})) == []


def test_two_people_one_after_the_other_in_one_process_see_their_own(regional: House) -> None:
    assert len(_read(_open(regional, "regions", "ada", {}))) == 2_500
    assert set(_read(_open(regional, "regions", "bob", {}))) == {("r3",)}


@pytest.mark.parametrize(
    ("query", "person", "given", "code", "named"),
    [
        ("all-orders", "cyd", {}, "access_lost", "orders"),
        ("all-orders", "dan", {}, "actor_inactive", ""),
        ("all-orders", "bob", {}, "field_not_available", "amount"),
        ("by-region", "ada", {"region": "r9"}, "invalid_value", "region"),
        ("by-region", "ada", {"region": 3}, "invalid_value", "region"),
        ("by-region", "ada", {}, "invalid_value", "region"),
        ("by-region", "ada", {"region": "r1", "other": "x"}, "invalid_value", "other"),
    ],
)
def test_what_cannot_be_opened_is_refused_by_code_and_name_and_writes_nothing(
    regional: House, query: str, person: str, given: dict[str, Any], code: str, named: str
) -> None:
    before = _everything(regional)

    with pytest.raises(QueriesError) as refused:
        _open(regional, query, person, given)

    assert refused.value.code == code
    assert named in refused.value.message
    assert _everything(regional) == before


def test_an_injected_value_is_data(regional: House) -> None:
    regional.apply(REGIONAL.replace(", allowed: [r1, r2, r3]", ""))

    assert _read(_open(regional, "by-region", "ada", {"region": "x' OR '1'='1"})) == []


def _open(
    house: House,
    query: str,
    person: str,
    given: dict[str, Any],
    moment: datetime = MONDAY,
) -> OpenedQuery:
    with house.backends.database.across.read() as connection:
        source = sources.by_name(connection, house.workspace_id, query)
        actor = people.by_name(connection, house.workspace_id, person)
        assert source is not None
        assert actor is not None
        return open_query(
            connection,
            house.workspace_id,
            source_id=source.id,
            version=source.current_version,
            actor_id=actor.id,
            given_values=given,
            moment=moment,
            time_zone="Europe/Berlin",
            environment=house.environment,
        )


def _read(opened: OpenedQuery) -> list[tuple[object, ...]]:
    engine = engine_of(opened.database_url)
    with read_snapshot(engine, timeout_seconds=30) as connection:
        return [row for page in read_pages(connection, opened.compiled) for row in page]


def _everything(house: House) -> dict[str, int]:
    with house.backends.database.across.read() as connection:
        return {
            table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
        }
