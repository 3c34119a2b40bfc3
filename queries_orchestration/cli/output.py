"""How the command prints: one JSON document for machines, lines of text for people."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from typing import Any, Final, NoReturn, TypeVar

import click

from queries_orchestration.model.errors import UnknownTimeZone
from queries_orchestration.model.time_zones import zone
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule

WIDTH: Final = 100
LONGEST_VALUE: Final = 200

Command = TypeVar("Command", bound=Callable[..., Any])


def json_option(command: Command) -> Command:
    """Give a verb its ``--json`` switch."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def print_json(document: Any) -> None:
    """Print one JSON document; instants as ISO 8601 in UTC."""
    click.echo(json.dumps(document, default=_to_json, ensure_ascii=False))


def tell_failure(code: str, message: str, *, as_json: bool, **more: object) -> None:
    """Tell why a command is not done: JSON on standard output, or a line on standard error."""
    if as_json:
        print_json({"code": code, "message": message, **more})
    else:
        click.echo(f"{code}: {message}", err=True)


def end_failed(told: dict[str, Any], *, as_json: bool) -> NoReturn:
    """Tell that the work itself did not come to a good end, and end with 1.

    Args:
        told: the JSON of an occurrence or an export.
    """
    ended = told.get("outcome") or told["state"]
    code, message = told["code"] or ended, told["message"] or f"It ended as {ended}."
    if as_json:
        print_json(told | {"code": code, "message": message})
    else:
        tell_failure(code, message, as_json=False)
    raise click.exceptions.Exit(1)


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
    """Print rows under their headings, in aligned columns."""
    texts = [[_one_line(cell or "") for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    for row in texts:
        line = "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        click.echo(line.rstrip())


def print_wrapped(text: str, *, indent: int) -> None:
    """Print text as lines of at most ``WIDTH`` characters; what has no spaces stays whole."""
    margin = " " * indent
    click.echo(
        textwrap.fill(
            _one_line(text),
            WIDTH,
            initial_indent=margin,
            subsequent_indent=margin,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def print_pairs(pairs: Sequence[tuple[str, object]]) -> None:
    """Print names and what they are, in two columns; what is None or empty is left out."""
    told = [(name, str(value)) for name, value in pairs if value not in (None, "")]
    width = max((len(name) for name, _ in told), default=0)
    for name, value in told:
        click.echo(f"{name:<{width}}  {value}")


def rows_and_size(rows: int, size: int) -> str:
    """Return what there is of a file, rows and bytes, for people; nothing if there is nothing."""
    told = [f"{rows:,} row{'s' * (rows != 1)}"] if rows or size else []
    return ", ".join(told + ([_size_text(size)] if size else []))


def _size_text(size: int) -> str:
    for unit, bytes_of_unit in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if size >= bytes_of_unit:
            return f"{size / bytes_of_unit:.1f} {unit}"
    return f"{size} bytes"


def values_text(values: Mapping[str, object]) -> str:
    """Return runtime values for people: texts as they are, others as JSON, long ones cut."""
    told = (
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in values.items()
    )
    return ", ".join(textwrap.shorten(one, LONGEST_VALUE, placeholder=" …") for one in told)


def local_text(instant: datetime, clocks: tzinfo = UTC) -> str:
    """Return an instant for people, to the minute, as the clocks of a zone show it."""
    return f"{instant.astimezone(clocks):%Y-%m-%d %H:%M %Z}"


def slot_text(schedule: Schedule, occurrence: Occurrence) -> str:
    """Return an occurrence's slot as the clocks of its schedule show it, or who asked for it."""
    if occurrence.slot is None:
        return occurrence.via if occurrence.purpose == "delivery" else occurrence.purpose
    return local_text(occurrence.slot, zone_of(schedule))


def unreadable_text(name: object) -> str:
    """Return what is told in place of a schedule whose row cannot be read, with what to do."""
    return (
        f"{name}: its row cannot be read, somebody else has changed it. Write it anew from its file"
        " (`queries catalog apply --take-over`), then resume it."
    )


def zone_of(schedule: Schedule) -> tzinfo:
    """Return the schedule's time zone; UTC where its rule cannot be read any more."""
    try:
        return zone(schedule.time_zone)
    except UnknownTimeZone:
        return UTC


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _to_json(value: object) -> str:
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    raise TypeError(f"{type(value).__name__} has no JSON form here")
