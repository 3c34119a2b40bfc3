"""By key where an index finds each page, else through one cursor; complete in both ways."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import event, func, select, text

from queries_orchestration.exports.file_writer import FileFormat
from queries_orchestration.exports.paging import is_paged_by_key
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceBroken
from queries_orchestration_tests.exports.query_files import csv_of, file_of, read_every_way
from queries_orchestration_tests.exports.read_back import calamine_rows, read_csv
from queries_orchestration_tests.exports.weak_roles import weak_role
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    a_dataset,
    compiled,
    fill,
    is_sqlite,
    snapshot_engine,
    sqlite_url,
)
from queries_orchestration_tests.postgres import PostgresServer

ROWS = 20_000
TYPES = {
    "id": "integer",
    "other": "integer",
    "kind": "integer",
    "day": "text",
    "seen": "integer",
    "note": "text",
}
NOT_NULL = ["id", "other", "kind", "day", "note"]

TABLES = [
    "CREATE TABLE big (id integer PRIMARY KEY, other integer NOT NULL, kind integer NOT NULL,"
    " day text NOT NULL, seen integer, note text NOT NULL)",
    "INSERT INTO big WITH RECURSIVE n(i) AS"  # noqa: S608 - of this test
    f" (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})"
    " SELECT i, 7 * i % 20011, i % 3, 'day ' || (i % 100 + 100),"
    " CASE WHEN i % 5 > 0 THEN i % 1000 END, 'note ' || i FROM n",
    "CREATE UNIQUE INDEX big_other ON big (other)",
    "CREATE INDEX big_kind ON big (kind, id)",
    "CREATE INDEX big_day ON big (day DESC, id)",
    "CREATE INDEX big_seen ON big (seen, id)",
    "CREATE INDEX big_part ON big (note, id) WHERE kind = 1",
    "CREATE TABLE small (id integer PRIMARY KEY, other integer NOT NULL, kind integer NOT NULL,"
    " day text NOT NULL, seen integer, note text NOT NULL)",
    "INSERT INTO small SELECT * FROM big WHERE id <= 20",
    "CREATE VIEW plain AS SELECT * FROM big",
    "CREATE VIEW part AS SELECT * FROM big WHERE kind = 1",
    "CREATE VIEW computed AS SELECT id + 1 AS id, other, kind, day, seen, note FROM big",
    "CREATE VIEW numbered AS SELECT id, row_number() OVER (ORDER BY id) AS other, kind, day, seen,"
    " note FROM big",
    "CREATE VIEW top AS SELECT * FROM big ORDER BY id LIMIT 15000",
    "CREATE VIEW joined AS SELECT big.id, big.other, big.kind, big.day, big.seen, other.note"
    " FROM big JOIN big other ON other.id = big.id",
    "CREATE VIEW grouped AS SELECT min(id) AS id, other, min(kind) AS kind, min(day) AS day,"
    " min(seen) AS seen, min(note) AS note FROM big GROUP BY other",
]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A source with statistics."""
    if request.param == "sqlite":
        made = sqlite_url(tmp_path_factory.mktemp("paging"))
        fill(made, *TABLES, "ANALYZE")
        yield made
        return
    server: PostgresServer = request.getfixturevalue("postgres")
    made = server.create_database()
    fill(made, *TABLES, "ANALYZE")
    yield made
    server.drop(made)


def sorted_by(
    *sort: str, relation: str = "big", key: str = "id", filters: Any = ()
) -> CompiledQuery:
    """Compile a query; a name that begins with a minus is sorted from the end."""
    return compiled(
        a_dataset(TYPES, key=[key], not_null=NOT_NULL, relation=relation),
        "id",
        sort=[
            {"field": name.removeprefix("-"), "direction": "desc" if name[0] == "-" else "asc"}
            for name in sort
        ],
        filters=list(filters),
    )


def is_by_key(url: str, query: CompiledQuery) -> bool:
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        return is_paged_by_key(connection, query)


def counted(url: str, query: CompiledQuery) -> int:
    """Let the database count the rows of a query."""
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        count = connection.scalar(select(func.count()).select_from(query.statement.subquery()))
    assert count is not None
    return count


FILTER = {"field": "kind", "op": "eq", "value": 1}


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(sorted_by(), id="the key"),
        pytest.param(sorted_by("-id"), id="the key from its end"),
        pytest.param(sorted_by(key="other"), id="a unique index"),
        pytest.param(sorted_by("kind"), id="an index with the key at its end"),
        pytest.param(sorted_by("-kind", "-id"), id="that index from its end"),
        pytest.param(sorted_by(filters=[FILTER]), id="the key and a filter"),
    ],
)
def test_what_an_index_finds_is_paged_by_key(url: str, query: CompiledQuery) -> None:
    assert is_by_key(url, query)
    whole = csv_of(url, query)
    assert len({row[0] for row in whole}) == len(whole) == counted(url, query)
    assert read_every_way(url, query, 7_000) == whole


@pytest.mark.parametrize(
    "query",
    [
        pytest.param(sorted_by("note"), id="no index"),
        pytest.param(sorted_by(relation="plain"), id="the key of a view"),
        pytest.param(sorted_by("note", relation="part"), id="a partial index, by a view"),
        pytest.param(sorted_by("-note"), id="no index from its end"),
        pytest.param(sorted_by("kind", key="note"), id="an index of which the key is no part"),
        pytest.param(sorted_by("-kind"), id="directions that differ from the index's"),
        pytest.param(sorted_by("-day"), id="directions that differ, as the index's do"),
        pytest.param(sorted_by("seen"), id="an index with NULLs"),
        pytest.param(sorted_by("-seen", "-id"), id="NULLs where the index does not have them"),
        pytest.param(sorted_by(relation="computed"), id="a computed key"),
        pytest.param(sorted_by(key="other", relation="numbered"), id="a number of a window"),
        pytest.param(sorted_by(relation="top"), id="the first rows of another order"),
        pytest.param(sorted_by(relation="grouped"), id="a smallest value"),
    ],
)
def test_what_no_index_finds_is_read_through_one_cursor(url: str, query: CompiledQuery) -> None:
    assert not is_by_key(url, query)
    whole = csv_of(url, query)
    assert len({row[0] for row in whole}) == len(whole) == counted(url, query)
    assert read_every_way(url, query, 7_000) == whole


def test_a_grouped_query_is_read_through_one_cursor_unasked(url: str) -> None:
    query = compiled(
        a_dataset(TYPES, not_null=NOT_NULL, relation="big"),
        "id",
        {"aggregate": "count", "label": "n"},
    )
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        asked: list[str] = []
        event.listen(engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
        assert not is_paged_by_key(connection, query)
    assert asked == []


def test_a_small_table_is_whole_whichever_way_its_plan_advises(url: str) -> None:
    for sort in ((), ("-id",), ("seen",), ("-seen",), ("kind", "-id"), ("-day", "seen")):
        query = sorted_by(*sort, relation="small")
        whole = csv_of(url, query)
        assert sorted(int(row[0] or 0) for row in whole) == list(range(1, 21))
        for page_rows in (1, 3, 19, 20, 21):
            assert csv_of(url, query, page_rows=page_rows) == whole
            assert read_every_way(url, query, page_rows) == whole


def test_the_plans_are_asked_for_and_run_nothing(url: str) -> None:
    """EXPLAIN; beside it, only the first key is read, by the driver."""
    query = sorted_by(filters=[{"field": "note", "op": "ne", "value": "sensitive %s"}])
    asked: list[str] = []
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        event.listen(engine, "before_cursor_execute", lambda *told: asked.append(told[2]))
        assert is_paged_by_key(connection, query)
    explain = "EXPLAIN QUERY PLAN SELECT" if is_sqlite(url) else "EXPLAIN (FORMAT JSON) SELECT"
    asked = [statement for statement in asked if "SAVEPOINT" not in statement]
    assert len(asked) == 3  # with the one that asks what the relation is
    assert [statement.startswith(explain) for statement in asked] == [True, False, True]
    assert not any("sensitive" in statement for statement in asked)


def test_a_plan_that_cannot_be_made_tells_no_value(url: str) -> None:
    query = sorted_by(filters=[{"field": "note", "op": "eq", "value": "sensitive"}], relation="no")
    with pytest.raises(SourceBroken, match="its relation") as caught:
        is_by_key(url, query)
    assert "sensitive" not in caught.value.message


def test_a_view_with_effects_is_not_run_by_its_plan(postgres: PostgresServer) -> None:
    url = postgres.create_database()
    fill(
        url,
        "CREATE SEQUENCE reads",
        "CREATE VIEW t AS SELECT 1 AS id, nextval('reads') AS n",
    )
    query = compiled(a_dataset({"id": "integer", "n": "integer"}), "n")
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        assert not is_paged_by_key(connection, query)
        assert connection.scalar(text("SELECT is_called FROM reads")) is False
    postgres.drop(url)


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("of", ["a clock", "chance"])
def test_a_view_of_a_clock_or_chance_shows_every_row_once(
    source_url: str, of: str, file_format: FileFormat
) -> None:
    """A third of the rows may be there or not; the others are, from beginning to end."""
    shown = {
        ("a clock", True): "strftime('%f') < '30'",
        ("chance", True): "random() % 2 = 0",
        ("a clock", False): "clock_timestamp() > statement_timestamp() + id * interval '10 us'",
        ("chance", False): "random() < 0.5",
    }[of, is_sqlite(source_url)]
    fill(
        source_url,
        "CREATE TABLE n (id integer PRIMARY KEY)",
        ("INSERT INTO n VALUES (?)", [(n,) for n in range(9000)]),
        f"CREATE VIEW t AS SELECT id FROM n WHERE id % 3 > 0 OR {shown}",  # noqa: S608
    )
    query = compiled(a_dataset({"id": "integer"}, not_null=["id"]), "id")
    content = file_of(source_url, query, file_format).content
    rows = read_csv(content) if file_format == "csv" else calamine_rows(content)
    ids = [int(float(str(row[0]))) for row in rows[1:]]
    assert not is_by_key(source_url, query)
    assert ids == sorted({*ids})
    assert {n for n in ids if n % 3} == {n for n in range(9000) if n % 3}


@POSTGRESQL
def test_row_rules_are_asked_once_for_each_row(source_url: str) -> None:
    fill(
        source_url,
        "CREATE TABLE t AS SELECT generate_series(1, 3000) AS id",
        "ALTER TABLE t ADD PRIMARY KEY (id)",
        "ANALYZE",
    )
    query = compiled(a_dataset({"id": "integer"}, not_null=["id"]), "id")
    with weak_role(source_url) as weak_url:
        assert is_by_key(weak_url, query)
        fill(
            source_url,
            "ALTER TABLE t ENABLE ROW LEVEL SECURITY",
            "CREATE POLICY chance ON t USING (id % 3 > 0 OR random() < 0.5)",
        )
        assert not is_by_key(weak_url, query)
        assert is_by_key(source_url, query)  # its owner's, whom no rule binds
