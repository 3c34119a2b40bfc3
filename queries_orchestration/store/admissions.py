"""How occurrences come to be: each slot and each click once, whoever inserts it."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.model.errors import QueriesError
from queries_orchestration.model.ids import slot_key
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import claims as claims_store
from queries_orchestration.store.occurrences import count_outcome
from queries_orchestration.store.tables import occurrences


def admit_slots(
    connection: Connection,
    slots: Collection[tuple[str, str, datetime]],
    *,
    via: str,
    at: datetime,
) -> set[str]:
    """Insert the occurrences of slots, which then wait; returns the keys of those that were new.

    Args:
        slots: the workspace and the schedule of each, and its instant.
    """
    if not slots:
        return set()
    rows = [
        {
            "workspace_id": workspace_id,
            "key": slot_key(schedule_id, slot),
            "schedule_id": schedule_id,
            "slot": slot,
            "via": via,
            "admitted_at": at,
        }
        for workspace_id, schedule_id, slot in slots
    ]
    inserting = insert_into(connection).on_conflict_do_nothing()
    new = connection.execute(
        inserting.returning(occurrences.c.workspace_id, occurrences.c.key), rows
    ).all()
    claims_store.let_wait(
        connection, [(row.workspace_id, row.key) for row in new], lane=DELIVERY_LANE
    )
    return {row.key for row in new}


def fail_slot(
    connection: Connection,
    workspace_id: str,
    *,
    key: str,
    schedule_id: str,
    slot: datetime,
    via: str,
    at: datetime,
    failed_with: QueriesError,
) -> bool:
    """Insert the occurrence of a slot as failed already; False if it is there.

    Args:
        failed_with: why its schedule cannot be dispatched.
    """
    inserted = _insert_once(
        connection,
        {
            "workspace_id": workspace_id,
            "key": key,
            "schedule_id": schedule_id,
            "slot": slot,
            "via": via,
            "admitted_at": at,
            "outcome": "failed",
            "code": failed_with.code,
            "message": failed_with.message,
            "settled_at": at,
        },
    )
    if inserted:
        count_outcome(connection, "failed", failed_with.code)
    return inserted


def admit_request(
    connection: Connection,
    workspace_id: str,
    *,
    key: str,
    schedule_id: str,
    requested_by: str,
    client_key: str | None,
    via: str,
    reason: str | None,
    export_id: str,
    source_changed: bool,
    at: datetime,
    purpose: str = "delivery",
) -> bool:
    """Insert the occurrence that a person asks for; False if the same click has made one."""
    inserted = _insert_once(
        connection,
        {
            "workspace_id": workspace_id,
            "key": key,
            "schedule_id": schedule_id,
            "requested_by": requested_by,
            "actor_id": requested_by,
            "client_key": client_key,
            "via": via,
            "purpose": purpose,
            "reason": reason,
            "export_id": export_id,
            "source_changed": source_changed,
            "admitted_at": at,
        },
    )
    if inserted:
        claims_store.wait(connection, workspace_id, key, lane=DELIVERY_LANE)
    return inserted


def _insert_once(connection: Connection, values: dict[str, Any]) -> bool:
    inserting = insert_into(connection).values(values).on_conflict_do_nothing()
    return connection.execute(inserting).rowcount == 1


def insert_into(connection: Connection) -> postgresql.Insert | sqlite.Insert:
    """Return an INSERT of occurrences that can pass over those that are there."""
    is_postgresql = connection.dialect.name == "postgresql"
    return postgresql.insert(occurrences) if is_postgresql else sqlite.insert(occurrences)
