"""How the cells of a result become the text of docs/formats.md: by the database, or here."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Text, cast, text
from sqlalchemy.exc import DBAPIError

from queries_orchestration.exports.sources import running
from queries_orchestration.exports.statements import driver_statement
from queries_orchestration.exports.text_form import TextForm, bytes_text
from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.database_text import RENDERED, guarded, rendered
from queries_orchestration.model.dialects import Expression
from queries_orchestration.model.values import UnfitValue, value

ToText: TypeAlias = Callable[[Any], str | None]

_INVALID_PARAMETER: Final = "22023"
_PLAIN_DECIMAL: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class ColumnTexts:
    """The texts of a result's columns.

    Args:
        oids: of each column that the database renders, its type there; None of one that is
            converted here.
        converters: what makes the text of a raw cell; None where it is the text already.
    """

    query: CompiledQuery
    oids: tuple[int | None, ...]
    converters: tuple[ToText | None, ...]

    @property
    def are_all_rendered(self) -> bool:
        """Whether the database makes the text of every cell."""
        return None not in self.oids

    def selected(self, *, is_guarded: bool = False, is_cast: bool = False) -> CompiledQuery:
        """Return the query that selects what prints as the texts.

        Args:
            is_guarded: make inert what a spreadsheet would run.
            is_cast: let the driver have texts, too, where it would make other values of them.
        """
        shape = guarded if is_guarded else rendered

        def shaped(cell: Expression, type_: ValueType, oid: int) -> Expression:
            text_ = shape(cell, type_, oid)
            return cast(text_, Text) if is_cast else text_

        return self.query.selecting(
            [
                cell if oid is None else shaped(cell, column.type, oid)
                for cell, column, oid in zip(
                    self.query.cells_selected, self.query.columns, self.oids, strict=True
                )
            ]
        )


def column_texts(connection: Connection, query: CompiledQuery, form: TextForm) -> ColumnTexts:
    """Find out which cells the database renders, and let it render in the zone of ``form``.

    Args:
        connection: a snapshot of :func:`queries_orchestration.exports.sources.read_snapshot`.

    Raises:
        SourceBroken, SourceUnavailable, ReceiveTimeout: as ``exports.raw_pages``.
    """
    oids: list[int | None] = [None] * len(query.columns)
    if connection.engine.dialect.name == "postgresql" and _prints_unicode(connection, query):
        shows_zone = _shows(connection, form.zone_name)
        oids = [
            oid
            if oid in RENDERED[column.type] and (shows_zone or column.type != "timestamptz")
            else None
            for column, oid in zip(query.columns, _types(connection, query), strict=True)
        ]
    return ColumnTexts(
        query,
        tuple(oids),
        tuple(
            to_text(column.type, form) if oid is None else None
            for column, oid in zip(query.columns, oids, strict=True)
        ),
    )


def to_text(type_: ValueType, form: TextForm) -> ToText:
    """Return what makes the text of a raw cell of a type.

    What is not of the type, which SQLite allows, is told as it is: nothing lost, nothing guessed.
    """

    def converted(raw: Any) -> str | None:
        if raw is None:
            return None
        try:
            exact = value(raw, type_)
        except UnfitValue:
            return _as_it_is(raw, form)
        return exact if isinstance(exact, str) else form(exact)

    def plain(raw: Any) -> str | None:
        kind = type(raw)
        if kind is str and (type_ in ("text", "json") or _PLAIN_DECIMAL.fullmatch(raw)):
            return str(raw)
        if kind is int and type_ in ("text", "integer", "decimal"):
            return str(raw)
        return converted(raw)

    return plain if type_ in ("text", "json", "integer", "decimal") else converted


def _as_it_is(raw: object, form: TextForm) -> str:
    if isinstance(raw, bytes | memoryview):
        return bytes_text(raw)
    return form(raw) if isinstance(raw, int | float) else str(raw)


def _prints_unicode(connection: Connection, query: CompiledQuery) -> bool:
    """Tell whether what the database prints is UTF-8; SQL_ASCII prints whatever was put in."""
    return _asked(connection, query, "SHOW server_encoding") != "SQL_ASCII"


def _asked(connection: Connection, query: CompiledQuery, sql: str) -> object:
    with running(connection, f"The dataset {query.dataset}"):
        return connection.exec_driver_sql(sql).scalar_one()


def _shows(connection: Connection, zone_name: str) -> bool:
    """Let the database show instants in a zone; False if it does not know it."""
    try:
        with connection.begin_nested():
            connection.execute(
                text("SELECT set_config('TimeZone', :zone, true)"), {"zone": zone_name}
            )
    except DBAPIError as error:
        if getattr(error.orig, "pgcode", None) != _INVALID_PARAMETER:
            raise
        return False
    return True


def _types(connection: Connection, query: CompiledQuery) -> list[int]:
    """Return the types that the result's cells have in the database."""
    statement = driver_statement(query.first_page(0), connection.engine.dialect)
    driver: Any = connection.connection.driver_connection
    with closing(driver.cursor()) as cursor, running(connection, f"The dataset {query.dataset}"):
        cursor.execute(statement.sql, statement.values)
        return [column.type_code for column in cursor.description[: len(query.columns)]]
