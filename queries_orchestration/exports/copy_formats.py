"""The formats of COPY: CSV, which goes into a file as it is, and text, which becomes columns."""

from __future__ import annotations

import re
from typing import Final

from queries_orchestration.exports.file_writer import Page

COLUMNS_OPTIONS: Final = "FORMAT text"
"""Options of COPY for lines that :func:`columns_of` reads."""

_NULL: Final = r"\N"
_ESCAPED: Final = re.compile(r"\\(.)", re.DOTALL)
_MEANT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


def csv_options(delimiter: str) -> str:
    """Return the options of COPY for the very lines that the CSV writer would write.

    Args:
        delimiter: of the fields, one of ours, never a person's text.
    """
    escaped = {"\t": "\\t"}.get(delimiter, delimiter)
    return f"FORMAT csv, DELIMITER E'{escaped}'"


def columns_of(lines: bytes, width: int) -> Page:
    """Read lines of COPY's text format, which are whole: each column's texts; None is NULL.

    Args:
        width: how many columns there are.
    """
    text = lines.decode()
    cells: list[str | None] = [*text[:-1].replace("\n", "\t").split("\t")]
    if "\\" in text:
        cells = [cell if cell is None or "\\" not in cell else _meant(cell) for cell in cells]
    return [cells[column::width] for column in range(width)]


def _meant(cell: str) -> str | None:
    if cell == _NULL:
        return None
    return _ESCAPED.sub(lambda found: _MEANT.get(found[1], found[1]), cell)
