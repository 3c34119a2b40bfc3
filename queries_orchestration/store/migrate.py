"""Bring an application database to the newest migration."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, func, select

from queries_orchestration.store.database import LOCK_SECONDS, Database, limit_waits
from queries_orchestration.store.roles import without_roles

_MIGRATIONS: Final = Path(__file__).parent / "migrations"
_MIGRATING: Final = 0x6D696772  # "migr": one number of our own in the database
_LOOK_AGAIN: Final = 0.2  # seconds


def upgrade(url: str, revision: str = "head") -> None:
    """Create or upgrade the tables of the application database at ``url``, as their owner.

    Two processes that upgrade at once take turns; the second finds nothing left to do.

    Args:
        revision: the last migration to apply; tests stop before the newest.

    Raises:
        StoreUnavailable: the database cannot be reached, or a table was in use for too long; what
            was done stays, and the next upgrade goes on from there.
    """
    # Imported here: only `queries init` and the tests migrate.
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    with _only_migration(Database(without_roles(url))) as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


@contextmanager
def _only_migration(database: Database) -> Iterator[Connection]:
    """Open a connection to migrate by, once nobody else does.

    On SQLite all is one transaction; on PostgreSQL each migration has its own.
    """
    if database.is_sqlite:
        with database.across.transaction() as connection:
            yield connection
        return
    with database.session() as turn, database.across.not_begun() as connection:
        # Not by waiting in the server: whoever builds an index would wait for that statement.
        while not turn.scalar(select(func.pg_try_advisory_lock(_MIGRATING))):
            time.sleep(_LOOK_AGAIN)
        limit_waits(connection, LOCK_SECONDS, whole_session=True)
        connection.commit()
        yield connection


def is_current(url: str) -> bool:
    """Tell whether the database at ``url`` has every migration of this version, or more.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    return has_every_migration(Database(url))


def has_every_migration(database: Database) -> bool:
    """Tell the same by connections that are there.

    A revision that this version does not know is a later one's: migrations keep the version before
    them working, so that one may be rolled back to, and both run during an upgrade.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    from alembic.runtime.migration import MigrationContext

    with database.across.read() as connection:
        revision = MigrationContext.configure(connection).get_current_revision()
    return revision is not None and revision not in _older()


@cache
def _older() -> frozenset[str]:
    """Return the revisions that this version knows and that are not its newest."""
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    return frozenset(one.revision for one in script.walk_revisions() if not one.is_head)
