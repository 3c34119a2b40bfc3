"""What a run tells of its work: its tags."""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from queries_orchestration.model.tallies import Tally
from queries_orchestration.orchestration import tags
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store.claims import Receive
from queries_orchestration.telling.work import Work, tally_of, work_of


def read_work(backends: Backends, receive: Receive) -> Work | None:
    """Return what ``receive`` works at; None if it is gone.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    with backends.database.read() as connection:
        return work_of(connection, receive)


def read_tally(backends: Backends, receive: Receive) -> Tally:
    """Count what the recipients got so far.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    with backends.database.read() as connection:
        return tally_of(connection, receive)


def tag_run(context: dg.OpExecutionContext, told: Mapping[str, str]) -> None:
    """Give the run more tags, in place of those of the same names."""
    context.instance.add_run_tags(context.run_id, dict(told))


def tag_outcome(context: dg.OpExecutionContext, outcome: str) -> None:
    """Let the run say what it led to."""
    tag_run(context, {tags.OUTCOME: outcome})


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
