"""Generated ids, and the keys built from them.

Ids are UUIDs written in 26 lower-case base-32 characters, so that an occurrence key
(two of them, or one and a slot) stays within the 63 characters a Dagster tag keeps.
"""

from __future__ import annotations

import base64
import re
import uuid
from datetime import UTC, date, datetime

_ID = re.compile("[a-z2-7]{26}")
_SLOT = "%Y%m%dT%H%M%SZ"


def new_id() -> str:
    """Return a new id, unique over all workspaces."""
    return base64.b32encode(uuid.uuid4().bytes).decode().rstrip("=").lower()


def is_id(text: str) -> bool:
    """Whether ``text``, which may be anything, has the form of an id."""
    return _ID.fullmatch(text) is not None


def slot_key(schedule_id: str, slot: datetime) -> str:
    """Return the key of the occurrence that ``schedule_id`` has at ``slot`` (an instant)."""
    return f"{schedule_id}@{slot.astimezone(UTC).strftime(_SLOT)}"


def day_of_slot(key: str) -> date | None:
    """Return the UTC day of the slot whose occurrence has ``key``; None if it is of none."""
    _, mark, slot = key.partition("@")
    return datetime.strptime(slot, _SLOT).date() if mark else None  # noqa: DTZ007 a day in UTC


def schedule_of(key: str) -> str | None:
    """Return the id of the schedule that the occurrence with ``key`` is of; None of an export."""
    schedule, mark, _ = key.replace("!", "@").partition("@")
    return schedule if mark else None


def request_key(schedule_id: str, request_id: str) -> str:
    """Return the key of the occurrence that one run-now request asks for."""
    return f"{schedule_id}!{request_id}"


def communication_key(occurrence_key: str, recipient_id: str) -> str:
    """Return the key under which one recipient gets the one message of an occurrence."""
    return f"{occurrence_key}.{recipient_id}"


def notice_key(kind: str, occurrence_key: str, person_id: str) -> str:
    """Return the key under which one person is told once of a failure or a pause."""
    return f"notice.{kind}.{occurrence_key}.{person_id}"
