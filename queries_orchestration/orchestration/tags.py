"""The names of all tags that runs carry: ids and codes only, never values or addresses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from queries_orchestration.settings import DELIVERY_LANE, RUN_LIMITS, Settings

LANE: Final = "queries/lane"
WORKSPACE: Final = "queries/workspace"
OCCURRENCE: Final = "queries/occurrence"
EXPORT: Final = "queries/export"
SCHEDULE: Final = "queries/schedule"
OFFER: Final = "queries/offer"
BACKFILL: Final = "queries/backfill"
VIA: Final = "queries/via"
OUTCOME: Final = "queries/outcome"

LANES: Final = tuple(RUN_LIMITS)
"""All lanes: each run of ours is of one."""

MEANINGS: Final[Mapping[str, str]] = {
    LANE: "Queue that the run belongs to: `delivery`, `export`, `report`, `backfill` or `upkeep`",
    WORKSPACE: "Id of the workspace",
    OCCURRENCE: "Key of the occurrence that is delivered, or that the rendered report is for",
    EXPORT: "Id of the file, in the making or made",
    SCHEDULE: "Id of the schedule",
    OFFER: "Number of the offer that the run was launched with; none if a person launched it",
    BACKFILL: "UTC day of the slots that a backfill admits or delivers",
    VIA: "How the occurrence came about: `recurrence`, `run-now`, `dagster-ui` or `backfill`",
    OUTCOME: "What the run led to (see green, red, grey); none, or `working`, while it is at work",
}
"""What each tag of ours tells; docs/dagster-ui.md is this table for people."""

# Beside how an occurrence can end (model/outcomes.py), what the tag of the outcome says of a run.
READY: Final = "ready"
FAILED: Final = "failed"
CANCELLED: Final = "cancelled"
TRIED_AGAIN: Final = "tried_again"
SUPERSEDED: Final = "superseded"
NOTHING_TO_DO: Final = "nothing_to_do"
WORKING: Final = "working"

PRIORITY: Final = "dagster/priority"
MAX_RUNTIME: Final = "dagster/max_runtime"
QUEUE: Final = "dagster-celery/queue"
"""Of warm workers: each lane has a queue of its own, with its name."""

RUNTIME_MARGIN: Final = 120
"""Seconds that Dagster waits beyond a receive's own deadline before it ends the run."""


def work_tag(lane: str) -> str:
    """Return the tag that holds the key of a lane's work."""
    return OCCURRENCE if lane == DELIVERY_LANE else EXPORT


def max_runtime(lane: str, settings: Settings) -> str:
    """Return the seconds after which Dagster ends a run of ``lane``."""
    return str(int(settings.lane_deadline(lane)) + RUNTIME_MARGIN)
