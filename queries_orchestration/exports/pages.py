"""Reading a compiled query page by page: every row once, and proof of it at every seam."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from queries_orchestration.exports.sources import fetch
from queries_orchestration.model.compile import CompiledQuery
from queries_orchestration.model.errors import SourceBroken

PAGE_ROWS = 1000


def read_pages(
    connection: Connection, compiled: CompiledQuery, page_rows: int = PAGE_ROWS
) -> Iterator[list[tuple[object, ...]]]:
    """Yield the result in pages of ``page_rows`` rows; an empty result has no page.

    One row more than a page is fetched, and must come first on the next page; and before a
    second page, no row may lack a sort value that the dataset promises. A key that is no key
    would otherwise lose rows between two pages, in silence.

    Args:
        connection: a snapshot of :func:`queries_orchestration.exports.sources.read_snapshot`.
        compiled: the query.
        page_rows: rows of a page, at least 1.

    Raises:
        SourceBroken: the query cannot be run as the dataset is defined, or its key is no key
            (``source_key_not_unique``, ``source_key_null``).
        SourceUnavailable: the database went away, was busy, or the statement was interrupted.
        ReceiveTimeout: the time limit was reached.
    """
    statement = compiled.first_page(page_rows + 1)
    expected: tuple[object, ...] | None = None
    while True:
        rows = fetch(connection, statement, dataset=compiled.dataset)
        if expected is not None and (not rows or compiled.cursor(rows[0]) != expected):
            raise SourceBroken(
                f"The key of the dataset {compiled.dataset} does not name one row each."
                " Correct the key in the dataset, or the data.",
                code="source_key_not_unique",
            )
        if rows:
            yield [compiled.cells(row) for row in rows[:page_rows]]
        if len(rows) <= page_rows:
            return
        if expected is None:
            _refuse_forbidden_nulls(connection, compiled)
        expected = compiled.cursor(rows[page_rows])
        statement = compiled.page_after(compiled.cursor(rows[page_rows - 1]), page_rows + 1)


def _refuse_forbidden_nulls(connection: Connection, compiled: CompiledQuery) -> None:
    statement = compiled.forbidden_nulls()
    if statement is not None and fetch(connection, statement, dataset=compiled.dataset):
        promised = ", ".join(key.name for key in compiled.keys if not key.nullable)
        raise SourceBroken(
            f"A row of the dataset {compiled.dataset} is NULL where the dataset says that none is"
            f" ({promised}). Correct key and nullable in the dataset, or the data.",
            code="source_key_null",
        )
