"""Why a source's database cannot be connected to, in our words.

Before there is a connection the driver gives no SQLSTATE, only a text, which names the host, the
user and the database. It is looked into here and goes no further. A server that speaks another
language than English is told in general words.
"""

from __future__ import annotations

import os
import sqlite3
from typing import Final
from urllib.parse import unquote

from sqlalchemy import URL
from sqlalchemy.exc import DBAPIError

from queries_orchestration.model.errors import SourceUnavailable

_CORRECT: Final = "Correct the URL, here and for the workers."
_REASONS: Final = (
    ("could not translate host name", "its host is unknown.", _CORRECT),
    (
        "Connection refused",
        "nothing listens at its host and port.",
        "Start the server, or correct the URL, here and for the workers.",
    ),
    (
        "No such file or directory",
        "its server has no socket there.",
        "Start the server, or correct the URL, here and for the workers.",
    ),
    (
        "timeout expired",
        "its server does not answer in time.",
        "See whether it runs and a firewall lets us through, or correct host and port of the URL.",
    ),
    (
        "authentication failed",
        "its server refuses the user or the password.",
        "Correct them in the URL, here and for the workers.",
    ),
    ("no password supplied", "its server asks for a password, and the URL has none.", _CORRECT),
    (
        "is not permitted to log in",
        "its user may not log in.",
        "Grant it LOGIN, or correct the URL, here and for the workers.",
    ),
    (
        "permission denied for database",
        "its user may not connect to the database.",
        "Grant it CONNECT, or correct the URL, here and for the workers.",
    ),
    (
        "no pg_hba.conf entry",
        "its server lets nobody in from here as this user.",
        "Add a line to its pg_hba.conf, or correct the URL, here and for the workers.",
    ),
    (
        "too many c",  # connections of a role or a database, clients of the server
        "its server has no connection left.",
        "End some, or raise the limit of its server, database or user.",
    ),
    (
        "connection slots are reserved",
        "its server has no connection left.",
        "End some, or raise the limit of its server.",
    ),
    (
        "the database system is",
        "its server is starting or stopping.",
        "Wait until it is up.",
    ),
    ("SSL", "it and its server do not agree about SSL.", "Correct `sslmode` in the URL."),
    ("invalid", "an option of its URL is none or has no such value.", _CORRECT),
)
"""What PostgreSQL or its client library says, what is wrong, what to do; the first that fits."""


def connect_error(error: DBAPIError, what: str, url: URL) -> SourceUnavailable:
    """Tell why a connection could not be made, with nothing of its URL.

    Args:
        error: of the engine's ``connect``.
        what: how messages name the connection.
        url: the engine's.
    """
    raised = error.orig
    if isinstance(raised, sqlite3.Error):
        because, advice = _of_sqlite(raised, url)
    else:
        because, advice = _of_postgresql(str(raised), type(raised).__name__)
    return SourceUnavailable(f"{what} cannot be reached: {because} {advice}")


def _of_sqlite(error: sqlite3.Error, url: URL) -> tuple[str, str]:
    # As the engine spells it. Unlike Path.exists, this raises nothing where we may not look.
    path = unquote((url.database or "").removeprefix("file:"))
    if not os.access(path, os.F_OK):
        return "its file does not exist, or we may not enter its folder.", (
            f"{_CORRECT} A path that does not begin with a slash counts from where each of them"
            " was started."
        )
    if os.path.isdir(path):
        return "its file is a folder.", _CORRECT
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    return f"its file cannot be opened ({name}).", "Let the user of this process read it."


def _of_postgresql(said: str, kind: str) -> tuple[str, str]:
    if all(part in said for part in ("FATAL:  database ", " does not exist")):
        return "its server has no such database.", _CORRECT
    if all(part in said for part in ("FATAL:  role ", " does not exist")):
        return "its server does not know the user.", _CORRECT
    for part, because, advice in _REASONS:
        if part in said:
            return because, advice
    return f"its server cannot be talked to ({kind}).", (
        "See whether it runs, and check host, port, database, user and password of the URL."
    )
