"""The parts of a workbook around its sheets."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import quoteattr

from queries_orchestration.exports.xlsx_stream.styles import STYLES
from queries_orchestration.exports.xlsx_stream.theme import THEME
from queries_orchestration.exports.xlsx_stream.zip_stream import ZipStream

XML_HEAD = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_TYPE = "application/vnd.openxmlformats-"

# Comes first, as programs that tell files by their beginning expect, when the number of sheets is
# not known yet: so a part of no other type is a sheet.
_CONTENT_TYPES = (
    f'<Types xmlns="{_PACKAGE}/content-types">'
    f'<Default Extension="rels" ContentType="{_TYPE}package.relationships+xml"/>'
    f'<Default Extension="xml" ContentType="{_TYPE}officedocument.spreadsheetml.worksheet+xml"/>'
    '<Override PartName="/xl/workbook.xml"'
    f' ContentType="{_TYPE}officedocument.spreadsheetml.sheet.main+xml"/>'
    '<Override PartName="/xl/styles.xml"'
    f' ContentType="{_TYPE}officedocument.spreadsheetml.styles+xml"/>'
    f'<Override PartName="/xl/theme/theme1.xml" ContentType="{_TYPE}officedocument.theme+xml"/>'
    "</Types>"
)

_SHARED = [("styles", "styles.xml"), ("theme", "theme/theme1.xml")]


def begin_frame(archive: ZipStream) -> None:
    """Write the parts that come before the sheets."""
    _add(archive, "[Content_Types].xml", _CONTENT_TYPES)
    _add_relations(archive, "_rels/.rels", [("officeDocument", "xl/workbook.xml")])
    _add(archive, "xl/styles.xml", STYLES)
    _add(archive, "xl/theme/theme1.xml", THEME)


def sheet_name(number: int) -> str:
    """Return the name, in the archive, of the ``number``-th sheet, from 1."""
    return f"xl/worksheets/sheet{number}.xml"


def end_frame(archive: ZipStream, titles: Sequence[str]) -> None:
    """Write the parts that come after the sheets, which are called ``titles``."""
    sheets = [
        f'<sheet name={quoteattr(title)} sheetId="{number}" r:id="rId{number}"/>'
        for number, title in enumerate(titles, start=1)
    ]
    _add(
        archive,
        "xl/workbook.xml",
        f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><bookViews><workbookView/></bookViews>'
        f"<sheets>{''.join(sheets)}</sheets></workbook>",
    )
    numbers = range(1, len(titles) + 1)
    relations = [("worksheet", sheet_name(number).removeprefix("xl/")) for number in numbers]
    _add_relations(archive, "xl/_rels/workbook.xml.rels", [*relations, *_SHARED])


def _add_relations(archive: ZipStream, name: str, relations: Sequence[tuple[str, str]]) -> None:
    entries = [
        f'<Relationship Id="rId{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(relations, start=1)
    ]
    _add(
        archive,
        name,
        f'<Relationships xmlns="{_PACKAGE}/relationships">{"".join(entries)}</Relationships>',
    )


def _add(archive: ZipStream, name: str, xml: str) -> None:
    archive.add(name, (XML_HEAD + xml).encode())
