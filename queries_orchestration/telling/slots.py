"""The next slots of a recurrence as they are told."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from queries_orchestration.model.recurrences import Recurrence
from queries_orchestration.model.slot_readings import ReadSlot


def slots_json(recurrence: Recurrence, slots: Sequence[ReadSlot]) -> dict[str, Any]:
    """Return the JSON that tells slots: the instant, its local time and the one the rule names."""
    return {
        "cron": recurrence.cron,
        "time_zone": recurrence.time_zone,
        "slots": [
            {
                "slot": one.slot,
                "local": one.local.isoformat(),
                "named": one.named.isoformat(),
                "reading": one.reading,
            }
            for one in slots
        ],
    }
