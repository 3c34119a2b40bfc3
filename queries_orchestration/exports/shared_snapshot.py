"""A second connection to PostgreSQL that sees the source as of the same moment as the first.

It only makes an export faster. So it is had at once or not at all: nobody waits for a pool, a lock
or a network on its behalf for longer than some seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, text

from queries_orchestration.exports.raw_rows import fetch_raw
from queries_orchestration.exports.relations import is_one_table
from queries_orchestration.exports.sources import (
    JOIN_SECONDS,
    engine_of,
    read_snapshot,
    running,
    watch_of,
)
from queries_orchestration.exports.statements import driver_statement
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceUnavailable

_WHAT: Final = "The source"
_FUNCTIONS: Final = ("pg_export_snapshot", "pg_postmaster_start_time", "txid_current_snapshot")
_MAY: Final = """
SELECT coalesce(bool_and(has_function_privilege(to_regprocedure(name), 'EXECUTE')), false)
    AND count(to_regprocedure(name)) = count(*)
FROM unnest(CAST(:names AS text[])) name
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


def share(connection: Connection, query: CompiledQuery) -> SharedSnapshot | None:
    """Let others see the snapshot of a connection, on which nothing runs.

    None where it cannot be shared, or would not tell all of what the query sees.

    Raises:
        SourceUnavailable, SourceBroken, ReceiveTimeout: as ``exports.sources.fetch``.
    """
    if not is_one_table(connection, query):
        return None
    with running(connection, _WHAT):
        if not _may_share(connection):
            return None
        id_ = connection.exec_driver_sql("SELECT pg_catalog.pg_export_snapshot()").scalar_one()
        time_zone = connection.exec_driver_sql("SHOW TimeZone").scalar_one()
        if not _SNAPSHOT_ID.fullmatch(id_):
            return None
        return SharedSnapshot(id_, _moment(connection), time_zone)


@contextmanager
def joined(
    connection: Connection, shared: SharedSnapshot, query: CompiledQuery
) -> Iterator[Connection]:
    """Open a connection that sees what ``connection`` sees, and is interrupted with it.

    It holds the locks that reading ``query`` needs.

    Raises:
        SourceUnavailable: there is no second connection to be had at once, or it does not see the
            same.
        SourceBroken, ReceiveTimeout: as ``exports.sources.read_snapshot``.
    """
    watch = watch_of(connection)
    with read_snapshot(
        engine_of(connection.engine.url, connect_seconds=JOIN_SECONDS),
        watch.left(),
        statement_seconds=watch.statement_seconds,
        monotonic=watch.monotonic,
        snapshot_id=shared.id,
        opening_seconds=JOIN_SECONDS,
    ) as second:
        line = watch_of(second).line
        if line is not None:
            line.cut_after(JOIN_SECONDS)
        with running(second, _WHAT):
            if _moment(second) != shared.moment:
                raise SourceUnavailable(
                    "A second connection does not lead to the same server and snapshot."
                )
            second.execute(
                text("SELECT set_config('TimeZone', :zone, true)"), {"zone": shared.time_zone}
            )
        no_rows = driver_statement(query.first_page(0), second.engine.dialect)
        fetch_raw(second, query, no_rows)
        if line is not None:
            line.keep()
        watch.beside.append(second)
        try:
            if watch.is_interrupted:  # by somebody who did not see it there
                raise SourceUnavailable("The reading is over.", code="source_interrupted")
            yield second
        finally:
            watch.beside.remove(second)


def _may_share(connection: Connection) -> bool:
    names = [f"pg_catalog.{name}()" for name in _FUNCTIONS]
    return bool(connection.execute(text(_MAY), {"names": names}).scalar_one())


def _moment(connection: Connection) -> tuple[str, ...]:
    return tuple(connection.exec_driver_sql(_MOMENT).one())
