"""Cursors: where a list goes on, opaque to the caller.

A list is in the order of a moment, the newest first, and of an id among those of one moment.
"""

from __future__ import annotations

import base64
import binascii
import json
from datetime import UTC, datetime
from typing import Annotated, Final

from fastapi import Query

from queries_orchestration.model.errors import Refused

LONGEST: Final = 400
MOST: Final = 200

LimitOf = Annotated[int, Query(ge=1, le=MOST, description="At most so many.")]
CursorOf = Annotated[
    str | None, Query(max_length=LONGEST, description="`next_cursor` of the page before.")
]


def write_cursor(at: datetime, key: str) -> str:
    """Return the cursor that stands after one row."""
    text = json.dumps([at.astimezone(UTC).isoformat(), key])
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def read_cursor(cursor: str | None) -> tuple[datetime, str] | None:
    """Return the moment and the id of the row that a cursor stands after.

    Raises:
        Refused: it is none of ours (``invalid_cursor``).
    """
    if cursor is None:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        at, key = json.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        moment = datetime.fromisoformat(at).astimezone(UTC)
    except (ValueError, TypeError, OverflowError, RecursionError, binascii.Error):
        raise _not_ours() from None
    if not isinstance(key, str) or "\0" in key:
        raise _not_ours()
    return moment, key


def _not_ours() -> Refused:
    return Refused(
        "The cursor is none of ours: give `next_cursor` of the page before, unchanged.",
        code="invalid_cursor",
    )
