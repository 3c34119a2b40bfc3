"""How the cells of a result become the text of docs/formats.md: by the database, or here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from sqlalchemy import Connection, Text, cast, text
from sqlalchemy.exc import DBAPIError

from queries_orchestration.exports.attempt import attempt
from queries_orchestration.exports.quick_texts import Texts, quickly
from queries_orchestration.exports.raw_rows import types_of
from queries_orchestration.exports.sources import running
from queries_orchestration.exports.text_form import TextForm, bytes_text
from queries_orchestration.model.columns import ValueType
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.database_text import WholeHours, guarded, rendered, renders
from queries_orchestration.model.dialects import Expression, cell as as_selected, stored
from queries_orchestration.model.values import UnfitValue, value

ToTexts: TypeAlias = Callable[[Sequence[Any]], Texts]
"""Makes the texts of the raw cells of one column."""

_DAYS_FROM: Final = datetime(1970, 1, 1, tzinfo=UTC)
_DAYS_UNTIL: Final = datetime(2100, 1, 1, tzinfo=UTC)
_LAST_DAY_OF_OTHER_OFFSETS: Final = """
SELECT max(day) FROM generate_series(
    timestamptz '1970-01-01 00:00:00+00', timestamptz '2100-01-01 00:00:00+00', interval '1 day'
) day WHERE extract(timezone FROM day)::integer %% 3600 <> 0
"""
_INVALID_PARAMETER: Final = "22023"


@dataclass(frozen=True, slots=True)
class ColumnTexts:
    """The texts of a result's columns.

    Args:
        oids: of each column whose text PostgreSQL makes, its type there; None of any other.
        converters: what makes the text of a cell as it is selected; None where it is the text.
        whole_hours: when the database shows instants with offsets of whole hours.
    """

    query: CompiledQuery
    oids: tuple[int | None, ...]
    converters: tuple[ToTexts | None, ...]
    whole_hours: WholeHours | None = None

    @property
    def are_all_rendered(self) -> bool:
        """Whether the database makes the text of every cell."""
        return None not in self.oids and not any(self.converters)

    def selected(self, *, is_guarded: bool = False, is_cast: bool = False) -> CompiledQuery:
        """Return the query that selects what prints as the texts.

        Args:
            is_guarded: make inert what a spreadsheet would run.
            is_cast: let the driver have texts, too, where it would make other values of them.
        """
        shape = guarded if is_guarded else rendered

        def shaped(cell: Expression, type_: ValueType, oid: int) -> Expression:
            text_ = shape(cell, type_, oid, self.whole_hours)
            return cast(text_, Text) if is_cast else text_

        return self.query.selecting(
            [
                # No value of the driver's own making, such as a list or a timedelta, has a text.
                as_selected(cell, "text") if oid is None else shaped(cell, column.type, oid)
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
    types = [column.type for column in query.columns]
    converters = [to_texts(type_, form) for type_ in types]
    if connection.engine.dialect.name != "postgresql":
        return ColumnTexts(query, (None,) * len(types), tuple(converters))
    prints_unicode = _asked(connection, query, "SHOW server_encoding") == "UTF8"
    shows_zone = _shows(connection, query, form.zone_name)
    as_stored = query.selecting([stored(cell) for cell in query.cells_selected])
    stored_types = types_of(connection, query, as_stored.first_page(0))[: len(types)]
    oids = [
        oid if renders(type_, oid) else None for type_, oid in zip(types, stored_types, strict=True)
    ]
    has_instants = "timestamptz" in types
    return ColumnTexts(
        query,
        tuple(oids),
        tuple(
            None
            if oid is not None and prints_unicode and (shows_zone or type_ != "timestamptz")
            else converter
            for type_, oid, converter in zip(types, oids, converters, strict=True)
        ),
        _whole_hours(connection, query) if has_instants else None,
    )


def to_texts(type_: ValueType, form: TextForm) -> ToTexts:
    """Return what makes the texts of the raw cells of a column.

    What is not of the type, which SQLite allows, is told as it is: nothing lost, nothing guessed.
    """
    quick = quickly(type_, form)

    def converted(raw: Any) -> str | None:
        if raw is None:
            return None
        try:
            exact = value(raw, type_)
        except UnfitValue:
            return _as_it_is(raw, form)
        return exact if isinstance(exact, str) else form(exact)

    def texts(column: Sequence[Any]) -> Texts:
        found = quick(column)
        return list(map(converted, column)) if found is None else found

    return texts


def _as_it_is(raw: object, form: TextForm) -> str:
    if isinstance(raw, bytes | memoryview):
        return bytes_text(raw)
    return form(raw) if isinstance(raw, int | float) else str(raw)


def _asked(connection: Connection, query: CompiledQuery, sql: str) -> Any:
    with running(connection, f"The dataset {query.dataset}"):
        return connection.exec_driver_sql(sql).scalar_one()


def _shows(connection: Connection, query: CompiledQuery, zone_name: str) -> bool:
    """Let the database show instants in a zone; False if it does not know it."""
    with running(connection, f"The dataset {query.dataset}"):
        try:
            with attempt(connection):
                connection.execute(
                    text("SELECT set_config('TimeZone', :zone, true)"), {"zone": zone_name}
                )
        except DBAPIError as error:
            if getattr(error.orig, "pgcode", None) != _INVALID_PARAMETER:
                raise
            return False
    return True


def _whole_hours(connection: Connection, query: CompiledQuery) -> WholeHours | None:
    """Ask the database itself, whose rules of time zones may be older or newer than ours."""
    last = _asked(connection, query, _LAST_DAY_OF_OTHER_OFFSETS)
    start = _DAYS_FROM if last is None else last + timedelta(days=1)
    if start >= _DAYS_UNTIL:
        return None
    return WholeHours(start=start.isoformat(), end=_DAYS_UNTIL.isoformat())
