"""The first sheet of a report's workbook: what the report is, and the way to its sections."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from openpyxl import Workbook
from openpyxl.cell import WriteOnlyCell
from openpyxl.utils import quote_sheetname
from openpyxl.worksheet.hyperlink import Hyperlink

from queries_orchestration.reports.content import Content, Head
from queries_orchestration.reports.workbook.cells import Cells, representable
from queries_orchestration.reports.workbook.sheet import (
    BOLD,
    LINK,
    NOTICE,
    TITLE,
    WRAPPED,
    WRAPPED_LEFT,
    ReportSheet,
    lines_of,
)
from queries_orchestration.reports.workbook.sheet_names import SheetNames

_NAME: Final = "Overview"
_LONGEST: Final = (26, 50, 58)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    number: int
    title: str
    sheet: str
    notices: tuple[str, ...]


class Overview:
    """Names the sheets as the sections come, and is written once they are all there."""

    def __init__(self, head: Head) -> None:
        self._head = head
        self._names = SheetNames()
        self._name = self._names.take(_NAME, otherwise=_NAME)
        self._untitled = 0
        self._entries: list[_Entry] = []

    def add(self, content: Content) -> str:
        """Take a section in, and return the name of its sheet."""
        if content.title is None:
            self._untitled += 1
            wanted = f"Text {self._untitled}"
            return self._names.take(wanted, otherwise=wanted)
        name = self._names.take(content.title, otherwise=f"Section {content.number}")
        self._entries.append(
            _Entry(
                number=content.number,
                title=content.title,
                sheet=name,
                notices=content.notices,
            )
        )
        return name

    def write(self, book: Workbook, cells: Cells) -> None:
        """Write the sheet and put it before the others."""
        head = self._head
        book.properties.title = representable(head.title)[0]
        sheet = ReportSheet(book, cells, self._name, longest=_LONGEST, index=0)
        sheet.sheet.sheet_view.tabSelected = True
        sheet.row([sheet.text(head.title, TITLE)])
        sheet.row()
        for label, value in self._facts():
            content = cells.styled(cells.of(value))
            content.alignment = WRAPPED_LEFT
            lines = max(lines_of(label, _LONGEST[0]), lines_of(str(value), _LONGEST[1]))
            sheet.row([sheet.text(label, BOLD, WRAPPED), content], lines=lines)
        if self._entries:
            sheet.row()
            labels = [cells.text(label) for label in ("Section", "Sheet", "Notices")]
            sheet.header(labels, ["text"] * len(labels))
        for entry in self._entries:
            notices = "\n".join(entry.notices)
            sheet.row(
                [
                    sheet.text(str(entry.number), alignment=WRAPPED),
                    self._link(sheet, entry),
                    sheet.text(notices, NOTICE, WRAPPED) if notices else None,
                ],
                lines=max(lines_of(entry.title, _LONGEST[1]), lines_of(notices, _LONGEST[2])),
            )
        sheet.close()

    def _facts(self) -> Iterator[tuple[str, object]]:
        head = self._head
        yield "Workspace", head.workspace
        yield "For", head.told(head.moment)
        yield "Read", head.told(head.read_at)
        yield "Data", f"as {head.reader} may see it"
        yield "Version", head.version
        yield from head.values

    def _link(self, sheet: ReportSheet, entry: _Entry) -> Any:
        text = sheet.cells.text(entry.title)
        cell = WriteOnlyCell(sheet.sheet, text)  # type: ignore[arg-type]  # rich text is a value
        cell.font = LINK
        cell.alignment = WRAPPED
        cell.hyperlink = Hyperlink(
            ref="", location=f"{quote_sheetname(entry.sheet)}!A1", display=entry.sheet
        )
        return cell
