"""The names of all tags that runs carry: ids and codes only, never values or addresses."""

from __future__ import annotations

from typing import Final

LANE: Final = "queries/lane"
OCCURRENCE: Final = "queries/occurrence"
WORKSPACE: Final = "queries/workspace"
SCHEDULE: Final = "queries/schedule"
OFFER: Final = "queries/offer"

PRIORITY: Final = "dagster/priority"
MAX_RUNTIME: Final = "dagster/max_runtime"

RUNTIME_MARGIN: Final = 120
"""Seconds that Dagster waits beyond a receive's own deadline before it ends the run."""
