"""A query's file, made as the worker makes it; and its texts, read in every way there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from queries_orchestration.exports.column_texts import column_texts
from queries_orchestration.exports.copy_formats import csv_options
from queries_orchestration.exports.copy_pages import copy_pages
from queries_orchestration.exports.file_writer import FileFormat, FileOptions
from queries_orchestration.exports.generate import Written
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.query_file import write_query
from queries_orchestration.exports.sources import read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.text_pages import text_pages
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration_tests.exports.read_back import BERLIN, Sink, read_csv
from queries_orchestration_tests.model.definitions import is_sqlite, snapshot_engine

READ_AT = datetime(2027, 1, 4, 7, tzinfo=UTC)

TextRows = list[list[str | None]]

NAMED = "The connection 'shop', whose URL is in SHOP_URL,"


class Patient:
    """Lets the work take its time."""

    def __init__(self, *, seconds: float = 60, statement_seconds: float | None = None) -> None:
        self.seconds = seconds
        self.statement_seconds = statement_seconds
        self.interrupts: list[Callable[[], object]] = []

    def check(self) -> None:
        """Go on."""

    def remaining(self) -> float:
        return self.seconds

    @contextmanager
    def interrupting(self, interrupt: Callable[[], object]) -> Iterator[None]:
        self.interrupts.append(interrupt)
        yield


@dataclass(frozen=True, slots=True)
class MadeFile:
    content: bytes
    written: Written


def file_of(
    url: str,
    query: CompiledQuery,
    file_format: FileFormat = "csv",
    *,
    options: FileOptions = BERLIN,
    page_rows: int = 1000,
    patience: Patient | None = None,
    progress: Callable[[int], None] = lambda _rows: None,
    sink: Sink | None = None,
) -> MadeFile:
    """Make the file of a query."""
    sink = sink or Sink()
    written = write_query(
        sink,
        progress,
        opened=OpenedQuery(compiled=query, stored_values={}, database_url=url, database_name=NAMED),
        file_format=file_format,
        options=options,
        patience=patience or Patient(),
        clock=lambda: READ_AT,
        page_rows=page_rows,
    )
    return MadeFile(sink.content, written)


def csv_of(url: str, query: CompiledQuery, **options: Any) -> TextRows:
    """Make the CSV file of a query and read its rows, without the header."""
    return read_csv(file_of(url, query, "csv", **options).content)[1:]


def read_every_way(url: str, query: CompiledQuery, page_rows: int) -> TextRows:
    """Read a result by key and through one cursor, by COPY too, and see that all are the same."""
    read: list[TextRows] = []
    with snapshot_engine(url) as engine, read_snapshot(engine, 30) as connection:
        texts = column_texts(connection, query, TextForm(BERLIN.zone))
        for by_key in (True, False):
            pages = text_pages(connection, texts, page_rows, by_key=by_key)
            read.append([list(row) for page in pages for row in zip(*page, strict=True)])
            if is_sqlite(url):
                continue
            assert texts.are_all_rendered
            lines: list[bytes] = []
            counted: list[int] = []

            def take(page: bytes, rows: int, lines: Any = lines, counted: Any = counted) -> None:
                lines.append(page)
                counted.append(rows)

            copy_pages(
                connection,
                texts,
                take,
                options=csv_options(","),
                is_guarded=False,
                page_rows=page_rows,
                by_key=by_key,
            )
            read.append(read_csv(b"".join(lines)))
            assert sum(counted) == len(read[-1])
            assert all(0 < rows <= page_rows for rows in counted)
    assert all(rows == read[0] for rows in read)
    return read[0]
