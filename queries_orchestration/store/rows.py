"""Read a table's rows into the dataclass that names its columns.

A row that somebody else has changed may hold what cannot be decoded, or what is of another type
than its column (SQLite takes anything). Either is an ``UnreadableRow``, before anybody computes
with it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from datetime import datetime
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Generic,
    Literal,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, and_, or_, select
from sqlalchemy.exc import DBAPIError

from queries_orchestration.model.errors import UnreadableRow
from queries_orchestration.store.driver_errors import is_undecodable

Record = TypeVar("Record")

KEYS_A_STATEMENT: Final = 500


@dataclass(frozen=True, slots=True)
class Readable(Generic[Record]):
    """The rows that can be read, and the keys of those that cannot."""

    records: list[Record]
    unreadable: list[tuple[Any, ...]]


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


def every_of(
    connection: Connection,
    record: type[Record],
    statement: Select[Any],
    key: ColumnElement[str],
    keys: Iterable[str],
) -> list[Record]:
    """Return the rows of ``statement`` whose ``key`` is one of ``keys``, however many these are.

    They keep the order of ``statement`` among those of one key.

    Raises:
        UnreadableRow: as ``every``.
    """
    found: list[Record] = []
    for some in of_a_statement(keys):
        found += every(connection, record, statement.where(key.in_(some)))
    return found


def of_a_statement(keys: Iterable[str]) -> Iterator[list[str]]:
    """Yield each of ``keys`` once, as many together as one statement asks for."""
    wanted = list(dict.fromkeys(keys))
    for start in range(0, len(wanted), KEYS_A_STATEMENT):
        yield wanted[start : start + KEYS_A_STATEMENT]


def comes_after(
    moment: ColumnElement[Any], key: ColumnElement[Any], last: tuple[datetime, str]
) -> ColumnElement[bool]:
    """Whether a row comes after ``last`` in a list with the newest first."""
    at, key_of_last = last
    return and_(moment <= at, or_(moment < at, key < key_of_last))


def readable(
    connection: Connection, record: type[Record], statement: Select[Any], *key: ColumnElement[Any]
) -> Readable[Record]:
    """Return the rows of ``statement`` as ``record``; one that cannot be read keeps no other away.

    Args:
        key: the columns that name one row.
    """
    try:
        return Readable(every(connection, record, statement), [])
    except UnreadableRow:
        pass  # Now each by itself.
    records: list[Record] = []
    unreadable: list[tuple[Any, ...]] = []
    for row in connection.execute(statement.with_only_columns(*key)).all():
        this = (column == value for column, value in zip(key, row, strict=True))
        try:
            one = one_or_none(connection, record, statement.where(*this).limit(None))
        except UnreadableRow:
            unreadable.append(tuple(row))
        else:
            if one is not None:
                records.append(one)
    return Readable(records, unreadable)


@contextmanager
def _readable(record: type[Any]) -> Iterator[None]:
    try:
        yield
    except (ValueError, TypeError) as error:
        raise _unreadable(record, error) from None
    except DBAPIError as error:
        if not is_undecodable(error):
            raise
        raise _unreadable(record, error) from None


def _unreadable(record: type[Any], error: Exception) -> UnreadableRow:
    # The text of the error could hold the value.
    return UnreadableRow(
        f"A stored {record.__name__.lower()} cannot be read ({type(error).__name__}): somebody"
        " else has changed it. Write it again, by `queries catalog apply --take-over` where a"
        " file holds it."
    )


def _record(record: type[Record], row: Row[Any]) -> Record:
    for name, types in _types(cast(Hashable, record)).items():
        if not isinstance(row._mapping[name], types):
            raise TypeError(f"{name} is of another type")
    return cast(Callable[..., Record], record)(**row._mapping)


@cache
def _types(record: Hashable) -> dict[str, tuple[type, ...]]:
    # Whether a column may be empty is its table's rule.
    return {name: (*_flat(hint), NoneType) for name, hint in get_type_hints(record).items()}


def _flat(hint: Any) -> Iterator[type]:
    origin = get_origin(hint)
    if hint is Any:
        yield object
    elif origin is Literal:
        yield from (type(value) for value in get_args(hint))
    elif origin in (Union, UnionType):
        for one in get_args(hint):
            yield from _flat(one)
    elif hint is float:
        yield from (float, int)
    else:
        yield origin or hint


def values_of(record: Any) -> dict[str, Any]:
    """Return the column values of a dataclass row, unconverted."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
