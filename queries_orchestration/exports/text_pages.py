"""The texts of a result, page by page, where the database cannot make all of them itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.exports.column_texts import ColumnTexts
from queries_orchestration.exports.file_writer import Page
from queries_orchestration.exports.paging import PAGE_ROWS
from queries_orchestration.exports.raw_pages import raw_pages


def text_pages(
    connection: Connection,
    texts: ColumnTexts,
    page_rows: int = PAGE_ROWS,
    *,
    by_key: bool | None = None,
) -> Iterator[Page]:
    """Yield the result in pages, each cell the text of docs/formats.md; None is NULL.

    Arguments and errors are those of :func:`queries_orchestration.exports.raw_pages.raw_pages`.
    """
    width = len(texts.converters)
    query = texts.selected(is_cast=True)
    for page in raw_pages(connection, query, page_rows, by_key=by_key):
        columns: list[Any] = [*zip(*page, strict=True)][:width]
        yield [
            column if converter is None else converter(column)
            for column, converter in zip(columns, texts.converters, strict=True)
        ]
