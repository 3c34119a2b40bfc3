"""A field of a dataset, and what may be done with each type of value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast

from queries_orchestration.model.columns import VALUE_TYPES, ValueType
from queries_orchestration.model.parts import Part

NUMBERS: Final = frozenset({"integer", "decimal", "float"})
MEASURED: Final = NUMBERS | {"text", "date", "timestamp", "timestamptz", "time"}
"""Types with a smallest and a largest value that both kinds of database can tell."""
COMPARABLE: Final = MEASURED | {"boolean", "uuid"}
"""Types that a filter can compare with a value."""
SORTABLE: Final = COMPARABLE | {"bytes"}
"""Types that can be sorted, grouped and counted; JSON has neither order nor equality."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A field of a dataset; ``column`` is its name in the database, exactly as written there."""

    name: str
    type: ValueType
    column: str
    label: str
    nullable: bool


def parse_field(part: Part) -> Field:
    """Read one field of a dataset's definition.

    Raises:
        InvalidQuery: the definition is wrong; the message names the piece.
    """
    pieces = part.mapping(required=["name", "type"], optional=["column", "label", "nullable"])
    name = pieces["name"].text()
    return Field(
        name=name,
        type=cast(ValueType, pieces["type"].choice(VALUE_TYPES)),
        column=pieces["column"].text() if "column" in pieces else name,
        label=pieces["label"].text() if "label" in pieces else name,
        nullable=pieces["nullable"].flag() if "nullable" in pieces else True,
    )
