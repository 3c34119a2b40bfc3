"""A second connection to PostgreSQL that sees the source as of the same moment as the first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from queries_orchestration.exports.sources import read_snapshot, running, watch_of
from queries_orchestration.model.errors import SourceUnavailable

_WHAT: Final = "The source"
_CAN_BE_SHARED: Final = """
SELECT has_function_privilege(to_regprocedure('pg_catalog.pg_export_snapshot()'), 'EXECUTE')
"""
_MOMENT: Final = """
SELECT extract(epoch FROM pg_catalog.pg_postmaster_start_time())::text, current_database()::text,
    pg_catalog.txid_current_snapshot()::text
"""
_SNAPSHOT_ID: Final = re.compile(r"[0-9A-F-]+")


@dataclass(frozen=True, slots=True)
class SharedSnapshot:
    """A snapshot that its connection lets others see, as long as it is open.

    Attributes:
        id: what PostgreSQL calls it.
        moment: tells it from all others, also from one of the same id on another server.
        time_zone: in which its connection shows instants.
    """

    id: str
    moment: tuple[str, ...]
    time_zone: str


def share(connection: Connection) -> SharedSnapshot | None:
    """Let others see the snapshot of a connection, on which nothing runs; None if it cannot be.

    Raises:
        SourceUnavailable, SourceBroken, ReceiveTimeout: as ``exports.sources.fetch``.
    """
    with running(connection, _WHAT):
        if not connection.exec_driver_sql(_CAN_BE_SHARED).scalar_one():
            return None
        id_ = connection.exec_driver_sql("SELECT pg_catalog.pg_export_snapshot()").scalar_one()
        time_zone = connection.exec_driver_sql("SHOW TimeZone").scalar_one()
        if not _SNAPSHOT_ID.fullmatch(id_):
            return None
        return SharedSnapshot(id_, _moment(connection), time_zone)


@contextmanager
def joined(connection: Connection, shared: SharedSnapshot) -> Iterator[Connection]:
    """Open a connection that sees what ``connection`` sees, and is interrupted with it.

    Raises:
        SourceUnavailable: there is no second connection to be had, or it does not see the same.
        SourceBroken, ReceiveTimeout: as ``exports.sources.read_snapshot``.
    """
    watch = watch_of(connection)
    with read_snapshot(
        connection.engine,
        watch.left(),
        statement_seconds=watch.statement_seconds,
        monotonic=watch.monotonic,
        snapshot_id=shared.id,
    ) as second:
        with running(second, _WHAT):
            if _moment(second) != shared.moment:
                raise SourceUnavailable(
                    "A second connection does not lead to the same server and snapshot."
                )
            second.execute(
                text("SELECT set_config('TimeZone', :zone, true)"), {"zone": shared.time_zone}
            )
        watch.beside.append(second)
        try:
            yield second
        finally:
            watch.beside.remove(second)


def _moment(connection: Connection) -> tuple[str, ...]:
    return tuple(connection.exec_driver_sql(_MOMENT).one())
