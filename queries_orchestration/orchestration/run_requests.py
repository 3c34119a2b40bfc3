"""From an offer to the Dagster run that takes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

from queries_orchestration.model.ids import day_of_slot
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.deliver_occurrence import deliver_occurrence, start
from queries_orchestration.orchestration.export_query import export_query, start_export
from queries_orchestration.orchestration.nudge import launch_run
from queries_orchestration.orchestration.render_report import render_report, start_render
from queries_orchestration.receives.publish import Answer, Launch
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE, REPORT_LANE, Settings
from queries_orchestration.store.offers import Offer

_WORK: Final[Mapping[str, tuple[dg.JobDefinition, dg.OpDefinition, str]]] = {
    DELIVERY_LANE: (deliver_occurrence, start, "occurrence"),
    EXPORT_LANE: (export_query, start_export, "export"),
    REPORT_LANE: (render_report, start_render, "export"),
}
"""By lane: the job that works it, its first op, and what that op's config calls the work."""


def job_of(lane: str) -> dg.JobDefinition:
    """Return the job that works a lane."""
    return _WORK[lane][0]


def run_config_of(offer: Offer) -> dict[str, Any]:
    """Return the config of the run: the key of the work and the offer's number."""
    _, op, key = _WORK[offer.lane]
    return {"ops": {op.name: {"config": {key: offer.key, "offer": offer.number}}}}


def tags_of(offer: Offer, settings: Settings) -> dict[str, str]:
    """Return the tags by which an operator finds the run, and Dagster queues it fairly."""
    carried = {
        tags.LANE: offer.lane,
        tags.work_tag(offer.lane): offer.key,
        tags.WORKSPACE: offer.workspace_id,
        tags.OFFER: str(offer.number),
        tags.PRIORITY: str(offer.priority),
        tags.MAX_RUNTIME: tags.max_runtime(offer.lane, settings),
    }
    if offer.schedule_id:
        carried[tags.SCHEDULE] = offer.schedule_id
    if offer.backfill:
        day = day_of_slot(offer.key)
        carried[tags.BACKFILL] = day.isoformat() if day else offer.lane
    return carried


def run_request_of(offer: Offer, settings: Settings) -> dg.RunRequest:
    """Return the run request of an offer; its run key only cuts noise, the store decides."""
    return dg.RunRequest(
        run_key=offer.run_key,
        run_config=run_config_of(offer),
        tags=tags_of(offer, settings),
        job_name=job_of(offer.lane).name,
    )


def nudge(settings: Settings) -> Launch:
    """Return what asks Dagster's web server for the run of an offer at once.

    Without ``QUERIES_DAGSTER_URL`` every launch is refused, and the sensor finds the work.
    """

    def launch(offer: Offer) -> Answer:
        if not settings.dagster_url:
            return "refused"
        return launch_run(
            settings.dagster_url,
            job_of(offer.lane).name,
            config=run_config_of(offer),
            tags=tags_of(offer, settings),
        )

    return launch
