"""The boundary between a step and its op: failures are settled, then shown to Dagster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from queries_orchestration.deliveries.backends import Backends
from queries_orchestration.deliveries.settle import failures_settled
from queries_orchestration.model.errors import QueriesError, ReceiveLost
from queries_orchestration.store.occurrences import Receive


@contextmanager
def step(context: dg.OpExecutionContext, backends: Backends, receive: Receive) -> Iterator[None]:
    """Run one step of a receive; a failure is settled before the run shows red.

    A worker that lost its claim ends quietly: another one has the work. The cause of a failure
    is cut off, because driver text may hold rows or addresses and events are kept.
    """
    try:
        with failures_settled(backends, receive):
            yield
    except ReceiveLost as lost:
        context.log.info("%s: %s", lost.code, lost.message)
    except QueriesError as error:
        raise failure(error, receive) from None


def failure(error: QueriesError, receive: Receive) -> dg.Failure:
    """Return the Dagster failure that tells ``error``; no retry but the store's own."""
    return dg.Failure(
        description=f"{error.code}: {error.message}",
        metadata={
            "code": error.code,
            "occurrence": receive.occurrence_key,
            "receive": receive.number,
        },
        allow_retries=False,
    )
