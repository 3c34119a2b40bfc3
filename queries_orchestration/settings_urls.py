"""What the URLs among the settings must be."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.model.public_url import clean_web_url


def check_database_url(url: str) -> None:
    """Refuse what names no application database.

    Raises:
        InvalidSettings: it does not, with what it should look like.
    """
    # The value is not shown: it holds a password.
    wanted = (
        "sqlite:////folder/queries.db, with an absolute path, or"
        " postgresql+psycopg2://user:password@host/database"
    )
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):
        raise InvalidSettings(
            f"QUERIES_DATABASE_URL is not a URL of a database. Write it as {wanted}."
        ) from None
    file = Path(parsed.database or "")
    is_file = parsed.drivername == "sqlite" and parsed.host is None and file.is_absolute()
    if not is_file and parsed.drivername != "postgresql+psycopg2":
        raise InvalidSettings(
            f"QUERIES_DATABASE_URL names no database that can be used here. Write it as {wanted}."
        )


def check_migration_url(url: str, database_url: str) -> None:
    """Refuse what does not name the PostgreSQL database of ``database_url``, for another user.

    Raises:
        InvalidSettings: it does not.
    """
    try:
        owned, used = make_url(url), make_url(database_url)
        is_same = (owned.drivername, owned.database) == (used.drivername, used.database)
    except (ArgumentError, ValueError):
        is_same = False
    if not is_same or used.drivername == "sqlite":
        raise InvalidSettings(
            "QUERIES_MIGRATION_URL is for PostgreSQL, and must name the same database as"
            " QUERIES_DATABASE_URL, with the user who owns the tables."
        )


def check_web_url(variable: str, url: str, trouble: str) -> None:
    """Refuse what is no address of the web.

    Raises:
        InvalidSettings: it is none; the message names ``variable`` and its ``trouble``.
    """
    # The value is not shown: it may hold a password.
    if clean_web_url(url) is None:
        raise InvalidSettings(
            f"{variable} {trouble}. Write it as https://host, with a port or a path where there"
            " is one."
        )
