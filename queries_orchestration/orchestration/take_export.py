"""Take an export for a run, and make its file: what the ops of both jobs that make files do."""

from collections.abc import Callable, Iterator

import dagster as dg
from pydantic import Field

from queries_orchestration.exports.settle import fail
from queries_orchestration.orchestration import metadata, tags
from queries_orchestration.orchestration.materialization import materialize
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import NOT_TAKEN, step
from queries_orchestration.orchestration.taking import nothing_to_do, take_next, take_work
from queries_orchestration.orchestration.told_run import (
    read_work,
    tag_outcome,
    tag_run,
    tag_working,
    tags_of_work,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.exports import Export
from queries_orchestration.telling.work import Work


class ExportConfig(dg.Config):
    """Which export to work on: ids only. As it is: the one that is next in turn."""

    export: str = Field(
        default="",
        description=(
            "Id of the export, as `queries exports list` shows it; empty: what is next in turn."
        ),
    )
    offer: int = Field(
        default=0,
        description="Number of the offer this run was launched with; 0 when you launch it.",
    )


def take_export(
    context: dg.OpExecutionContext, config: ExportConfig, worker: WorkerResource, *, lane: str
) -> Iterator[dg.Output[None]]:
    """Take the export for this run, and go on unless there is nothing to do.

    Raises:
        Failure: there is no such export, it is work of another lane, or its run cannot begin.
    """
    tag_working(context)
    if config.export:
        receive = take_work(
            context, worker, config.export, lane=lane, offer_number=config.offer or None
        )
    else:
        receive = take_next(context, worker, lane=lane)
    if receive is None:
        return
    backends, entries = worker.backends, None
    with step(context, backends, receive, lane=lane, fail=fail):
        work = read_work(backends, receive)
        tag_run(context, tags_of_work(work) if work else {})
        entries = metadata.of_work(work, backends.settings.public_url)
    if entries is not None:
        yield dg.Output(None, "started", metadata=entries | {"receive": receive.number})


def make_taken(
    context: dg.OpExecutionContext,
    worker: WorkerResource,
    make: Callable[[Backends, Receive, Heartbeat], Export],
    *,
    lane: str,
) -> None:
    """Make the file of the export that this run has taken, if it has."""
    backends, receive = worker.backends, worker.receive
    if receive is None:
        nothing_to_do(context, NOT_TAKEN)
        return
    work: Work | None = None
    made: Export | None = None
    with step(context, backends, receive, lane=lane, fail=fail):
        work = read_work(backends, receive)
        made = make(backends, receive, worker.heartbeat)
    if made is not None:
        tell_made(context, work, made, public_url=backends.settings.public_url)


def tell_made(
    context: dg.OpExecutionContext, work: Work | None, made: Export, *, public_url: str
) -> None:
    """Tell of a file that is made, by what is known already.

    The claim has ended with the file: the store is asked nothing more, so that nothing can fail
    that is done.
    """
    if work is not None:
        materialize(context, work, made, public_url=public_url)
    context.add_output_metadata(
        metadata.of_work(work, public_url) | metadata.of_file(made) | {"outcome": tags.READY}
    )
    tag_outcome(context, tags.READY)
