"""Addresses of those who are no people of the workspace, the only place that has them.

Everywhere else stands the id of a row, which stays when the address is erased.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy import Connection, update

from queries_orchestration.store.rows import every, every_of, one_or_none, select_records, values_of
from queries_orchestration.store.tables import (
    deliveries,
    downloads,
    outside_addresses,
    schedule_recipients,
    unsubscriptions,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OutsideAddress:
    """One address; None once it was erased. ``title`` is the name that goes with it.

    ``mailbox`` is what tells addresses apart, ``unsubscribed_at`` since when nothing of this
    workspace may be sent to it.
    """

    workspace_id: str
    id: str
    address: str | None = field(repr=False)
    mailbox: str | None = field(repr=False)
    title: str | None = field(repr=False)
    unsubscribed_at: datetime | None = None


def get(connection: Connection, workspace_id: str, outside_id: str) -> OutsideAddress | None:
    """Return the outside address with this id."""
    return one_or_none(
        connection,
        OutsideAddress,
        select_records(OutsideAddress, outside_addresses).where(
            outside_addresses.c.workspace_id == workspace_id,
            outside_addresses.c.id == outside_id,
        ),
    )


def those(connection: Connection, workspace_id: str, ids: Iterable[str]) -> list[OutsideAddress]:
    """Return outside addresses of the workspace by their ids, in any order."""
    mine = select_records(OutsideAddress, outside_addresses).where(
        outside_addresses.c.workspace_id == workspace_id
    )
    return every_of(connection, OutsideAddress, mine, outside_addresses.c.id, ids)


def listing(connection: Connection, workspace_id: str) -> list[OutsideAddress]:
    """Return the outside addresses of the workspace by id."""
    return every(
        connection,
        OutsideAddress,
        select_records(OutsideAddress, outside_addresses)
        .where(outside_addresses.c.workspace_id == workspace_id)
        .order_by(outside_addresses.c.id),
    )


def put(connection: Connection, outside: OutsideAddress) -> None:
    """Write a new outside address, or the name of one that is there."""
    named = connection.execute(
        update(outside_addresses)
        .where(
            outside_addresses.c.workspace_id == outside.workspace_id,
            outside_addresses.c.id == outside.id,
        )
        .values(title=outside.title)
    )
    if named.rowcount == 0:
        connection.execute(sa.insert(outside_addresses).values(values_of(outside)))


def remove_unused(connection: Connection, workspace_id: str) -> None:
    """Delete the addresses that no schedule names, nothing was sent to and nobody unsubscribed."""
    used = (
        sa.select(table.c.outside_id).where(
            table.c.workspace_id == workspace_id, table.c.outside_id.is_not(None)
        )
        for table in (schedule_recipients, deliveries, downloads, unsubscriptions)
    )
    connection.execute(
        sa.delete(outside_addresses).where(
            outside_addresses.c.workspace_id == workspace_id,
            outside_addresses.c.unsubscribed_at.is_(None),
            *(outside_addresses.c.id.not_in(ids) for ids in used),
        )
    )


def set_unsubscribed(
    connection: Connection, workspace_id: str, outside_id: str, *, at: datetime | None
) -> bool:
    """Record since when nothing of the workspace may be sent there, or None that it may.

    An instant that is recorded stays.

    Returns:
        False if nothing was to be changed.
    """
    recorded = outside_addresses.c.unsubscribed_at
    changed = connection.execute(
        update(outside_addresses)
        .where(
            outside_addresses.c.workspace_id == workspace_id,
            outside_addresses.c.id == outside_id,
            recorded.is_(None) if at else recorded.is_not(None),
        )
        .values(unsubscribed_at=at)
    )
    return changed.rowcount == 1
