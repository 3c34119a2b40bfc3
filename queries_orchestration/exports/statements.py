"""A compiled query as the driver takes it: SQL and values, made once for all pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sqlalchemy import BindParameter, Dialect, Integer, Select, bindparam

from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.dialects import RawText, cursor_part

Values: TypeAlias = dict[str, Any] | tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Rows:
    """Stands for a number of rows that each page has of its own."""


ROWS: Final[BindParameter[int]] = bindparam("page_rows", _Rows(), Integer)
"""What a statement of a page is limited to, or begins after."""


@dataclass(frozen=True, slots=True)
class DriverStatement:
    """SQL with the driver's placeholders, and a value for each."""

    sql: str
    values: Values


def driver_statement(statement: Select[Any], dialect: Dialect) -> DriverStatement:
    """Compile a statement as the driver takes it."""
    compiled: Any = statement.compile(dialect=dialect, compile_kwargs={"render_postcompile": True})
    values = {
        name: _bound(compiled, name, value) for name, value in compiled.construct_params().items()
    }
    if compiled.positional:
        return DriverStatement(str(compiled), tuple(values[name] for name in compiled.positiontup))
    return DriverStatement(str(compiled), values)


class PageStatements:
    """The statements of all pages of a query, compiled once for each pattern of values.

    Compiling anew for each page would cost as much as reading it.
    """

    def __init__(
        self,
        query: CompiledQuery,
        dialect: Dialect,
        shape: Callable[[Select[Any]], Select[Any]],
    ) -> None:
        """Make the statements of ``query``.

        Args:
            shape: makes of what comes after a cursor the statement of its page; :data:`ROWS` in
                it is the number of each.
        """
        self._query = query
        self._dialect = dialect
        self._shape = shape
        self._made: dict[tuple[object, ...] | None, DriverStatement] = {}

    def after(self, cursor: Sequence[object] | None, rows: int = 0) -> DriverStatement:
        """Return the statement of the page that comes after a row; None: of the first page.

        Args:
            rows: what :data:`ROWS` stands for.
        """
        marks: tuple[object, ...] | None = None
        if cursor is not None:
            parts = [cursor_part(value) for value in cursor]
            marks = tuple(_mark(part, position) for position, part in enumerate(parts))
            cursor = [part.content if isinstance(part, RawText) else part for part in parts]
        if marks not in self._made:
            rest = self._query.statement if marks is None else self._query.rest_after(marks)
            self._made[marks] = driver_statement(self._shape(rest), self._dialect)
        made = self._made[marks]

        def bound(value: object) -> object:
            if isinstance(value, _Rows):
                return rows
            return cursor[value.position] if cursor and isinstance(value, _Mark) else value

        if isinstance(made.values, tuple):
            return DriverStatement(made.sql, tuple(map(bound, made.values)))
        return DriverStatement(
            made.sql, {name: bound(value) for name, value in made.values.items()}
        )


@dataclass(frozen=True, slots=True)
class _Mark:
    """Stands for the cursor's value at a position."""

    position: int


def _mark(part: object, position: int) -> object:
    if part is None:
        return None
    return RawText(_Mark(position)) if isinstance(part, RawText) else _Mark(position)


def _bound(compiled: Any, name: str, value: object) -> object:
    processor = None if isinstance(value, (_Mark, _Rows)) else compiled._bind_processors.get(name)
    return value if processor is None else processor(value)
