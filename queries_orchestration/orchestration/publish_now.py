"""Publish what was just committed, without loading Dagster where nobody is to be asked."""

from __future__ import annotations

from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.publish import publish


def publish_now(backends: Backends, workspace_id: str, key: str) -> None:
    """Ask Dagster for the run of a piece of work at once.

    Where no web server is set, the sensors find the work.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    if not backends.settings.dagster_url:
        return
    # Imported here: it loads Dagster.
    from queries_orchestration.orchestration.run_requests import nudge

    publish(backends, workspace_id, key, nudge(backends.settings))
