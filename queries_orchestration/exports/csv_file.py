"""CSV files: RFC 4180 quoting, LF, UTF-8; NULL is an empty field, the empty string is ``""``.

The csv module of Python 3.11 cannot tell NULL from the empty string, so the lines are made here,
by the rules of PostgreSQL's ``COPY … CSV``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from queries_orchestration.exports.file_writer import FileOptions, FileWriter, Page, Sink
from queries_orchestration.model.columns import Column
from queries_orchestration.model.database_text import RUN_BY_SPREADSHEETS

GUARDED = tuple(RUN_BY_SPREADSHEETS)

BOM = b"\xef\xbb\xbf"

_JSON_BLANKS = " \t\r\n"
_UNREPRESENTABLE = re.compile("[\x00\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-[Ii]nfinity", re.ASCII)


class CsvFile(FileWriter):
    """Writes each page to the sink as it comes."""

    def __init__(self, sink: Sink, columns: Sequence[Column], options: FileOptions) -> None:
        super().__init__()
        self._sink = sink
        self._delimiter = options.csv_delimiter
        # A line that is only `\.` would end the data for PostgreSQL's COPY.
        lone = r"|^\\\.$" if len(columns) == 1 else ""
        self._needs_quotes = re.compile(f'[{re.escape(self._delimiter)}"\r\n]' + lone)
        self._guard = _guard if options.csv_guard else str
        self._fields = [self._field_of(column) for column in columns]
        header = [self._quoted(self._guard(column.label)) for column in columns]
        self._write(self._delimiter.join(header) + "\n", start=BOM if options.csv_bom else b"")

    def write_page(self, page: Page) -> None:
        fields = [
            [field(text) for text in texts] for field, texts in zip(self._fields, page, strict=True)
        ]
        lines = map(self._delimiter.join, zip(*fields, strict=True))
        self._write("\n".join(lines) + "\n")
        self.rows += len(page[0])

    def write_lines(self, lines: bytes, rows: int) -> None:
        """Write whole lines that are as this writer makes them already."""
        self._sink.write(lines)
        self.rows += rows

    def finish(self) -> None:
        pass  # every page has gone to the sink

    def close(self) -> None:
        pass  # nothing is held

    def _field_of(self, column: Column) -> Callable[[str | None], str]:
        """Return what makes a field of a column's text; NULL is an empty field without quotes."""
        guard = self._guard
        if column.type != "text" and guard is _guard:
            guard = _guard_json if column.type == "json" else _guard_unless_number

        def field(text: str | None) -> str:
            return "" if text is None else self._quoted(guard(text))

        return field

    def _quoted(self, text: str) -> str:
        if not text or self._needs_quotes.search(text):
            return '"' + text.replace('"', '""') + '"'
        return text

    def _write(self, text: str, start: bytes = b"") -> None:
        text, replaced = _UNREPRESENTABLE.subn("\N{REPLACEMENT CHARACTER}", text)
        self.replaced_characters += replaced
        self._sink.write(start + text.encode())


def _guard(text: str) -> str:
    return "'" + text if text.startswith(GUARDED) else text


def _guard_unless_number(text: str) -> str:
    """Guard text where no text belongs, which SQLite allows."""
    return text if _NUMBER.fullmatch(text) else _guard(text)


def _guard_json(text: str) -> str:
    """Guard what is no JSON; what is begins, after its blanks, with nothing that runs."""
    begun = text.strip(_JSON_BLANKS)
    return text if begun == _guard_unless_number(begun) else "'" + text
