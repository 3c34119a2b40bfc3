"""The last rows of CSV lines, found from their end: a line end within quotes ends no row."""

from __future__ import annotations

import csv

QUOTE = b'"'
LINE_END = b"\n"


def split_last(lines: bytes) -> tuple[bytes, bytes]:
    """Return the lines without the last row, and the last row; ``lines`` hold at least one."""
    start = len(lines)
    quotes = 0
    while True:
        end = start
        start = lines.rfind(LINE_END, 0, max(end - 1, 0)) + 1
        # What begins within a quoted field has one quote too many, whatever is doubled in it.
        quotes += lines.count(QUOTE, start, end)
        if quotes % 2 == 0:
            return lines[:start], lines[start:]


def fields_of(row: bytes, delimiter: str) -> list[str]:
    """Return the fields of one row; NULL cannot be told from the empty text."""
    (fields,) = csv.reader([row.decode()], delimiter=delimiter)
    return fields
