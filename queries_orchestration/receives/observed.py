"""One receive, observed: its log lines say what they are about, and it is a span of its trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from queries_orchestration.observing.about import about, ids_of_work
from queries_orchestration.observing.traces import span
from queries_orchestration.store.claims import Receive


@contextmanager
def observed(receive: Receive, *, lane: str, run_id: str) -> Iterator[None]:
    """Let what happens within be that of ``receive``, in the Dagster run ``run_id``."""
    ids = {**ids_of_work(receive.key), "workspace": receive.workspace_id, "run": run_id}
    with (
        about(**ids, receive=str(receive.number), lane=lane),
        span("receive", work=receive.key, receive=receive.number, lane=lane, run=run_id),
    ):
        yield
