"""One valid row of every table for a workspace, to fill a store with or to spoil."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.model.addresses import mailbox_digest
from queries_orchestration.store.tables import claims, metadata, occurrences

SLOT = datetime(2027, 1, 4, 7, 0, tzinfo=UTC)
ADDRESS = "ann@example.org"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def valid_rows(workspace: str) -> dict[str, dict[str, Any]]:
    """Return a row by table name; ids and keys begin with the workspace's id."""
    own = {"workspace_id": workspace}
    named = own | {"name": "one", "title": "One", "written_by": "file"}
    person, source, schedule = f"{workspace}-person", f"{workspace}-source", f"{workspace}-schedule"
    group, outside = f"{workspace}-group", f"{workspace}-outside"
    dataset, connection = f"{workspace}-dataset", f"{workspace}-connection"
    export, key = f"{workspace}-export", f"{workspace}-key"
    other_person, resend = f"{workspace}-other", f"{workspace}-resend"
    return {
        "workspaces": {
            "id": workspace,
            "name": workspace,
            "title": "One",
            "time_zone": "UTC",
            "written_by": "file",
        },
        "people": named | {"id": person, "address": ADDRESS, "roles": ["author"], "active": True},
        "groups": named | {"id": group},
        "group_members": own | {"group_id": group, "person_id": person, "position": 0},
        "outside_addresses": own
        | {"id": outside, "address": "jane@example.net", "mailbox": "jane@example.net"},
        "connections": named | {"id": connection, "url_variable": "SHOP_URL"},
        "datasets": named | {"id": dataset, "connection_id": connection, "definition": {}},
        "sources": named | {"id": source, "kind": "query", "current_version": 1},
        "source_versions": own
        | {
            "source_id": source,
            "version": 1,
            "dataset_id": dataset,
            "definition": {},
            "created_at": SLOT,
        },
        "report_queries": own
        | {"report_id": source, "report_version": 1, "query_id": source, "query_version": 1},
        "schedules": named
        | {
            "id": schedule,
            "source_id": source,
            "pinned_version": 1,
            "owner_id": person,
            "cron": "0 7 * * *",
            "time_zone": "UTC",
            "format": "csv",
            "runtime_values": {},
            "skip_empty": False,
            "missed_slots": "latest",
            "state": "active",
            "next_slot": SLOT,
            "created_at": SLOT,
        },
        "schedule_recipients": own | {"schedule_id": schedule, "person_id": person, "position": 0},
        "unsubscriptions": own
        | {
            "schedule_id": schedule,
            "recipient_id": person,
            "person_id": person,
            "unsubscribed_at": SLOT,
            "mailbox_digest": mailbox_digest(workspace, ADDRESS),
        },
        "exports": own
        | {
            "id": export,
            "source_id": source,
            "version": 1,
            "format": "csv",
            "runtime_values": {},
            "actor_id": person,
            "time_zone": "UTC",
            "purpose": "delivery",
            "state": "queued",
            "storage_key": f"{workspace}/{export}.csv",
            "created_at": SLOT,
        },
        "requests": own | {"export_id": export, "purpose": "delivery", "created_at": SLOT},
        "occurrences": own
        | {
            "key": key,
            "schedule_id": schedule,
            "slot": SLOT,
            "via": "recurrence",
            "actor_id": person,
            "export_id": export,
            "admitted_at": SLOT,
        },
        "claims": own
        | {"key": key, "lane": "delivery", "state": "waiting", "not_before": LONG_AGO},
        "offers": own | {"key": key, "number": 1, "state": "live", "offered_at": SLOT},
        "receives": own | {"key": key, "number": 1, "run_id": "run", "started_at": SLOT},
        "deliveries": own
        | {
            "occurrence_key": key,
            "recipient_id": person,
            "person_id": person,
            "state": "sending",
            "communication_key": f"{key}.{person}",
            "receive_number": 1,
            "link_token_id": f"{workspace}-token",
            "link_key_id": "k1",
            "link_issued_at": SLOT,
            "link_expires_at": SLOT,
            "message_id": f"<{workspace}@example.org>",
            "recorded_at": SLOT,
            "mailbox_digest": mailbox_digest(workspace, ADDRESS),
        },
        "message_states": own
        | {
            "occurrence_key": key,
            "communication_key": f"{key}.{person}",
            "state": "accepted",
            "at": SLOT,
            "recorded_at": SLOT,
        },
        "downloads": own
        | {
            "id": f"{workspace}-download",
            "export_id": export,
            "person_id": person,
            "occurrence_key": key,
            "downloaded_at": SLOT,
        },
        "audit_events": own
        | {
            "id": f"{workspace}-event",
            "at": LONG_AGO,
            "via": "system",
            "action": "schedule_paused",
            "subject_kind": "schedule",
            "subject_id": schedule,
            "code": "five_failures",
        },
        "counters": {"name": workspace, "label": "delivery", "code": "", "value": 1},
        "dispatch_stops": {
            "number": int.from_bytes(workspace[:3].encode()),
            "stopped_at": SLOT,
            "stopped_by": workspace,
            "stop_reason": "a test",
            "started_at": SLOT,
            "started_by": workspace,
            "start_reason": "the test is over",
        },
        "resends": own | {"occurrence_key": key, "number": 1, "resend_key": resend},
        "schedule_transfers": own
        | {
            "id": f"{workspace}-transfer",
            "schedule_id": schedule,
            "from_person_id": person,
            "to_person_id": other_person,
            "transferred_by": person,
            "transferred_at": SLOT,
        },
        "notices": own
        | {
            "occurrence_key": key,
            "kind": "paused",
            "person_id": person,
            "code": "five_failures",
            "reason": "It failed.",
            "streak": 5,
            "state": "waiting",
            "communication_key": f"notice.paused.{key}.{person}",
            "not_before": LONG_AGO,
            "created_at": SLOT,
        },
        "monthly_deliveries": own
        | {
            "schedule_id": schedule,
            "month": SLOT.date(),
            "purpose": "delivery",
            "outcome": "delivered",
            "code": "",
            "occurrences": 1,
        },
        "monthly_exports": own
        | {
            "source_id": source,
            "month": SLOT.date(),
            "state": "expired",
            "code": "",
            "exports": 1,
        },
    }


def second_rows(workspace: str) -> dict[str, dict[str, Any]]:
    """Return the rows that others refer to beside the first of their table."""
    first = valid_rows(workspace)
    return {
        "people": first["people"] | {"id": f"{workspace}-other", "name": "two"},
        "occurrences": first["occurrences"]
        | {
            "key": f"{workspace}-resend",
            "slot": None,
            "requested_by": f"{workspace}-person",
            "via": "run-now",
            "purpose": "resend",
        },
    }


def fill(connection: Connection, workspace: str) -> None:
    """Insert a valid row into every table."""
    _insert(connection, workspace, [table.name for table in metadata.sorted_tables])


def set_up(connection: Connection, workspace: str) -> None:
    """Insert what an occurrence needs: the schedule, and what that needs."""
    needed = ("workspaces", "people", "connections", "datasets", "sources", "source_versions")
    _insert(connection, workspace, [*needed, "schedules"])


def _insert(connection: Connection, workspace: str, tables: Sequence[str]) -> None:
    rows, more = valid_rows(workspace), second_rows(workspace)
    for name in tables:
        for row in (rows.get(name), more.get(name)):
            if row is not None:
                connection.execute(sa.insert(metadata.tables[name]).values(row))


def insert_slot(connection: Connection, workspace: str, **changes: Any) -> None:
    """Insert the occurrence of a slot, without a file, that waits."""
    row = valid_rows(workspace)["occurrences"] | {"export_id": None} | changes
    connection.execute(sa.insert(occurrences).values(row))
    claim = valid_rows(workspace)["claims"] | {"key": row["key"]}
    connection.execute(sa.insert(claims).values(claim))


def insert_waiting(
    connection: Connection,
    workspace: str,
    count: int,
    *,
    not_before: datetime = LONG_AGO,
    lane: str = "delivery",
) -> list[str]:
    """Insert work that waits for no other: run-now occurrences of the workspace's schedule.

    In another lane only the claims, which are all that offering looks at.

    Returns:
        The keys, in the order of their turns.
    """
    mark = "!" if lane == "delivery" else f"-{lane}-"
    keys = [f"{workspace}{mark}{number:03}" for number in range(count)]
    common = valid_rows(workspace)["occurrences"] | {
        "slot": None,
        "requested_by": f"{workspace}-person",
        "via": "run-now",
        "export_id": None,
    }
    if lane == "delivery":
        connection.execute(sa.insert(occurrences), [common | {"key": key} for key in keys])
    claim = valid_rows(workspace)["claims"] | {"lane": lane}
    connection.execute(
        sa.insert(claims),
        [
            claim | {"key": key, "not_before": not_before + timedelta(seconds=number)}
            for number, key in enumerate(keys)
        ],
    )
    return keys
