"""A version works on the database of the next one: during an upgrade, and after a way back."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.store import migrate
from queries_orchestration.store.database import Database
from queries_orchestration.store.migrate import is_current
from queries_orchestration.store.migrations import indexes
from queries_orchestration_tests.postgres import as_owner

FIRST_KEPT = "0009"
"""Since the migration after this one, each keeps the version before it working."""


def _script() -> ScriptDirectory:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    return ScriptDirectory.from_config(config)


def _kept_migrations() -> list[tuple[str, str]]:
    later = _script().walk_revisions(FIRST_KEPT, "head")
    return [(str(one.down_revision), one.revision) for one in later if one.revision != FIRST_KEPT]


@pytest.mark.parametrize(("before", "after"), _kept_migrations())
def test_a_migration_takes_nothing_from_the_version_before_it(
    database_url: str, before: str, after: str
) -> None:
    """Its tables and columns stay as they are, and it may write rows without what is new."""
    database = Database(database_url)
    old = _columns(database, before)
    new = _columns(database, after)

    assert set(old) <= set(new)
    for place, column in old.items():
        assert str(new[place]["type"]) == str(column["type"]), place
        assert new[place]["nullable"] or not column["nullable"], place
    tables = {table for table, _ in old}
    for place in set(new) - set(old):
        column = new[place]
        if place[0] in tables:
            assert column["nullable"] or column["default"] is not None, place


@pytest.mark.parametrize("database_kind", ["postgresql"])
@pytest.mark.parametrize(
    ("before", "index", "on"),
    [
        ("0010", "ix_claims_waiting", "claims (lane)"),
        ("0011", "ix_downloads_export", "downloads (export_id)"),
    ],
)
def test_an_index_whose_building_was_broken_off_is_built_anew(
    database_url: str, before: str, index: str, on: str
) -> None:
    database = Database(database_url)
    migrate.upgrade(database_url, before)
    with database.across.transaction() as connection:
        connection.execute(sa.text(f"CREATE INDEX {index} ON {on}"))
        connection.execute(
            sa.text("UPDATE pg_index SET indisvalid = false WHERE indexrelid = :i ::regclass"),
            {"i": index},
        )

    migrate.upgrade(database_url)

    with database.across.read() as connection:
        built = sa.text(
            "SELECT indisvalid, indnatts FROM pg_index WHERE indexrelid = :i ::regclass"
        )
        is_valid, columns = connection.execute(built, {"i": index}).one()
    assert is_valid
    assert columns > 1  # ours, not what was there


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_migration_gives_up_a_table_that_is_in_use_and_goes_on_later(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup reads for hours; all that came after the migration would wait for it."""
    monkeypatch.setattr(migrate, "LOCK_SECONDS", 0.1)
    database = Database(database_url)
    migrate.upgrade(database_url, "0012")
    with database.across.read() as backup:
        backup.execute(sa.text("SELECT count(*) FROM dispatcher_heartbeats"))
        with pytest.raises(StoreUnavailable, match="in use by others"):
            migrate.upgrade(database_url)
    migrate.upgrade(database_url)
    assert is_current(database_url)


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_an_index_waits_for_all_that_has_begun(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It keeps nobody waiting, and would be built in vain each time."""
    for place in (migrate, indexes):
        monkeypatch.setattr(place, "LOCK_SECONDS", 0.1)
    database = Database(database_url)
    migrate.upgrade(database_url, "0010")
    upgrading = threading.Thread(target=migrate.upgrade, args=[database_url, "0011"])
    waits = sa.text("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'virtualxid'")
    with database.across.transaction() as begun:
        begun.execute(sa.text("LOCK TABLE claims IN ROW EXCLUSIVE MODE"))
        upgrading.start()
        with database.session() as connection:
            while upgrading.is_alive() and not connection.scalar(waits):
                time.sleep(0.02)
            time.sleep(0.3)  # for longer than a table is waited for
    upgrading.join()
    with database.across.read() as connection:
        revision = connection.scalar(sa.text("SELECT version_num FROM alembic_version"))
    assert revision == "0011"


def test_a_database_of_a_later_version_is_ready_for_this_one(store_url: str) -> None:
    database = Database(as_owner(store_url))
    with database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = 'of-tomorrow'"))
    assert is_current(store_url)


def test_a_database_of_an_earlier_version_is_not(store_url: str) -> None:
    database = Database(as_owner(store_url))
    before = _script().get_revision("head").down_revision
    with database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE alembic_version SET version_num = :before"), {"before": before}
        )
    assert not is_current(store_url)


def _columns(
    database: Database, revision: str
) -> dict[tuple[str, str], sa.engine.interfaces.ReflectedColumn]:
    """Upgrade to a revision and return its columns, by table and name."""
    migrate.upgrade(database.url, revision)
    with database.across.read() as connection:
        return _of(connection)


def _of(connection: Connection) -> dict[tuple[str, str], sa.engine.interfaces.ReflectedColumn]:
    found = sa.inspect(connection)
    return {
        (table, column["name"]): column
        for table in found.get_table_names()
        for column in found.get_columns(table)
    }
