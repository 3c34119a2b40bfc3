"""Columns of a result: what every page source delivers and every writer takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

ValueType = Literal[
    "text",
    "integer",
    "decimal",
    "float",
    "boolean",
    "date",
    "timestamp",
    "timestamptz",
    "time",
    "uuid",
    "json",
    "bytes",
]
VALUE_TYPES: tuple[str, ...] = get_args(ValueType)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a result: the header text and the type of its values.

    ``timestamp`` is a wall time without zone, ``timestamptz`` an instant.
    """

    label: str
    type: ValueType
