"""What a click on a personal link looks up, in one statement: it is the most frequent of all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import BindParameter, Connection, Select, and_, bindparam, select

from queries_orchestration.model.outcomes import DeliveryState
from queries_orchestration.store import recipients
from queries_orchestration.store.prepared import as_prepared
from queries_orchestration.store.rows import one_or_none
from queries_orchestration.store.tables import (
    deliveries,
    exports,
    occurrences,
    people,
    schedules,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Click:
    """A delivery, with its file and whether its recipient is named by the schedule now.

    ``slot`` and ``admitted_at`` are of the occurrence whose file it is: a resend sends another's.
    ``person_active`` is None for an outside address.
    """

    state: DeliveryState
    person_id: str | None
    outside_id: str | None
    link_token_id: str | None
    link_key_id: str | None
    link_issued_at: datetime | None
    link_expires_at: datetime | None
    schedule_id: str
    schedule_title: str
    purpose: str
    requested_by: str | None
    slot: datetime | None
    admitted_at: datetime
    export_state: str
    storage_key: str
    size: int | None
    format: str
    time_zone: str
    file_expires_at: datetime | None
    person_active: bool | None
    is_named: bool


def find(
    connection: Connection,
    workspace_id: str,
    *,
    occurrence_key: str,
    export_id: str,
    recipient_id: str,
) -> Click | None:
    """Return what there is of a delivery whose occurrence has this file; any texts."""
    return one_or_none(
        connection,
        Click,
        _statement(),
        {
            "workspace_id": workspace_id,
            "occurrence_key": occurrence_key,
            "export_id": export_id,
            "recipient_id": recipient_id,
        },
    )


@cache
def _statement() -> Select[Any]:
    made = occurrences.alias("made")  # the occurrence that the file was made for
    workspace_id: BindParameter[str] = bindparam("workspace_id")
    statement = (
        select(
            deliveries.c.state,
            deliveries.c.person_id,
            deliveries.c.outside_id,
            deliveries.c.link_token_id,
            deliveries.c.link_key_id,
            deliveries.c.link_issued_at,
            deliveries.c.link_expires_at,
            occurrences.c.schedule_id,
            schedules.c.title.label("schedule_title"),
            occurrences.c.purpose,
            occurrences.c.requested_by,
            made.c.slot,
            made.c.admitted_at,
            exports.c.state.label("export_state"),
            exports.c.storage_key,
            exports.c.size,
            exports.c.format,
            exports.c.time_zone,
            exports.c.expires_at.label("file_expires_at"),
            people.c.active.label("person_active"),
            recipients.is_named(
                deliveries.c.workspace_id, occurrences.c.schedule_id, deliveries.c.recipient_id
            ).label("is_named"),
        )
        .select_from(deliveries)
        .join(
            occurrences,
            and_(
                occurrences.c.workspace_id == workspace_id,
                occurrences.c.key == bindparam("occurrence_key"),
                occurrences.c.export_id == bindparam("export_id"),
            ),
        )
        .join(
            exports,
            and_(exports.c.workspace_id == workspace_id, exports.c.id == bindparam("export_id")),
        )
        .join(
            made,
            and_(
                made.c.workspace_id == workspace_id,
                made.c.export_id == bindparam("export_id"),
                made.c.purpose != "resend",
            ),
        )
        .join(
            schedules,
            and_(
                schedules.c.workspace_id == workspace_id,
                schedules.c.id == occurrences.c.schedule_id,
            ),
        )
        .outerjoin(
            people,
            and_(people.c.workspace_id == workspace_id, people.c.id == deliveries.c.person_id),
        )
        .where(
            deliveries.c.workspace_id == workspace_id,
            deliveries.c.occurrence_key == bindparam("occurrence_key"),
            deliveries.c.recipient_id == bindparam("recipient_id"),
        )
    )
    return as_prepared(statement, "click")
