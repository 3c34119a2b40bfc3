"""The boundary between a step and its op: failures are settled, then shown to Dagster."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

from queries_orchestration.deliveries import recover
from queries_orchestration.model.errors import QueriesError, ReceiveLost, TransientError
from queries_orchestration.orchestration import metadata, tags
from queries_orchestration.orchestration.dagster_runs import DagsterRuns
from queries_orchestration.orchestration.told_errors import told
from queries_orchestration.orchestration.told_run import read_work, tag_outcome
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import (
    Fail,
    failures_settled,
    is_final,
    unforeseen_told,
)
from queries_orchestration.receives.heartbeat import Terminated
from queries_orchestration.settings import MAX_RECEIVES
from queries_orchestration.store.claims import Receive

NOT_TAKEN: Final = (
    "This run repeats only a part of another one and has not taken the work, so it does nothing."
    " What is settled is not worked again: run the schedule now, or export anew."
)

log = logging.getLogger(__name__)


@contextmanager
def step(
    context: dg.OpExecutionContext, backends: Backends, receive: Receive, *, lane: str, fail: Fail
) -> Iterator[None]:
    """Run one step of a receive; a failure is settled, and the run red only if it is final.

    What is tried again by itself needs nobody: the run says so and ends green, as that of a worker
    that lost its claim does, since another one has the work; unless it was reported lost. The
    cause of a failure is cut off, because driver text may hold rows or addresses and events are
    kept; so is its message, unless its code says that it names nobody. A run that an operator
    terminates settles its work as cancelled; one that is merely stopped is offered again when its
    heartbeat has been silent.

    Args:
        fail: how this kind of work is settled as failed.
    """
    try:
        with failures_settled(backends, receive, fail):
            try:
                yield
            except (TransientError, Terminated, DagsterExecutionInterruptedError):
                # A statement that was interrupted looks like a source that went away.
                if terminated(context)():
                    recover.cancel(backends, lane, receive.workspace_id, receive.key)
                    tag_outcome(context, tags.CANCELLED)
                    raise DagsterExecutionInterruptedError from None
                raise
    except ReceiveLost as lost:
        if is_reported_lost(context):
            # Ending well, it would turn the red run green.
            raise failure(lost, receive, {}) from None
        context.log.info("%s: %s", lost.code, lost.message)
        tag_outcome(context, tags.SUPERSEDED)
    except QueriesError as error:
        if not is_final(receive, error):
            context.log.warning(
                "Receive %d of %d failed with %s It is tried again by itself.",
                receive.number,
                MAX_RECEIVES,
                told(error),
            )
            tag_outcome(context, tags.TRIED_AGAIN)
            return
        tag_outcome(context, tags.FAILED)
        raise failure(error, receive, led_to(backends, receive)) from None


def is_reported_lost(context: dg.OpExecutionContext) -> bool:
    """Tell whether the run of ``context`` was reported as failed, though its worker still works."""
    try:
        run = context.instance.get_run_by_id(context.run_id)
    except Exception as error:  # noqa: BLE001 - whatever Dagster's storage has
        log.warning("termination_not_known type=%s", type(error).__name__)
        return False
    return run is not None and run.status == dg.DagsterRunStatus.FAILURE


def led_to(backends: Backends, receive: Receive) -> dict[str, Any]:
    """Return the entries that lead from a failure to its work; none while the store is away."""
    try:
        return metadata.of_work(read_work(backends, receive), backends.settings.public_url)
    except QueriesError:
        return {}


def terminated(context: dg.OpExecutionContext) -> Callable[[], bool]:
    """Return what tells whether an operator has terminated the run of ``context``.

    While Dagster cannot be asked, nobody has: the heartbeat asks, and must go on beating.
    """
    runs = DagsterRuns(context.instance)

    def is_terminated() -> bool:
        try:
            return runs.of_receive(context.run_id) == "cancelled"
        except Exception as error:  # noqa: BLE001 - whatever Dagster's storage has
            log.warning("termination_not_known type=%s", type(error).__name__)
            return False

    return is_terminated


def failure(error: QueriesError, receive: Receive, more: Mapping[str, Any]) -> dg.Failure:
    """Return the Dagster failure that tells ``error``; no retry but the store's own.

    Args:
        more: further entries of its metadata.
    """
    return dg.Failure(
        description=told(error),
        metadata={"code": error.code, "work": receive.key, "receive": receive.number, **more},
        allow_retries=False,
    )


@contextmanager
def refusals_shown(context: dg.OpExecutionContext) -> Iterator[None]:
    """Show what fails before, or without, a receive: by its code, and without its cause."""
    try:
        with unforeseen_told(context.op.name):
            yield
    except QueriesError as error:
        raise refusal(error) from None


def refusal(error: QueriesError, more: Mapping[str, Any] | None = None) -> dg.Failure:
    """Return the Dagster failure of a run that could not start, or not do all.

    Args:
        more: entries of its metadata.
    """
    return dg.Failure(description=told(error), metadata=more, allow_retries=False)
