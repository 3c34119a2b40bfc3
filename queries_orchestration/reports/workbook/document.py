"""A report as an Excel workbook: an overview, then a sheet for each section."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from queries_orchestration.exports.file_writer import Sink
from queries_orchestration.model.time_zones import zone
from queries_orchestration.reports.content import Content, Head


@dataclass(frozen=True, slots=True)
class WorkbookCounts:
    """What the cells could not hold.

    Args:
        replaced_characters: characters written as U+FFFD.
        cut_cells: cells whose text was too long, cut with a visible note.
    """

    replaced_characters: int
    cut_cells: int


def write_workbook(head: Head, contents: Iterable[Content], sink: Sink) -> WorkbookCounts:
    """Write a report's workbook; the sink gets it at the end.

    What reading the contents or writing to the sink raises comes through as it is, and leaves no
    temporary file behind.

    Args:
        contents: the sections in order, read once; each is let go before the next is asked for.

    Raises:
        UnknownTimeZone: the head names a zone that there is not.
    """
    # openpyxl is loaded only where a workbook is made.
    from queries_orchestration.reports.workbook.book import discard_book, new_book, save_book
    from queries_orchestration.reports.workbook.cells import Cells
    from queries_orchestration.reports.workbook.overview import Overview
    from queries_orchestration.reports.workbook.sections import write_section

    book = new_book()
    cells = Cells(book, zone(head.time_zone))
    overview = Overview(head)
    try:
        for content in contents:
            name = overview.add(content)
            write_section(book, cells, name, content)
            del content  # else its rows stay while the next section's are read
        overview.write(book, cells)
        save_book(book, sink)
    finally:
        discard_book(book)
    return WorkbookCounts(cells.replaced_characters, cells.cut_cells)
