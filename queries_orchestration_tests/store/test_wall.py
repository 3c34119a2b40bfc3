"""The wall between workspaces: on PostgreSQL a forgotten filter shows and takes nothing."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection, make_url
from sqlalchemy.exc import IntegrityError, ProgrammingError

from queries_orchestration.model.errors import InvalidSettings, Refused, StoreUnavailable
from queries_orchestration.store import clicks, counters, prepared
from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import metadata, workspaces
from queries_orchestration.store.wall import faults, is_asked_for, raise_wall, workspace_column
from queries_orchestration_tests.postgres import (
    ROLES,
    SERVICE_LOGIN,
    PostgresServer,
    as_owner,
    as_service,
)
from queries_orchestration_tests.store.valid_rows import fill, second_rows, valid_rows

pytestmark = [
    pytest.mark.usefixtures("shared_url"),
    pytest.mark.parametrize("shared_url", ["postgresql"], indirect=True),
]

NOBODYS = {"counters", "dispatch_stops", "dispatcher_heartbeats"}
"""The tables that are over all workspaces."""
WALLED = [table for table in metadata.sorted_tables if table.name not in NOBODYS]
SERVICE, ACROSS = f"{ROLES}_service", f"{ROLES}_across"
REFUSED = "42501"
BINDING = sa.text("SELECT current_setting('queries.workspace', true)")

# Since PostgreSQL 16 it is the grant that says so, before the user.
AT_ONCE = f"""DO $$ BEGIN
    IF current_setting('server_version_num')::int >= 160000 THEN
        EXECUTE 'GRANT {SERVICE} TO {SERVICE_LOGIN} WITH INHERIT TRUE';
    ELSE
        EXECUTE 'ALTER ROLE {SERVICE_LOGIN} INHERIT';
    END IF;
END $$"""


@pytest.fixture
def two(database: Database) -> Database:
    """A store with a row of each of two workspaces in every table."""
    with database.across.transaction() as connection:
        for workspace_id in ("one", "other"):
            fill(connection, workspace_id)
    return database


def owned(database: Database) -> Database:
    return Database(as_owner(database.url))


def run(database: Database, *statements: str) -> None:
    """Run statements as the owner of the tables, who is a superuser."""
    with owned(database).across.transaction() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))


def of(connection: Connection, table: sa.Table) -> list[str]:
    """Whose rows a statement without a filter shows."""
    return sorted(connection.scalars(sa.select(table.c[str(workspace_column(table))])))


def code_of(error: pytest.ExceptionInfo[ProgrammingError]) -> str:
    return str(getattr(error.value.orig, "pgcode", None))


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


@pytest.fixture
def apart(postgres: PostgresServer) -> Iterator[Callable[[], str]]:
    """Makes a database of its own, migrated, and returns its URL for a user without the wall."""
    from queries_orchestration.store.migrate import upgrade

    made: list[str] = []

    def make() -> str:
        made.append(postgres.create_database())
        upgrade(made[-1])
        return made[-1]

    yield make
    for url in made:
        postgres.drop(url)


def test_it_is_raised_again_where_something_lacks(apart: Callable[[], str]) -> None:
    owner = apart()
    url = as_service(owner)
    # Neither policies nor rights, nor those to read which migrations were made.
    assert len(faults(url)) == len(WALLED) + len(metadata.tables) + 1
    for _ in range(2):
        raise_wall(url, owner_url=owner)
        assert faults(url) == []
    run(Database(url), "ALTER TABLE people DISABLE ROW LEVEL SECURITY")
    run(Database(url), f"DROP POLICY {SERVICE} ON schedules")
    assert [fault.split()[2] for fault in faults(url)] == ["people", "schedules"]
    raise_wall(url, owner_url=owner)
    assert faults(url) == []
    run(Database(url), "CREATE POLICY hole ON people USING (true)")
    run(Database(url), f"ALTER POLICY {SERVICE} ON exports USING (workspace_id IS NOT NULL)")
    assert [fault.split()[2] for fault in faults(url)] == ["exports", "people"]


def test_rights_that_are_lost_or_too_many_are_told(two: Database) -> None:
    """As where a restore has left them out, and where somebody has granted all to be sure."""
    try:
        run(two, f"REVOKE ALL ON counters FROM {ACROSS}", f"REVOKE DELETE ON people FROM {SERVICE}")
        told = [fault.split(":")[0] for fault in faults(two.url)]
        raise_wall(two.url, owner_url=as_owner(two.url))
        assert faults(two.url) == []
        run(two, f"GRANT ALL ON people TO {SERVICE}", "GRANT TRUNCATE ON notices TO PUBLIC")
        too_many = faults(two.url)
    finally:
        run(two, *(fault.split("`")[1] for fault in too_many))

    assert told == [
        "the roles lack rights in the table counters",
        "the roles lack rights in the table people",
    ]
    assert sorted(fault.split(",")[0] for fault in too_many) == [
        f"the role {ACROSS} could empty the table notices",
        f"the role {SERVICE} could empty the table notices",
        f"the role {SERVICE} could empty the table people",
    ]
    assert faults(two.url) == []


def test_what_weakens_it_is_told(two: Database) -> None:
    assert "is a superuser" in faults(f"{as_owner(two.url)}?roles={ROLES}")[0]
    try:
        run(two, f"ALTER ROLE {SERVICE} BYPASSRLS", f"GRANT {ACROSS} TO {SERVICE}")
        told = faults(two.url)
    finally:
        run(two, f"ALTER ROLE {SERVICE} NOBYPASSRLS", f"REVOKE {ACROSS} FROM {SERVICE}")
    assert [f"ALTER ROLE {SERVICE} NO" in told[0], f"REVOKE {ACROSS}" in told[1]] == [True, True]
    assert len(told) == 2
    run(two, "CREATE ROLE reporting")
    try:
        run(two, f"GRANT reporting TO {SERVICE}")
        (told_of_other,) = faults(two.url)
        run(two, told_of_other.split("`")[1])
        assert faults(two.url) == []
    finally:
        run(two, "DROP ROLE reporting")
    run(two, AT_ONCE)
    (told_of_login,) = faults(two.url)
    run(two, told_of_login.split("`")[1])
    assert "has the rights of both roles at once" in told_of_login
    assert faults(two.url) == []


def test_without_the_roles_nothing_is_done_and_it_is_told(two: Database) -> None:
    url = two.url.replace(f"roles={ROLES}", "roles=elsewhere")
    with pytest.raises(StoreUnavailable), Database(url).read("one"):
        pass
    assert [fault.split(":")[0] for fault in faults(url)] == [
        "there is no role elsewhere_service",
        "there is no role elsewhere_across",
    ]


def test_who_may_make_no_roles_is_told_what_a_dba_runs(
    apart: Callable[[], str], postgres: PostgresServer
) -> None:
    owner = apart()
    run(
        Database(owner),
        f"CREATE ROLE plain LOGIN NOINHERIT PASSWORD '{postgres.password}'",
        "DO $$ DECLARE t text; BEGIN FOR t IN SELECT tablename FROM pg_tables"
        " WHERE schemaname = 'public' LOOP EXECUTE format('ALTER TABLE %I OWNER TO plain', t);"
        " END LOOP; END $$",
        "GRANT ALL ON SCHEMA public TO plain",
    )
    plain = make_url(owner).set(username="plain").render_as_string(hide_password=False)
    url = f"{plain}?roles=small"
    with pytest.raises(Refused) as refused:
        raise_wall(url, owner_url=plain)
    assert refused.value.code == "roles_missing"
    wanted = refused.value.message.split("run: ")[1].split("; then")[0]
    run(Database(owner), *wanted.split("; "))

    raise_wall(url, owner_url=plain)

    # It stands, but who works could take it down.
    assert [fault.split(",")[0] for fault in faults(url)] == [
        "the user of QUERIES_DATABASE_URL owns the tables"
    ]
    walled = Database(url)
    with walled.across.transaction() as connection:
        fill(connection, "one")
        fill(connection, "other")
    with walled.read("one") as connection:
        assert of(connection, workspaces) == ["one"]


def test_the_user_must_be_named_and_there(database: Database) -> None:
    owner = as_owner(database.url)
    unknown = make_url(database.url).set(username="nobody-there")
    with pytest.raises(Refused, match='CREATE ROLE "nobody-there" LOGIN') as refused:
        raise_wall(unknown.render_as_string(hide_password=False), owner_url=owner)
    assert refused.value.code == "roles_missing"
    with pytest.raises(InvalidSettings, match="must name the user"):
        raise_wall(f"postgresql+psycopg2:///queries?roles={ROLES}", owner_url=owner)


def test_roles_that_another_database_makes_meanwhile_are_taken(
    apart: Callable[[], str], postgres: PostgresServer
) -> None:
    owner = apart()
    url = as_service(owner).replace(f"roles={ROLES}", "roles=meanwhile")
    raising = threading.Thread(target=raise_wall, args=[url], kwargs={"owner_url": owner})
    with Database(owner).across.transaction() as other:
        other.execute(sa.text("CREATE ROLE meanwhile_service NOLOGIN"))
        raising.start()
        waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        with Database(owner).across.read() as connection:
            deadline = time.monotonic() + 30
            while not connection.scalar(sa.text(waits)):
                assert time.monotonic() < deadline
                connection.execute(sa.text("SELECT pg_stat_clear_snapshot()"))
    raising.join()
    assert faults(url) == []


def test_an_address_without_roles_asks_for_no_wall(database: Database) -> None:
    url = as_owner(database.url)
    assert (is_asked_for(url), faults(url)) == (False, [])
    assert (is_asked_for(database.url), is_asked_for("sqlite:////a.db")) == (True, False)
    with pytest.raises(InvalidSettings, match="one word"):
        Database(f"{url}?roles=x;DROP")
