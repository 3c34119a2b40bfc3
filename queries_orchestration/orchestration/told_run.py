"""What a run tells of its work: its tags. All of it is only for show, so nothing hangs on it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import dagster as dg

from queries_orchestration.model.tallies import Tally
from queries_orchestration.orchestration import tags
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store.claims import Receive
from queries_orchestration.telling.work import Work, tally_of, work_of

log = logging.getLogger(__name__)


def read_work(backends: Backends, receive: Receive) -> Work | None:
    """Return what ``receive`` works at; None if it is gone, or cannot be read now."""
    try:
        with backends.database.read(receive.workspace_id) as connection:
            return work_of(connection, receive)
    except Exception as error:  # noqa: BLE001 - read for show alone: no delivery fails for it
        log.warning("work_not_told work=%s type=%s", receive.key, type(error).__name__)
        return None


def read_tally(backends: Backends, receive: Receive) -> Tally:
    """Count what the recipients got so far; nothing is counted if it cannot be read now."""
    try:
        with backends.database.read(receive.workspace_id) as connection:
            return tally_of(connection, receive)
    except Exception as error:  # noqa: BLE001 - read for show alone: no delivery fails for it
        log.warning("work_not_told work=%s type=%s", receive.key, type(error).__name__)
        return Tally({}, {})


def tag_run(context: dg.OpExecutionContext, told: Mapping[str, str]) -> None:
    """Give the run more tags, in place of those of the same names, if Dagster can write them."""
    try:
        context.instance.add_run_tags(context.run_id, dict(told))
    except Exception as error:  # noqa: BLE001 - its storage may be locked, or the run deleted
        # Not by the log of the run, which is in the same storage.
        log.warning("tags_not_written type=%s", type(error).__name__)


def tag_outcome(context: dg.OpExecutionContext, outcome: str) -> None:
    """Let the run say what it led to."""
    tag_run(context, {tags.OUTCOME: outcome})


def tag_working(context: dg.OpExecutionContext) -> None:
    """Let a re-execution not say the outcome of the run that it repeats, whose tags it has."""
    if context.has_tag(tags.OUTCOME):
        tag_outcome(context, tags.WORKING)


def tags_of_work(work: Work) -> dict[str, str]:
    """Return the tags by which the runs of a piece of work are found, whoever launched them."""
    known = {
        tags.WORKSPACE: work.workspace_id,
        tags.SCHEDULE: work.schedule_id,
        tags.OCCURRENCE: work.occurrence_key,
        tags.EXPORT: work.export_id,
        tags.VIA: work.via,
    }
    return {name: value for name, value in known.items() if value is not None}
