"""Retention: everything whose time is over, kind by kind and workspace by workspace."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from queries_orchestration.model.errors import QueriesError, StoreUnavailable
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.retention import upkeep
from queries_orchestration.retention.files import abort_uploads, compare, remove_expired
from queries_orchestration.retention.found import Found, Kind, Retaining
from queries_orchestration.retention.history import (
    remove_events,
    roll_up_exports,
    roll_up_occurrences,
)
from queries_orchestration.retention.runs import RunLog, remove_runs
from queries_orchestration.store import workspaces
from queries_orchestration.store.dispatchers import RETENTION

_OF_A_WORKSPACE: Final[tuple[tuple[Kind, Callable[[Retaining, str], None]], ...]] = (
    ("files_without_row", compare),
    ("occurrences", roll_up_occurrences),
    ("exports", roll_up_exports),
    ("audit_events", remove_events),
)

log = logging.getLogger(__name__)


def retain(
    backends: Backends, run_log: RunLog, *, do: bool, seconds: float | None = None
) -> list[Found]:
    """Find, and remove if told so, what is past its age; killed anywhere, it can be done again.

    What cannot be done of one kind, or in one workspace, keeps no other from being done.

    Args:
        do: remove it; else it is only counted, and nothing is written.
        seconds: after which no further batch is begun; None: all is done.

    Returns:
        What there is, or was removed, of each kind.

    Raises:
        StoreUnavailable: the database cannot be reached; what is committed stays.
    """
    one = Retaining(backends, do=do, seconds=seconds)
    if do:
        upkeep.begin(backends, RETENTION)
    with backends.database.across.read() as connection:
        places = [place.id for place in workspaces.listing(connection)]
    parts: list[tuple[Kind, Callable[[], None]]] = [
        ("expired_files", partial(remove_expired, one)),
        ("stale_uploads", partial(abort_uploads, one)),
        *((kind, partial(part, one, place)) for kind, part in _OF_A_WORKSPACE for place in places),
        ("runs", partial(remove_runs, one, run_log)),
    ]
    for kind, part in parts:
        with _told(one.found[kind]):
            part()
    if do:
        for found in one.found.values():
            log.info("retained kind=%s removed=%d", found.kind, found.count)
        failed = next((found.code for found in one.found.values() if found.code), None)
        upkeep.end(backends, RETENTION, failed_with=failed)
    return list(one.found.values())


@contextmanager
def _told(found: Found) -> Iterator[None]:
    try:
        with unforeseen_told(found.kind):
            yield
    except StoreUnavailable:
        raise
    except QueriesError as error:
        log.warning("retention_failed kind=%s code=%s", found.kind, error.code)
        found.code, found.message, found.is_whole = error.code, error.message, False
