"""What a verb is given: the settings, and an application database that is ready for it."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Concatenate, ParamSpec

from sqlalchemy import make_url
from sqlalchemy.exc import ProgrammingError

from queries_orchestration.model.errors import InvalidSettings, Refused
from queries_orchestration.settings import Settings, load_settings
from queries_orchestration.store.migrate import is_current

Words = ParamSpec("Words")
Verb = Callable[Concatenate[Settings, Words], None]


def pass_settings(verb: Verb[Words]) -> Callable[Words, None]:
    """Give a verb the settings of the environment; ``--help`` needs none."""

    @functools.wraps(verb)
    def run(*args: Words.args, **kwargs: Words.kwargs) -> None:
        verb(load_settings(os.environ), *args, **kwargs)

    return run


def pass_ready_settings(verb: Verb[Words]) -> Callable[Words, None]:
    """Give a verb the settings, once ``queries init`` has made what they name.

    The verb refuses with ``not_initialised`` before that, and makes nothing.
    """

    @functools.wraps(verb)
    def run(*args: Words.args, **kwargs: Words.kwargs) -> None:
        settings = load_settings(os.environ)
        check_ready(settings.database_url)
        verb(settings, *args, **kwargs)

    return run


@contextmanager
def database_faults() -> Iterator[None]:
    """Tell that the database refuses what the command must do there.

    Raises:
        InvalidSettings: the user may not make, change or read our tables.
    """
    try:
        yield
    except ProgrammingError as error:
        state = getattr(error.orig, "pgcode", None) or type(error.orig).__name__
        raise InvalidSettings(
            f"The database of QUERIES_DATABASE_URL cannot be used ({state}). Name an empty one, or"
            " one that `queries init` made, and a user who may make and change its tables."
        ) from error


def is_ready(database_url: str) -> bool:
    """Tell whether the application database is there with every migration; makes nothing."""
    url = make_url(database_url)
    # Looked at first: to open an SQLite file makes it.
    is_there = url.get_backend_name() != "sqlite" or Path(str(url.database)).is_file()
    with database_faults():
        return is_there and is_current(database_url)


def check_ready(database_url: str) -> None:
    """Refuse to work on a database that ``queries init`` has not made ready.

    Raises:
        Refused: it is not (``not_initialised``).
    """
    if not is_ready(database_url):
        raise Refused(
            "There is no application database here yet, or it is not of this version."
            " Check QUERIES_HOME and QUERIES_DATABASE_URL, then run `queries init`.",
            code="not_initialised",
        )
