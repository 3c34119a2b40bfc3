"""A pass of a dispatcher: its heartbeat at both ends, and what failed in it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from queries_orchestration.model.errors import QueriesError, StoreUnavailable
from queries_orchestration.observing.traces import span
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import UNEXPECTED
from queries_orchestration.store import dispatchers

log = logging.getLogger(__name__)


@contextmanager
def passing(backends: Backends, dispatcher: str) -> Iterator[None]:
    """Begin a pass of ``dispatcher``, which ends it by itself; what fails it is noted, and goes on.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    with backends.database.across.transaction() as connection:
        dispatchers.begin_pass(connection, dispatcher, dispatchers.this_process())
    try:
        with span("pass", dispatcher=dispatcher):
            yield
    except Exception as error:
        code = error.code if isinstance(error, QueriesError) else UNEXPECTED
        note_failure(backends, dispatcher, code)
        raise


def note_failure(backends: Backends, dispatcher: str, code: str) -> None:
    """Let the dispatcher's heartbeat tell of a failure; where it cannot, its silence will."""
    try:
        with backends.database.across.transaction() as connection:
            dispatchers.note_failure(connection, dispatcher, code=code)
    except StoreUnavailable:
        log.warning("pass_failure_not_noted dispatcher=%s code=%s", dispatcher, code)
