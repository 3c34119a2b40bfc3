"""The exact values of a result, page by page: what reports are made of."""

from __future__ import annotations

from collections.abc import Iterator

from sqlalchemy import Connection

from queries_orchestration.exports.paging import PAGE_ROWS
from queries_orchestration.exports.raw_pages import raw_pages
from queries_orchestration.model.compile import CompiledQuery


def read_pages(
    connection: Connection,
    query: CompiledQuery,
    page_rows: int = PAGE_ROWS,
    *,
    by_key: bool | None = None,
) -> Iterator[list[tuple[object, ...]]]:
    """Yield the result in pages of ``page_rows`` rows, each cell an exact value of its type.

    Arguments and errors are those of :func:`queries_orchestration.exports.raw_pages.raw_pages`;
    a value that its type cannot hold is a ``SourceBroken``, too.
    """
    for page in raw_pages(connection, query, page_rows, by_key=by_key):
        yield [query.cells(row) for row in page]
