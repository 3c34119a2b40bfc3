"""Work a lane in this process through the real Dagster jobs: what ``--work`` starts.

Each finished run is told on standard output as one JSON line.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout

import dagster as dg

from queries_orchestration.definitions import defs
from queries_orchestration.orchestration.run_requests import job_of, run_config_of, tags_of
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.settings import Settings, load_settings
from queries_orchestration.store import cross_workspace
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer


def work_lane(
    lane: str, *, settings: Settings, instance: dg.DagsterInstance, only: str | None = None
) -> Iterator[tuple[Offer, bool]]:
    """Offer and execute, one by one, what waits in ``lane`` until nothing may start now.

    Args:
        only: key of the one piece of work to do, out of turn; None: everything, in fair turns.

    Yields:
        Each offer with whether its run succeeded.
    """
    database = Database(settings.database_url)
    job = defs.resolve_job_def(job_of(lane).name)
    while True:
        offer = _next_offer(database, settings, lane, only)
        if offer is None:
            return
        result = job.execute_in_process(
            run_config=run_config_of(offer),
            tags=tags_of(offer, settings),
            instance=instance,
            raise_on_error=False,
        )
        yield offer, result.success


def _next_offer(
    database: Database, settings: Settings, lane: str, only: str | None
) -> Offer | None:
    if only is None:
        offers = offer_lane(database, settings, lane, at_most=1)
        return offers[0] if offers else None
    with database.across.transaction() as connection:
        workspace_id = cross_workspace.workspace_of(connection, only) or ""
        return cross_workspace.offer_one(
            connection, workspace_id, only, live_limit=None, lease=settings.offer_lease
        )


def main(lane: str, only: str | None = None) -> None:
    """Work ``lane`` with the settings of the environment and the instance of DAGSTER_HOME."""
    told = sys.stdout
    # The command reads our standard output: what anything else prints goes to the log.
    with redirect_stdout(sys.stderr), dg.DagsterInstance.get() as instance:
        for offer, success in work_lane(
            lane, settings=load_settings(os.environ), instance=instance, only=only
        ):
            line = {"work": offer.key, "success": success}
            told.write(json.dumps(line) + "\n")
            told.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
