"""Cursors: where a list goes on, opaque to the caller.

A list is in the order of a moment, the newest first, and of an id among those of one moment; or in
the order of names.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from fastapi import Query

from queries_orchestration.model.errors import Refused
from queries_orchestration.model.titles import is_one_line

LONGEST: Final = 400
MOST: Final = 200

LimitOf = Annotated[int, Query(ge=1, le=MOST, description="At most so many.")]
CursorOf = Annotated[
    str | None, Query(max_length=LONGEST, description="`next_cursor` of the page before.")
]


def write_cursor(at: datetime, key: str) -> str:
    """Return the cursor that stands after one row."""
    return _written([at.astimezone(UTC).isoformat(), key])


def read_cursor(cursor: str | None) -> tuple[datetime, str] | None:
    """Return the moment and the id of the row that a cursor stands after.

    Raises:
        Refused: it is none of ours (``invalid_cursor``).
    """
    if cursor is None:
        return None
    try:
        at, key = _read(cursor)
        moment = datetime.fromisoformat(at).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise _not_ours() from None
    return moment, _text(key)


def write_name_cursor(name: str) -> str:
    """Return the cursor that stands after one name."""
    return _written([name])


def read_name_cursor(cursor: str | None) -> str | None:
    """Return the name that a cursor stands after.

    Raises:
        Refused: it is none of ours (``invalid_cursor``).
    """
    if cursor is None:
        return None
    try:
        (name,) = _read(cursor)
    except (ValueError, TypeError):
        raise _not_ours() from None
    return _text(name)


def _written(place: list[str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(place).encode()).decode().rstrip("=")


def _read(cursor: str) -> Any:
    padded = cursor + "=" * (-len(cursor) % 4)
    try:
        return json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
    except (ValueError, RecursionError, binascii.Error):
        raise _not_ours() from None


def _text(key: Any) -> str:
    if not isinstance(key, str) or not is_one_line(key):
        raise _not_ours()
    return key


def _not_ours() -> Refused:
    return Refused(
        "The cursor is none of ours: give `next_cursor` of the page before, unchanged.",
        code="invalid_cursor",
    )
