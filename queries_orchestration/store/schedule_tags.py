"""The tag of a schedule: another one whenever a person's change makes it another schedule.

It is of what a person can change: the definition, the recipients, the state. The next slot and the
failures in a row move by themselves.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.model.errors import Refused
from queries_orchestration.store import outside_addresses, recipients
from queries_orchestration.store.rows import values_of
from queries_orchestration.store.schedules import Schedule

_MOVES_BY_ITSELF: Final = frozenset({"next_slot", "failure_streak", "written_by"})


def schedule_tag(connection: Connection, schedule: Schedule) -> str:
    """Return the tag of a schedule as it is."""
    columns = {
        name: value for name, value in values_of(schedule).items() if name not in _MOVES_BY_ITSELF
    }
    named = []
    for one in recipients.of_schedule(connection, schedule.workspace_id, schedule.id):
        outside = one.kind == "outside" and outside_addresses.get(
            connection, schedule.workspace_id, one.id
        )
        named.append([one.kind, one.id, outside.title if outside else None])
    told = json.dumps([columns, named], sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()[:32]


def check_unchanged(
    connection: Connection, schedule: Schedule, expected: Collection[str] | None
) -> None:
    """Let nobody write over what they have not seen.

    Call it in the transaction that writes, once nobody else can.

    Args:
        expected: the tags of which the schedule must have one; None: whatever it has.

    Raises:
        Refused: it has another one (``changed_meanwhile``).
    """
    if expected is not None and schedule_tag(connection, schedule) not in expected:
        raise Refused(
            "Somebody has changed the schedule since you read it: read it again, and change that.",
            code="changed_meanwhile",
        )
