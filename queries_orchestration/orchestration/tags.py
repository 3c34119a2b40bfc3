"""The names of all tags that runs carry: ids and codes only, never values or addresses."""

from __future__ import annotations

from typing import Final

from queries_orchestration.settings import DELIVERY_LANE, Settings

LANE: Final = "queries/lane"
WORKSPACE: Final = "queries/workspace"
OCCURRENCE: Final = "queries/occurrence"
EXPORT: Final = "queries/export"
SCHEDULE: Final = "queries/schedule"
OFFER: Final = "queries/offer"
BACKFILL: Final = "queries/backfill"
"""Holds the UTC day of the slots that a backfill admits or delivers; of a render its lane."""

PRIORITY: Final = "dagster/priority"
MAX_RUNTIME: Final = "dagster/max_runtime"

RUNTIME_MARGIN: Final = 120
"""Seconds that Dagster waits beyond a receive's own deadline before it ends the run."""


def work_tag(lane: str) -> str:
    """Return the tag that holds the key of a lane's work."""
    return OCCURRENCE if lane == DELIVERY_LANE else EXPORT


def max_runtime(lane: str, settings: Settings) -> str:
    """Return the seconds after which Dagster ends a run of ``lane``."""
    return str(int(settings.lane_deadline(lane)) + RUNTIME_MARGIN)
