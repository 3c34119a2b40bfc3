"""WF-PFM-QRY-006, hop 4: read a query's keyset pages into a CSV or Excel file.

PostgreSQL makes lines of texts itself, which are those of a CSV file; everything else goes through
pages of texts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import cast

from sqlalchemy import Connection

from queries_orchestration.exports.ahead import Ahead, read_ahead
from queries_orchestration.exports.column_texts import ColumnTexts, column_texts
from queries_orchestration.exports.copy_formats import COLUMNS_OPTIONS, columns_of, csv_options
from queries_orchestration.exports.copy_pages import TakeLines, copy_pages
from queries_orchestration.exports.csv_file import CsvFile
from queries_orchestration.exports.file_writer import (
    FileFormat,
    FileOptions,
    Page,
    Sink,
    open_writer,
)
from queries_orchestration.exports.generate import Patience, Produce, Written
from queries_orchestration.exports.open_query import OpenedQuery
from queries_orchestration.exports.paging import PAGE_ROWS
from queries_orchestration.exports.source_errors import values_named
from queries_orchestration.exports.sources import engine_of, interrupt, read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.exports.text_pages import text_pages
from queries_orchestration.model.clock import Clock
from queries_orchestration.store.exports import Export


def query_producer(
    opened: OpenedQuery, export: Export, *, title: str, patience: Patience, clock: Clock
) -> Produce:
    """Return what writes the file of an export of a query; ``title`` names a workbook's sheet."""
    return partial(
        write_query,
        opened=opened,
        file_format=cast(FileFormat, export.format),  # checked at admission
        options=FileOptions(time_zone=export.time_zone, sheet_title=title),
        patience=patience,
        clock=clock,
    )


def write_query(
    sink: Sink,
    progress: Callable[[int], None],
    *,
    opened: OpenedQuery,
    file_format: FileFormat,
    options: FileOptions,
    patience: Patience,
    clock: Clock,
    page_rows: int = PAGE_ROWS,
) -> Written:
    """Write the query's complete result, as of one moment, into ``sink``.

    Args:
        progress: called after each page with the rows done so far.
        clock: tells when the snapshot was taken.
        page_rows: rows of a page.

    Raises:
        SourceUnavailable, SourceBroken, FormatLimit, LimitExceeded: as they say.
        ReceiveLost, ReceiveTimeout: from ``patience``.
    """
    engine = engine_of(opened.database_url, what=opened.database_name)
    with open_writer(file_format, sink, opened.compiled.columns, options) as writer:
        with (
            read_snapshot(
                engine,
                timeout_seconds=patience.remaining(),
                statement_seconds=patience.statement_seconds,
                what=opened.database_name,
            ) as connection,
            patience.interrupting(lambda: interrupt(connection)),
            values_named(opened.compiled),
        ):
            snapshot_at = clock()
            texts = column_texts(connection, opened.compiled, TextForm(options.zone))

            def done(write: Callable[[], None]) -> None:
                patience.check()
                write()
                progress(writer.rows)

            def copy(write: TakeLines, copy_options: str, *, is_guarded: bool) -> None:
                copy_pages(
                    connection,
                    texts,
                    lambda lines, rows: done(partial(write, lines, rows)),
                    options=copy_options,
                    is_guarded=is_guarded,
                    page_rows=page_rows,
                )

            if not texts.are_all_rendered:
                with _pages(connection, texts, page_rows) as pages:
                    for page in pages:
                        done(partial(writer.write_page, page))
            elif isinstance(writer, CsvFile):
                as_csv = csv_options(options.csv_delimiter)
                copy(writer.write_lines, as_csv, is_guarded=options.csv_guard)
            else:
                width = len(opened.compiled.columns)
                copy(
                    lambda lines, _rows: writer.write_page(columns_of(lines, width)),
                    COLUMNS_OPTIONS,
                    is_guarded=False,
                )
        writer.finish()
    return Written(
        rows=writer.rows,
        replaced_characters=writer.replaced_characters,
        cut_cells=writer.cut_cells,
        columns=tuple(opened.compiled.columns),
        snapshot_at=snapshot_at,
    )


@contextmanager
def _pages(connection: Connection, texts: ColumnTexts, page_rows: int) -> Iterator[Iterator[Page]]:
    """Read pages of texts, ahead where another process makes the rows meanwhile."""
    pages = text_pages(connection, texts, page_rows)
    if connection.engine.dialect.name == "sqlite":
        yield pages
        return

    def read(ahead: Ahead[Page]) -> None:
        with ahead.begin_part() as give:
            for page in pages:
                give(page)

    with read_ahead([read], interrupt=lambda: interrupt(connection)) as read_pages:
        yield read_pages
