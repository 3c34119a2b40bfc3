"""The errors of a source's database in our words.

Driver text may hold values of rows, so it stops here: our errors name an SQLSTATE or SQLite's
error name only.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import DBAPIError

from queries_orchestration.exports.source_watch import Watch
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import (
    InvalidRuntimeValue,
    LimitExceeded,
    QueriesError,
    ReceiveTimeout,
    SourceBroken,
    SourceUnavailable,
)

_TYPE: Final = (
    "a field's type does not allow what is asked of it: make the key of, and sort, filter and group"
    " by, fields of types that their database can compare"
)
_WORDS: Final = {
    "42P01": "its relation does not exist",
    "3F000": "its schema does not exist",
    "42703": "a column of it does not exist",
    "0A000": _TYPE,
    "42704": _TYPE,
    "42804": _TYPE,
    "42846": _TYPE,
    "42883": _TYPE,
    "22021": "it holds text that is not in its database's encoding",
}
_SQLITE_WORDS: Final = {
    "no such": "its relation or a column of it does not exist",
    "user-defined": "a value in it is none of its field's type",
}
_UNAVAILABLE_CLASSES: Final = ("08", "40", "53", "57", "58")
_UNAVAILABLE_STATES: Final = ("25P03", "25P04", "55P03")
_UNAVAILABLE_SQLITE: Final = (
    "SQLITE_BUSY",
    "SQLITE_CANTOPEN",
    "SQLITE_FULL",
    "SQLITE_IOERR",
    "SQLITE_LOCKED",
    "SQLITE_NOMEM",
    "SQLITE_PROTOCOL",
)
_UNREADABLE: Final = ("22003", "22007", "22008", "22009", "22P02")
"""What PostgreSQL says of a text that is no value of the type that it should be."""
_UNTRANSLATABLE: Final = "22P05"


class _ValueFailed(SourceBroken):
    """A value of the data, or one that a filter compares with, cannot be computed."""

    def __init__(self, what: str, state: str) -> None:
        wrong = "cannot be computed"
        if state == _UNTRANSLATABLE:
            wrong = "has a character that Unicode or its database's encoding lacks"
        self.because = (
            f"{what} cannot be read as it is defined: a value in it {wrong} (SQLSTATE {state})."
        )
        self.state = state
        super().__init__(f"{self.because} Correct the dataset.")


@contextmanager
def values_named(query: CompiledQuery) -> Iterator[None]:
    """Name the query's own values where one of them may be what its database cannot compute.

    Raises:
        InvalidRuntimeValue: the database cannot read a value as what its column holds.
        SourceBroken: it cannot compute a value.
    """
    try:
        yield
    except _ValueFailed as error:
        if not query.given:
            raise
        given = ", ".join(query.given)
        if error.state in (*_UNREADABLE, _UNTRANSLATABLE):
            raise InvalidRuntimeValue(
                f"A value is none that its column in the database can hold (SQLSTATE"
                f" {error.state}). The dataset {query.dataset} is asked with {given}: give"
                " another value there; if all are right, correct the dataset."
            ) from None
        raise SourceBroken(
            f"{error.because} Correct the dataset, or what it is asked with: {given}."
        ) from None


def in_our_words(error: Exception, what: str, watch: Watch) -> QueriesError:
    raised = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(raised, sqlite3.Error):
        return _from_sqlite(raised, what, watch)
    state: str | None = getattr(raised, "pgcode", None)
    if state == "57014" or (state is None and (watch.is_interrupted or watch.is_over())):
        return _interrupted(what, watch)
    if state is None or state[:2] in _UNAVAILABLE_CLASSES or state in _UNAVAILABLE_STATES:
        return _unavailable(what, state or type(raised).__name__)
    if state == "42501":
        return SourceBroken(
            f"{what} cannot be read: the connection's database user may not (SQLSTATE 42501)."
            " Grant it SELECT.",
            code="source_permission_denied",
        )
    if state[:2] == "22" and state not in _WORDS:
        return _ValueFailed(what, state)
    return _broken(what, f"SQLSTATE {state}", _WORDS.get(state, ""))


def _from_sqlite(error: sqlite3.Error, what: str, watch: Watch) -> QueriesError:
    # Errors that the driver raises by itself, such as a closed connection, have no name.
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    if name == "SQLITE_INTERRUPT":
        return _interrupted(what, watch)
    if name.startswith(_UNAVAILABLE_SQLITE):
        return _unavailable(what, name)
    if name == "SQLITE_NOTADB":
        return SourceBroken(
            f"{what} leads to a file that is no SQLite database. Correct its URL, here and for the"
            " workers."
        )
    words = (words for start, words in _SQLITE_WORDS.items() if str(error).startswith(start))
    return _broken(what, name, next(words, ""))


def _interrupted(what: str, watch: Watch) -> QueriesError:
    if watch.is_too_long():
        return LimitExceeded(
            f"{what} was not read within the {watch.statement_seconds:g} seconds that a statement"
            " may run in this workspace. Ask for less, let the database find it by an index, or"
            " raise `statement_seconds` of the workspace in the catalog.",
            code="statement_timeout",
        )
    if watch.is_over():
        return ReceiveTimeout(f"{what} could not be read in the time that was left.")
    return SourceUnavailable(
        f"{what} could not be read: the statement was cancelled.", code="source_interrupted"
    )


def _unavailable(what: str, state: str) -> SourceUnavailable:
    return SourceUnavailable(
        f"{what} cannot be reached or is busy ({state}). Check the connection and its database."
    )


def _broken(what: str, state: str, words: str) -> SourceBroken:
    because = f": {words} ({state})" if words else f" ({state})"
    return SourceBroken(f"{what} cannot be read as it is defined{because}. Correct the dataset.")
