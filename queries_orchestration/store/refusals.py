"""Who was refused for lack of authority or access is written down, whatever becomes of the writing.

The refused work's own transaction is rolled back, so that this is one of its own.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import SQLAlchemyError

from queries_orchestration.model.audit import DENIALS, Action, AuditEvent, By, Subject
from queries_orchestration.model.clock import Clock
from queries_orchestration.model.errors import PermanentError, StoreUnavailable
from queries_orchestration.model.ids import is_id
from queries_orchestration.store import audit
from queries_orchestration.store.database import Database

log = logging.getLogger(__name__)


@contextmanager
def refusals_recorded(
    database: Database,
    workspace_id: str,
    *,
    by: By,
    attempted: Action,
    subject: Subject,
    clock: Clock,
) -> Iterator[None]:
    """Record who is refused within for lack of authority or access, and refuse all the same.

    Args:
        attempted: what they ask for.
        subject: of which; ``Subject.asked`` where it is somebody's text.
    """
    try:
        yield
    except PermanentError as error:
        if error.code in DENIALS:
            record_refusal(
                database,
                workspace_id,
                by=by,
                attempted=attempted,
                subject=subject,
                code=error.code,
                clock=clock,
            )
        raise


def record_refusal(
    database: Database,
    workspace_id: str,
    *,
    by: By,
    attempted: Action,
    subject: Subject,
    code: str,
    clock: Clock,
) -> None:
    """Write a refusal down, in a transaction of its own.

    It raises nothing: where it cannot be written that is logged, and the refusal is still told.
    Who is named by a text that is no id of ours is nobody whom the trail could tell of.

    Args:
        code: why, of the refusal.
    """
    if not all(is_id(one) for one in (by.person_id, by.outside_id) if one is not None):
        return
    try:
        with database.transaction(workspace_id) as connection:
            audit.record(
                connection,
                AuditEvent(
                    workspace_id=workspace_id,
                    at=clock(),
                    by=by,
                    action="refused",
                    subject=subject,
                    code=code,
                    attempted=attempted,
                ),
            )
    except (StoreUnavailable, SQLAlchemyError) as error:
        log.warning("refusal_not_recorded attempted=%s reason=%s", attempted, type(error).__name__)
