"""What kind of relation a dataset is, as far as it tells how its rows may be read.

A table shows all statements of a snapshot the same rows. What a view or a row rule shows may depend
on more, such as a clock or chance, and what a foreign table shows on the transactions of its own
servers.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Connection, text

from queries_orchestration.exports.sources import running
from queries_orchestration.model.compile import CompiledQuery

_IS_TABLE: Final = """
WITH RECURSIVE part(oid) AS (
    SELECT to_regclass(:name)::oid
    UNION
    SELECT inhrelid FROM pg_catalog.pg_inherits JOIN part ON inhparent = oid
)
SELECT bool_and(relkind IN ('r', 'm', 'p')) AND NOT row_security_active(to_regclass(:name))
FROM part JOIN pg_catalog.pg_class USING (oid)
"""
_IS_ONE_TABLE: Final = """
SELECT relkind IN ('r', 'm') AND NOT relhassubclass AND NOT relrowsecurity
FROM pg_catalog.pg_class WHERE oid = to_regclass(:name)
"""
_IS_SQLITE_VIEW: Final = """
SELECT count(*) FROM sqlite_schema WHERE type = 'view' AND name = :name COLLATE NOCASE
"""


def is_table(connection: Connection, query: CompiledQuery) -> bool:
    """Tell whether several statements of one snapshot see the same rows: it is a table, in parts.

    Raises:
        SourceUnavailable, SourceBroken, ReceiveTimeout: as ``exports.sources.fetch``.
    """
    if connection.engine.dialect.name == "postgresql":
        return _asked(connection, query, _IS_TABLE, _name(connection, query))
    return not _asked(connection, query, _IS_SQLITE_VIEW, query.relation.name)


def is_one_table(connection: Connection, query: CompiledQuery) -> bool:
    """Tell whether several connections of PostgreSQL on one snapshot see the same rows.

    Raises:
        SourceUnavailable, SourceBroken, ReceiveTimeout: as ``exports.sources.fetch``.
    """
    return _asked(connection, query, _IS_ONE_TABLE, _name(connection, query))


def _name(connection: Connection, query: CompiledQuery) -> str:
    preparer: Any = connection.engine.dialect.identifier_preparer
    name: str = preparer.format_table(query.relation)
    return name


def _asked(connection: Connection, query: CompiledQuery, sql: str, name: str) -> bool:
    with running(connection, f"The dataset {query.dataset}"):
        return bool(connection.execute(text(sql), {"name": name}).scalar_one_or_none())
