"""Work a lane in this process through the real Dagster jobs: what ``tick --work`` starts.

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
from queries_orchestration.settings import Settings, load_settings
from queries_orchestration.store import cross_workspace
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer


def work_lane(
    lane: str, *, settings: Settings, instance: dg.DagsterInstance
) -> Iterator[tuple[Offer, bool]]:
    """Offer and execute, one by one, what waits in ``lane`` until nothing may start now.

    Yields:
        Each offer with whether its run succeeded.
    """
    database = Database(settings.database_url)
    job = defs.resolve_job_def(job_of(lane).name)
    while True:
        with database.transaction() as connection:
            offers = cross_workspace.offer_waiting(
                connection,
                lane,
                live_limit=settings.lane_offers(lane),
                lease=settings.offer_lease,
                at_most=1,
            )
        if not offers:
            return
        result = job.execute_in_process(
            run_config=run_config_of(offers[0]),
            tags=tags_of(offers[0], settings),
            instance=instance,
            raise_on_error=False,
        )
        yield offers[0], result.success


def main(lane: str) -> None:
    """Work ``lane`` with the settings of the environment and the instance of DAGSTER_HOME."""
    told = sys.stdout
    # The command reads our standard output: what anything else prints goes to the log.
    with redirect_stdout(sys.stderr), dg.DagsterInstance.get() as instance:
        for offer, success in work_lane(
            lane, settings=load_settings(os.environ), instance=instance
        ):
            line = {"work": offer.key, "success": success}
            told.write(json.dumps(line) + "\n")
            told.flush()


if __name__ == "__main__":
    main(sys.argv[1])
