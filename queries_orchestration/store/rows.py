"""Read a table's rows into the dataclass that names its columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from datetime import datetime
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, or_, select

from queries_orchestration.model.errors import UnreadableRow

Record = TypeVar("Record")


def columns_of(record: type[Any], table: Table) -> list[ColumnElement[Any]]:
    """Return the columns of ``table`` that the dataclass ``record`` names, in its order."""
    return [table.c[field.name] for field in fields(record)]


def select_records(record: type[Any], table: Table) -> Select[Any]:
    """Return a SELECT of what the dataclass ``record`` names."""
    return select(*columns_of(record, table))


def one_or_none(
    connection: Connection,
    record: type[Record],
    statement: Select[Any],
    parameters: Mapping[str, Any] | None = None,
) -> Record | None:
    """Return the one row of ``statement`` as ``record``, or None.

    Raises:
        UnreadableRow: a value in it is none that we have written.
    """
    with _readable(record):
        row = connection.execute(statement, parameters).one_or_none()
    return None if row is None else _record(record, row)


def every(connection: Connection, record: type[Record], statement: Select[Any]) -> list[Record]:
    """Return all rows of ``statement`` as ``record``.

    Raises:
        UnreadableRow: a value in one of them is none that we have written.
    """
    with _readable(record):
        return [_record(record, row) for row in connection.execute(statement)]


def comes_after(
    moment: ColumnElement[Any], key: ColumnElement[Any], last: tuple[datetime, str]
) -> ColumnElement[bool]:
    """Whether a row comes after ``last`` in a list with the newest first."""
    at, key_of_last = last
    return and_(moment <= at, or_(moment < at, key < key_of_last))


@contextmanager
def _readable(record: type[Any]) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:
        # The text of the error could hold the value.
        raise UnreadableRow(
            f"A stored {record.__name__.lower()} cannot be read ({type(error).__name__}): somebody"
            " else has changed it. Write it again, by `queries catalog apply --take-over` where a"
            " file holds it."
        ) from None


def _record(record: type[Record], row: Row[Any]) -> Record:
    return cast(Callable[..., Record], record)(**row._mapping)


def values_of(record: Any) -> dict[str, Any]:
    """Return the column values of a dataclass row, unconverted."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
