"""The boundary between a step and its op: failures are settled, then shown to Dagster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import dagster as dg
from dagster._core.errors import DagsterExecutionInterruptedError

from queries_orchestration.deliveries import recover
from queries_orchestration.model.errors import QueriesError, ReceiveLost, TransientError
from queries_orchestration.orchestration.dagster_runs import DagsterRuns
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import Fail, failures_settled
from queries_orchestration.receives.heartbeat import Terminated
from queries_orchestration.store.claims import Receive

NOT_TAKEN: Final = (
    "This run repeats only a part of another one and has not taken the work, so it does nothing."
    " What is settled is not worked again: run the schedule now, or export anew."
)


@contextmanager
def step(
    context: dg.OpExecutionContext, backends: Backends, receive: Receive, *, lane: str, fail: Fail
) -> Iterator[None]:
    """Run one step of a receive; a failure is settled before the run shows red.

    A worker that lost its claim ends quietly: another one has the work. The cause of a failure
    is cut off, because driver text may hold rows or addresses and events are kept. A run that an
    operator terminates settles its work as cancelled; one that is merely stopped is offered again
    when its heartbeat has been silent.

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
                    raise DagsterExecutionInterruptedError from None
                raise
    except ReceiveLost as lost:
        context.log.info("%s: %s", lost.code, lost.message)
    except QueriesError as error:
        raise failure(error, receive) from None


def terminated(context: dg.OpExecutionContext) -> Callable[[], bool]:
    """Return what tells whether an operator has terminated the run of ``context``."""
    runs = DagsterRuns(context.instance)
    return lambda: runs.of_receive(context.run_id) == "cancelled"


def failure(error: QueriesError, receive: Receive) -> dg.Failure:
    """Return the Dagster failure that tells ``error``; no retry but the store's own."""
    return dg.Failure(
        description=f"{error.code}: {error.message}",
        metadata={"code": error.code, "work": receive.key, "receive": receive.number},
        allow_retries=False,
    )


def refusal(error: QueriesError) -> dg.Failure:
    """Return the Dagster failure of a run that could not start."""
    return dg.Failure(description=f"{error.code}: {error.message}", allow_retries=False)
