"""How the command prints: one JSON document for machines, aligned text for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Give a verb its ``--json`` switch."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def print_json(document: Any) -> None:
    """Print one JSON document; instants as ISO 8601 in UTC."""
    click.echo(json.dumps(document, default=_to_json, ensure_ascii=False))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows under their headings, in aligned columns."""
    texts = [[_cell(value) for value in row] for row in rows]
    widths = [
        max(len(heading), *(len(row[index]) for row in texts), 0)
        for index, heading in enumerate(headings)
    ]
    for row in [list(headings), *texts]:
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def local_text(instant: datetime | None) -> str:
    """Return an instant for people: UTC, to the minute."""
    return "" if instant is None else f"{instant.astimezone(UTC):%Y-%m-%d %H:%MZ}"


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return local_text(value)
    return " ".join(str(value).split())


def _to_json(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form here")
