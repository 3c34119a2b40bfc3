"""Notices: what owners and administrators are told of a failure or a pause, each once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, and_, update

from queries_orchestration.model.ids import notice_key
from queries_orchestration.model.notices import NoticeKind
from queries_orchestration.store import database
from queries_orchestration.store.rows import every_of, select_records
from queries_orchestration.store.tables import notices


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One message to one person about one failed occurrence.

    ``code``, ``reason`` and ``streak`` are of the failure or the pause, ``outcome_code`` is why the
    notice was skipped or refused, or is tried again. ``not_before`` is by the lease clock.
    """

    workspace_id: str
    occurrence_key: str
    kind: NoticeKind
    person_id: str
    code: str
    reason: str
    streak: int
    state: str
    outcome_code: str | None
    communication_key: str
    attempts: int
    not_before: datetime
    message_id: str | None
    created_at: datetime
    concluded_at: datetime | None


def write(
    connection: Connection,
    workspace_id: str,
    *,
    occurrence_key: str,
    kind: NoticeKind,
    person_ids: Sequence[str],
    code: str,
    reason: str,
    streak: int,
    at: datetime,
) -> None:
    """Let people be told by the next pass, in the transaction of what they are told of."""
    not_before = database.now(connection)
    rows = [
        {
            "workspace_id": workspace_id,
            "occurrence_key": occurrence_key,
            "kind": kind,
            "person_id": person_id,
            "code": code,
            "reason": reason,
            "streak": streak,
            "state": "waiting",
            "communication_key": notice_key(kind, occurrence_key, person_id),
            "not_before": not_before,
            "created_at": at,
        }
        for person_id in person_ids
    ]
    if rows:
        connection.execute(sa.insert(notices), rows)


def of_occurrence(connection: Connection, workspace_id: str, occurrence_key: str) -> list[Notice]:
    """Return the notices about an occurrence."""
    return of_occurrences(connection, workspace_id, [occurrence_key])


def of_occurrences(connection: Connection, workspace_id: str, keys: Iterable[str]) -> list[Notice]:
    """Return the notices about occurrences."""
    return every_of(
        connection,
        Notice,
        select_records(Notice, notices)
        .where(notices.c.workspace_id == workspace_id)
        .order_by(notices.c.kind, notices.c.person_id),
        notices.c.occurrence_key,
        keys,
    )


def begin(
    connection: Connection, notice: Notice, *, delay: float, outcome_code: str | None
) -> bool:
    """Begin one more attempt, by compare-and-set on their number; False if another has begun.

    Args:
        delay: seconds after which it is tried again if this attempt concludes nothing.
        outcome_code: what is noted until it does.
    """
    begun = connection.execute(
        update(notices)
        .where(_is(notice), notices.c.attempts == notice.attempts, notices.c.concluded_at.is_(None))
        .values(
            state="sending",
            outcome_code=outcome_code,
            attempts=notice.attempts + 1,
            not_before=database.now(connection) + timedelta(seconds=delay),
        )
    )
    return begun.rowcount == 1


def wait_again(connection: Connection, notice: Notice, *, code: str) -> None:
    """Note that the attempt has failed for now and that nothing was sent."""
    connection.execute(
        update(notices)
        .where(_is(notice), notices.c.state == "sending")
        .values(state="waiting", outcome_code=code)
    )


def conclude(
    connection: Connection,
    notice: Notice,
    *,
    state: str,
    code: str | None,
    message_id: str | None,
    at: datetime,
) -> None:
    """Write the final state of a notice that has none."""
    connection.execute(
        update(notices)
        .where(_is(notice), notices.c.concluded_at.is_(None))
        .values(state=state, outcome_code=code, message_id=message_id, concluded_at=at)
    )


def _is(notice: Notice) -> ColumnElement[bool]:
    return and_(
        notices.c.workspace_id == notice.workspace_id,
        notices.c.occurrence_key == notice.occurrence_key,
        notices.c.kind == notice.kind,
        notices.c.person_id == notice.person_id,
    )
