"""The wall between workspaces: on PostgreSQL a forgotten filter shows and takes nothing."""

from __future__ import annotations

from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import make_url
from sqlalchemy.exc import IntegrityError, ProgrammingError

from queries_orchestration.store import clicks, counters, prepared
from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import metadata, workspaces
from queries_orchestration.store.wall import faults, workspace_column
from queries_orchestration_tests.store.valid_rows import second_rows, valid_rows
from queries_orchestration_tests.store.walls import (
    ACROSS,
    BINDING,
    NOBODYS,
    REFUSED,
    SERVICE,
    WALLED,
    code_of,
    of,
    owned,
)

pytestmark = [
    pytest.mark.usefixtures("shared_url"),
    pytest.mark.parametrize("shared_url", ["postgresql"], indirect=True),
]


def test_every_table_is_somebodys_or_named_here() -> None:
    assert {table.name for table in metadata.sorted_tables if not workspace_column(table)} == (
        NOBODYS
    )


def test_every_table_with_a_workspace_is_guarded(database: Database) -> None:
    found = sa.text(
        "SELECT c.relname, c.relrowsecurity, array_agg(p.policyname::text ORDER BY p.policyname)"
        " FROM pg_class AS c LEFT JOIN pg_policies AS p ON p.tablename = c.relname"
        " WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace"
        " AND c.relname <> 'alembic_version' GROUP BY c.relname, c.relrowsecurity"
    )
    with database.across.read() as connection:
        tables = {name: (is_on, policies) for name, is_on, policies in connection.execute(found)}

    assert {name for name in tables if name not in NOBODYS} == {table.name for table in WALLED}
    assert all(tables[table.name] == (True, [ACROSS, SERVICE]) for table in WALLED), tables
    assert faults(database.url) == []


@pytest.mark.parametrize("table", WALLED, ids=lambda table: table.name)
def test_a_forgotten_filter_shows_one_workspace(two: Database, table: sa.Table) -> None:
    with two.across.read() as connection:
        every = of(connection, table)
    with two.read("one") as connection:
        shown = of(connection, table)
    with two.read("nowhere") as connection:
        assert of(connection, table) == []
    with two.read("") as connection:
        assert of(connection, table) == []

    assert set(every) == {"one", "other"}
    assert shown == [one for one in every if one == "one"]


# The trail is changed by nobody: its trigger comes first.
@pytest.mark.parametrize(
    "table",
    [table for table in WALLED if table.name != "audit_events"],
    ids=lambda table: table.name,
)
def test_a_forgotten_filter_changes_one_workspace(two: Database, table: sa.Table) -> None:
    column = table.c[str(workspace_column(table))]
    with two.across.read() as connection:
        own = of(connection, table).count("one")
    with two.transaction("one") as connection:
        assert connection.execute(sa.update(table).values({column: column})).rowcount == own
    with pytest.raises(ProgrammingError) as refused, two.transaction("one") as connection:
        connection.execute(sa.update(table).values({column: "other"}))
    assert code_of(refused) == REFUSED


@pytest.mark.parametrize("table", WALLED, ids=lambda table: table.name)
def test_a_row_of_another_workspace_is_not_inserted(two: Database, table: sa.Table) -> None:
    row = valid_rows("third")[table.name]
    with pytest.raises(ProgrammingError) as refused, two.transaction("one") as connection:
        connection.execute(sa.insert(table).values(row))
    assert code_of(refused) == REFUSED


def test_a_forgotten_filter_deletes_nothing_of_another_workspace(two: Database) -> None:
    kept = {"audit_events", "workspaces"}  # the trail keeps its newest, and so their workspace
    with two.transaction("one") as connection:
        for table in reversed(WALLED):
            if table.name not in kept:
                connection.execute(sa.delete(table))

    with two.across.read() as connection:
        for table in WALLED:
            left = set(of(connection, table))
            assert left == ({"one", "other"} if table.name in kept else {"other"}), table.name


def test_a_row_points_to_no_row_of_another_workspace_and_still_to_its_own(two: Database) -> None:
    person = valid_rows("one")["people"] | {"id": "new", "name": "new"}
    member = valid_rows("one")["group_members"] | {"person_id": "new", "position": 9}
    with two.transaction("one") as connection:
        connection.execute(sa.insert(metadata.tables["people"]).values(person))
        connection.execute(sa.insert(metadata.tables["group_members"]).values(member))
    foreign = member | {"person_id": second_rows("other")["people"]["id"], "position": 10}
    with pytest.raises(IntegrityError), two.transaction("one") as connection:
        connection.execute(sa.insert(metadata.tables["group_members"]).values(foreign))


def test_the_workspace_is_forgotten_with_the_transaction(two: Database) -> None:
    kept = Database(two.url, kept_connections=1)
    with kept.read("one") as connection:
        backend = connection.scalar(sa.text("SELECT pg_backend_pid()"))
        assert connection.scalar(BINDING) == "one"
    with kept._engine.connect() as connection:
        assert connection.scalar(sa.text("SELECT pg_backend_pid()")) == backend
        assert connection.scalar(BINDING) == ""
        assert of(connection, workspaces) == []


@pytest.mark.parametrize("is_prepared", [True, False])
def test_a_glance_is_of_its_workspace_alone(two: Database, is_prepared: bool) -> None:
    kept = Database(two.url, kept_connections=1)
    statement: sa.Select[Any] = sa.select(workspaces.c.id).where(workspaces.c.title == "One")
    if is_prepared:
        statement = prepared.as_prepared(statement, "named")
    for workspace_id in ("one", "other", "nowhere", "one"):
        with kept.glance(workspace_id) as connection:
            seen = list(connection.scalars(statement))
        assert seen == ([workspace_id] if workspace_id != "nowhere" else [])
    with kept._sessions.connect() as connection:
        assert connection.scalar(BINDING) == ""
        assert list(connection.scalars(statement)) == []


def test_what_a_click_looks_up_is_found_by_indexes(two: Database) -> None:
    with two.read("one") as connection:
        connection.execute(sa.text("SET LOCAL enable_seqscan = off"))
        values = {
            "workspace_id": "one",
            "occurrence_key": "one-key",
            "export_id": "one-export",
            "recipient_id": "one-person",
        }
        asked = clicks._statement().compile(connection.engine)
        plan = "\n".join(
            connection.exec_driver_sql(f"EXPLAIN {asked}", asked.construct_params(values)).scalars()
        )
    assert "Seq Scan" not in plan, plan
    assert "current_setting" in plan  # the policies are in it


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE people DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE people OWNER TO CURRENT_USER",
        f"DROP POLICY {SERVICE} ON people",
        f"CREATE POLICY more ON people TO {SERVICE} USING (true)",
        f"ALTER ROLE {SERVICE} BYPASSRLS",
        f"GRANT {ACROSS} TO {SERVICE}",
        "TRUNCATE people CASCADE",
        "DROP TABLE people CASCADE",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "INSERT INTO dispatch_stops VALUES (1, now(), 'me', 'because')",
        "DELETE FROM counters",
        "SET LOCAL row_security = off; SELECT count(*) FROM people",
        "SELECT * FROM alembic_version",
        "CREATE FUNCTION mine() RETURNS integer LANGUAGE sql AS 'SELECT 1'",
    ],
)
def test_the_service_cannot_pass_the_wall_by(two: Database, statement: str) -> None:
    with pytest.raises(ProgrammingError) as refused, two.transaction("one") as connection:
        connection.execute(sa.text(statement))
    assert code_of(refused) == REFUSED


def test_the_service_counts_what_it_does_where_numbers_are_over_all_workspaces(
    two: Database,
) -> None:
    for workspace in ("one", "two"):
        with two.transaction(workspace) as connection:
            counters.count(connection, counters.DEAD_LETTERS, label="export")

    with two.across.read() as connection:
        found = [one.value for one in counters.read(connection) if one.label == "export"]
    assert found == [2]


def test_who_acts_in_neither_role_may_do_nothing(two: Database) -> None:
    login = make_url(two.url).difference_update_query(["roles"])
    with owned(two).across.transaction() as connection:
        inherits = "SELECT rolinherit FROM pg_roles WHERE rolname = :name"
        assert connection.scalar(sa.text(inherits), {"name": login.username}) is False
    bare = Database(login.render_as_string(hide_password=False))
    with pytest.raises(ProgrammingError) as refused, bare.across.read() as connection:
        of(connection, workspaces)
    assert code_of(refused) == REFUSED
