"""Readers of our files that share nothing with the writers, and know NULL from the empty text."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ElementTree
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal

from python_calamine import load_workbook

from queries_orchestration.exports.file_writer import FileFormat, FileOptions, Page, open_writer
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.columns import Column

_MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
BERLIN = FileOptions(time_zone="Europe/Berlin")


class Sink:
    """Takes bytes in order and nothing else, as a storage does; remembers the single writes."""

    def __init__(self) -> None:
        self.written: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self.written.append(bytes(data))
        return len(data)

    @property
    def content(self) -> bytes:
        return b"".join(self.written)


def written(
    file_format: FileFormat,
    columns: Sequence[Column],
    *pages: Sequence[Sequence[object]],
    options: FileOptions = BERLIN,
) -> bytes:
    """Return the file that pages of exact values become."""
    sink = Sink()
    with open_writer(file_format, sink, columns, options) as writer:
        for page in filter(None, pages):
            writer.write_page(as_page(texts_of(page, options)))
        writer.finish()
    return sink.content


def as_page(rows: Sequence[Sequence[str | None]]) -> Page:
    """Return rows as the writers take them, column by column."""
    return [*zip(*rows, strict=True)]


def texts_of(
    page: Sequence[Sequence[object]], options: FileOptions = BERLIN
) -> list[list[str | None]]:
    """Return the texts of exact values, as the writers take them."""
    form = TextForm(options.zone)
    return [[None if value is None else form(value) for value in row] for row in page]


def read_csv(content: bytes, delimiter: str = ",") -> list[list[str | None]]:
    """Parse by the grammar of RFC 4180 with LF line ends; an unquoted empty field is None."""
    text = content.decode("utf-8")
    rows: list[list[str | None]] = [[]]
    at = 0
    while at < len(text):
        if text[at] == '"':
            value = ""
            at += 1
            while text[at] != '"' or text[at + 1 : at + 2] == '"':
                value += text[at]
                at += 2 if text[at] == '"' else 1
            at += 1
            rows[-1].append(value)
        else:
            start = at
            while text[at] not in (delimiter, "\n"):
                assert text[at] not in '"\r', f"unquoted {text[at]!r} at {at}"
                at += 1
            rows[-1].append(text[start:at] or None)
        assert text[at] in (delimiter, "\n"), f"{text[at]!r} after a closing quote at {at}"
        if text[at] == "\n":
            rows.append([])
        elif text[at + 1] == "\n":
            rows[-1].append(None)
            at += 1
            rows.append([])
        at += 1
    assert rows.pop() == [], "the last line has no line end"
    return rows


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as the file holds it; ``format`` is the number format, empty for General."""

    kind: str
    content: str
    format: str = ""
    bold: bool = False


def read_sheet(content: bytes, number: int = 1) -> list[list[Cell | None]]:
    """Read a sheet's XML; a cell that is not there is None, each row as wide as the first."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        assert archive.testzip() is None
        styles = _styles(archive.read("xl/styles.xml"))
        sheet = _parsed(archive.read(f"xl/worksheets/sheet{number}.xml"))
    rows: list[list[Cell | None]] = []
    for row in sheet.iter(f"{_MAIN}row"):
        cells = {_column(cell.attrib["r"]): _cell(cell, styles) for cell in row}
        width = len(rows[0]) if rows else len(cells)
        rows.append([cells.get(index) for index in range(width)])
    return rows


def calamine_rows(content: bytes, number: int = 1) -> list[list[object]]:
    """Read a sheet by a library that none of our writers uses."""
    sheet = load_workbook(io.BytesIO(content)).get_sheet_by_index(number - 1)
    return [list(row) for row in sheet.to_python()]


def _cell(cell: ElementTree.Element, styles: list[tuple[str, bool]]) -> Cell:
    number_format, bold = styles[int(cell.attrib.get("s", "0"))]
    assert {child.tag for child in cell} <= {f"{_MAIN}v", f"{_MAIN}is"}, "formula"
    kind = cell.attrib.get("t", "n")
    if kind == "inlineStr":
        text = cell.find(f"{_MAIN}is/{_MAIN}t")
        assert text is not None
        raw = text.text or ""
        assert raw == raw.strip() or any("space" in name for name in text.attrib), "blanks lost"
        shown = re.sub("_x([0-9A-Fa-f]{4})_", lambda found: chr(int(found[1], 16)), raw)
        return Cell("text", shown, bold=bold)
    value = cell.findtext(f"{_MAIN}v")
    assert value is not None
    return Cell({"n": "number", "b": "boolean"}[kind], value, number_format, bold)


def _styles(content: bytes) -> list[tuple[str, bool]]:
    root = _parsed(content)
    formats = {
        int(entry.attrib["numFmtId"]): entry.attrib["formatCode"]
        for entry in root.iter(f"{_MAIN}numFmt")
    } | {0: ""}
    fonts = [font.find(f"{_MAIN}b") is not None for font in root.iterfind(f"{_MAIN}fonts/*")]
    return [
        (formats[int(style.attrib["numFmtId"])], fonts[int(style.attrib["fontId"])])
        for style in root.iterfind(f"{_MAIN}cellXfs/*")
    ]


def _column(reference: str) -> int:
    index = 0
    for letter in reference.rstrip("0123456789"):
        index = index * 26 + ord(letter) - ord("A") + 1
    return index - 1


def _parsed(content: bytes) -> ElementTree.Element:
    return ElementTree.fromstring(content)  # noqa: S314 - we wrote it


def meaning(type_: str, text: str) -> object:
    """Return the value that a field of a CSV file tells."""
    match type_:
        case "integer":
            return int(text)
        case "decimal":
            assert "e" not in text.lower()
            return Decimal(text)
        case "float":
            return float(text)
        case "boolean":
            return {"true": True, "false": False}[text]
        case "date":
            return date.fromisoformat(text)
        case "time":
            return time.fromisoformat(text)
        case "timestamp" | "timestamptz":
            moment = datetime.fromisoformat(text)
            assert (moment.tzinfo is not None) == (type_ == "timestamptz")
            return moment
        case "bytes":
            return bytes.fromhex(text.removeprefix("\\x"))
        case "json":
            json.loads(text)
            return text
        case _:
            return text
