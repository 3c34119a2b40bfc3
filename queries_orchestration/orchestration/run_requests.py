"""From an offer to the Dagster run that takes it."""

from __future__ import annotations

import dagster as dg

from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.deliver_occurrence import (
    OccurrenceConfig,
    deliver_occurrence,
    start,
)
from queries_orchestration.settings import Settings
from queries_orchestration.store.offers import Offer


def run_config_of(offer: Offer) -> dg.RunConfig:
    """Return the config of the run: the occurrence's key and the offer's number."""
    return dg.RunConfig(
        ops={start.name: OccurrenceConfig(occurrence=offer.occurrence_key, offer=offer.number)}
    )


def tags_of(offer: Offer, settings: Settings) -> dict[str, str]:
    """Return the tags by which an operator finds the run, and Dagster queues it fairly."""
    return {
        tags.LANE: offer.lane,
        tags.OCCURRENCE: offer.occurrence_key,
        tags.WORKSPACE: offer.workspace_id,
        tags.SCHEDULE: offer.schedule_id,
        tags.OFFER: str(offer.number),
        tags.PRIORITY: str(offer.priority),
        tags.MAX_RUNTIME: str(int(settings.delivery_deadline) + tags.RUNTIME_MARGIN),
    }


def run_request_of(offer: Offer, settings: Settings) -> dg.RunRequest:
    """Return the run request of an offer; its run key only cuts noise, the store decides."""
    return dg.RunRequest(
        run_key=offer.run_key,
        run_config=run_config_of(offer),
        tags=tags_of(offer, settings),
        job_name=deliver_occurrence.name,
    )
