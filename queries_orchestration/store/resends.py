"""Resends: which occurrence sends the file of which other one again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import Connection, select
from sqlalchemy.dialects import postgresql, sqlite

from queries_orchestration.store.rows import every_of, select_records
from queries_orchestration.store.tables import resends


@dataclass(frozen=True, slots=True)
class _Origin:
    resend_key: str
    occurrence_key: str


def keys(connection: Connection, workspace_id: str, occurrence_key: str) -> list[str]:
    """Return the keys of the resends of an occurrence, in the order they were asked for."""
    return list(
        connection.scalars(
            select(resends.c.resend_key)
            .where(
                resends.c.workspace_id == workspace_id, resends.c.occurrence_key == occurrence_key
            )
            .order_by(resends.c.number)
        )
    )


def origin_of(connection: Connection, workspace_id: str, resend_key: str) -> str | None:
    """Return the key of the occurrence whose file a resend sends; None if it is no resend."""
    return connection.scalar(
        select(resends.c.occurrence_key).where(
            resends.c.workspace_id == workspace_id, resends.c.resend_key == resend_key
        )
    )


def origins_of(
    connection: Connection, workspace_id: str, resend_keys: Iterable[str]
) -> dict[str, str]:
    """Return, by the key of each that is a resend, the key of whose file it sends."""
    found = every_of(
        connection,
        _Origin,
        select_records(_Origin, resends).where(resends.c.workspace_id == workspace_id),
        resends.c.resend_key,
        resend_keys,
    )
    return {one.resend_key: one.occurrence_key for one in found}


def record(
    connection: Connection, workspace_id: str, occurrence_key: str, resend_key: str, *, number: int
) -> bool:
    """Record a resend under the next number, from 1; False if somebody else has just taken it."""
    dialect = postgresql if connection.dialect.name == "postgresql" else sqlite
    recorded = connection.execute(
        dialect.insert(resends)
        .values(
            workspace_id=workspace_id,
            occurrence_key=occurrence_key,
            number=number,
            resend_key=resend_key,
        )
        .on_conflict_do_nothing()
    )
    return recorded.rowcount == 1
