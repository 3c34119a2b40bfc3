"""The texts of a result, page by page: what the files of queries are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from sqlalchemy import Connection

from queries_orchestration.exports.column_texts import ColumnTexts
from queries_orchestration.exports.paging import PAGE_ROWS
from queries_orchestration.exports.raw_pages import raw_pages

TextRow: TypeAlias = Sequence[str | None]


def text_pages(
    connection: Connection,
    texts: ColumnTexts,
    page_rows: int = PAGE_ROWS,
    *,
    by_key: bool | None = None,
) -> Iterator[Sequence[TextRow]]:
    """Yield the result in pages, each cell the text of docs/formats.md; None is NULL.

    Arguments and errors are those of :func:`queries_orchestration.exports.raw_pages.raw_pages`.
    """
    width, converters = len(texts.converters), texts.converters
    converted = [(n, converter) for n, converter in enumerate(converters) if converter is not None]
    as_printed = texts.are_all_rendered
    query = texts.selected(is_cast=not as_printed)
    for page in raw_pages(connection, query, page_rows, by_key=by_key, as_printed=as_printed):
        if not converted:
            yield [row[:width] for row in page]
            continue
        # Column by column: most are done at once.
        columns: list[Any] = [*zip(*page, strict=True)][:width]
        for position, converter in converted:
            columns[position] = converter(columns[position])
        yield list(zip(*columns, strict=True))
