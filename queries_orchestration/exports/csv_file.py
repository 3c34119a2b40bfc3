"""CSV files: RFC 4180 quoting, LF, UTF-8; NULL is an empty field, the empty string is ``""``.

The csv module of Python 3.11 cannot tell NULL from the empty string, so the lines are made here,
by the rules of PostgreSQL's ``COPY … CSV``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from queries_orchestration.exports.file_writer import FileOptions, FileWriter, Page, Sink
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.columns import Column

GUARDED = ("=", "+", "-", "@", "\t", "\r")
"""A spreadsheet would run text that starts with one of these."""

BOM = b"\xef\xbb\xbf"

_UNREPRESENTABLE = re.compile("[\x00\ud800-\udfff]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|-Infinity", re.ASCII)


class CsvFile(FileWriter):
    """Writes each page to the sink as it comes."""

    def __init__(self, sink: Sink, columns: Sequence[Column], options: FileOptions) -> None:
        super().__init__()
        self._sink = sink
        self._delimiter = options.csv_delimiter
        # A line that is only `\.` would end the data for PostgreSQL's COPY.
        lone = r"|^\\\.$" if len(columns) == 1 else ""
        self._needs_quotes = re.compile(f'[{re.escape(self._delimiter)}"\r\n]|^$' + lone)

        guard = _guard if options.csv_guard else str
        guard_unless_number = _guard_unless_number if options.csv_guard else str
        form = TextForm(options.zone)
        self._fields = [
            self._field(form, guard if column.type == "text" else guard_unless_number)
            for column in columns
        ]
        header = [self._quoted(guard(column.label)) for column in columns]
        self._write([header], start=BOM if options.csv_bom else b"")

    def write_page(self, rows: Page) -> None:
        if rows:
            self._write(
                [
                    [field(value) for field, value in zip(self._fields, row, strict=True)]
                    for row in rows
                ]
            )
            self.rows += len(rows)

    def finish(self) -> None:
        pass  # every page has gone to the sink

    def close(self) -> None:
        pass  # nothing is held

    def _field(self, form: TextForm, guard: Callable[[str], str]) -> Callable[[object], str]:
        def field(value: object) -> str:
            if value is None:
                return ""
            return self._quoted(guard(value) if isinstance(value, str) else form(value))

        return field

    def _quoted(self, text: str) -> str:
        if self._needs_quotes.search(text):
            return '"' + text.replace('"', '""') + '"'
        return text

    def _write(self, lines: Sequence[Sequence[str]], start: bytes = b"") -> None:
        text = "".join([self._delimiter.join(line) + "\n" for line in lines])
        text, replaced = _UNREPRESENTABLE.subn("\N{REPLACEMENT CHARACTER}", text)
        self.replaced_characters += replaced
        self._sink.write(start + text.encode())


def _guard(text: str) -> str:
    return "'" + text if text.startswith(GUARDED) else text


def _guard_unless_number(text: str) -> str:
    """Guard text where no text belongs, which SQLite allows; JSON may be a number, too."""
    return text if _NUMBER.fullmatch(text) else _guard(text)
