"""What the driver of the application database tells of, in our words: its own can hold rows."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from sqlalchemy.exc import (
    DataError,
    DBAPIError,
    IntegrityError,
    NotSupportedError,
    ProgrammingError,
    TimeoutError as PoolTimeout,
)

from queries_orchestration.model.errors import StoreUnavailable

OUR_FAULTS: Final = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
_NO_SUCH_TABLE: Final = "42P01"  # there was no `queries init`
_LOCKED: Final = "55P03"


@contextmanager
def our_errors() -> Iterator[None]:
    """Tell what the driver or the pool fails of in our words.

    Raises:
        StoreUnavailable: the database cannot be reached, is locked, full or too busy.
    """
    try:
        yield
    except DBAPIError as error:
        # ``from None`` in both cases: the driver's text can hold names and whole rows.
        state = _state_of(error)
        is_ours = isinstance(error, OUR_FAULTS) or is_undecodable(error)
        if is_ours and state != _NO_SUCH_TABLE:
            error.args = (f"The application database refused it ({state}{_rule_of(error)}).",)
            raise error from None
        if state == _LOCKED:
            raise StoreUnavailable(
                "A table of the application database was in use by others for too long, by a backup"
                f" perhaps ({state}). Try again."
            ) from None
        raise StoreUnavailable(
            "The application database cannot be reached or is busy"
            f" ({state}). Check QUERIES_DATABASE_URL, the disk and `queries init`."
        ) from None
    except PoolTimeout:
        raise StoreUnavailable("All connections to the application database are in use.") from None


def is_undecodable(error: DBAPIError) -> bool:
    """Whether SQLite's driver met text that is no UTF-8: it is a fault of the row.

    What SQLite itself says has a name; this only the driver says.
    """
    return isinstance(error.orig, sqlite3.OperationalError) and not hasattr(
        error.orig, "sqlite_errorname"
    )


def _state_of(error: DBAPIError) -> str:
    state = getattr(error.orig, "pgcode", None) or getattr(error.orig, "sqlite_errorname", None)
    return str(state or type(error.orig).__name__)


def _rule_of(error: DBAPIError) -> str:
    """Return what names the broken rule and holds no value."""
    if isinstance(error.orig, sqlite3.Error):
        return "" if is_undecodable(error) else f": {error.orig}"
    rule = getattr(getattr(error.orig, "diag", None), "constraint_name", None)
    return f": {rule}" if rule else ""
