"""What the URLs among the settings must be."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.model.public_url import clean_web_url


def check_database_url(url: str, variable: str = "QUERIES_DATABASE_URL") -> None:
    """Refuse what names no application database.

    Args:
        variable: the setting that it is.

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
            f"{variable} is not a URL of a database. Write it as {wanted}."
        ) from None
    file = Path(parsed.database or "")
    is_file = parsed.drivername == "sqlite" and parsed.host is None and file.is_absolute()
    if not is_file and parsed.drivername != "postgresql+psycopg2":
        raise InvalidSettings(
            f"{variable} names no database that can be used here. Write it as {wanted}."
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
