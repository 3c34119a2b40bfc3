"""Keyset paging: the total order of a result, and the predicate for what comes after a row.

NULL is last in both directions. The predicate compares the very expressions that the order is
made of, so the database's collation, enum order and NaN rule hold in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, UnaryExpression, and_, false, or_, tuple_

from queries_orchestration.model.dialects import Expression, comparable, edge


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Key:
    """One part of the order; ``name`` is its field's, for messages."""

    name: str
    expression: Expression
    nullable: bool
    descending: bool

    @property
    def compared(self) -> Expression:
        """The expression as it is compared with the value of a cursor."""
        return comparable(self.expression)

    def order(self) -> UnaryExpression[object]:
        """Return the part of ORDER BY. Without NULLs an index serves it in both directions."""
        ordered = self.expression.desc() if self.descending else self.expression.asc()
        return ordered.nulls_last() if self.nullable else ordered


def after(keys: Sequence[Key], cursor: Sequence[object]) -> ColumnElement[bool]:
    """Return the condition of the rows that come after the row with these cursor values."""
    key, cursor_value = keys[0], cursor[0]
    if len(keys) > 1 and None not in cursor and _are_one_way(keys):
        # The same, but an index finds the first of these rows however many tie in the first key.
        rows, edges = tuple_(*(key.compared for key in keys)), tuple_(*map(edge, cursor))
        return rows < edges if key.descending else rows > edges
    rest = after(keys[1:], cursor[1:]) if len(keys) > 1 else None
    if cursor_value is None:
        return and_(key.expression.is_(None), rest) if rest is not None else false()
    last = edge(cursor_value)
    beyond = key.compared < last if key.descending else key.compared > last
    if rest is not None:
        beyond = or_(beyond, and_(key.compared == last, rest))
    if key.nullable:
        return or_(beyond, key.expression.is_(None))
    if rest is not None:
        # Says nothing new, but an index can find the first row by it.
        reached = key.compared <= last if key.descending else key.compared >= last
        return and_(reached, beyond)
    return beyond


def _are_one_way(keys: Sequence[Key]) -> bool:
    return len({key.descending for key in keys}) == 1 and not any(key.nullable for key in keys)
