"""The wall is raised and raised again, and `faults` tells where it does not stand."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy import make_url

from queries_orchestration.model.errors import InvalidSettings, Refused, StoreUnavailable
from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import metadata, workspaces
from queries_orchestration.store.wall import faults, is_asked_for, raise_wall
from queries_orchestration_tests.postgres import (
    ROLES,
    SERVICE_LOGIN,
    PostgresServer,
    as_owner,
    as_service,
)
from queries_orchestration_tests.store.valid_rows import fill
from queries_orchestration_tests.store.walls import (
    ACROSS,
    SERVICE,
    WALLED,
    of,
    run,
)

pytestmark = [
    pytest.mark.usefixtures("shared_url"),
    pytest.mark.parametrize("shared_url", ["postgresql"], indirect=True),
]

# Since PostgreSQL 16 it is the grant that says so, before the user.
AT_ONCE = f"""DO $$ BEGIN
    IF current_setting('server_version_num')::int >= 160000 THEN
        EXECUTE 'GRANT {SERVICE} TO {SERVICE_LOGIN} WITH INHERIT TRUE';
    ELSE
        EXECUTE 'ALTER ROLE {SERVICE_LOGIN} INHERIT';
    END IF;
END $$"""


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
