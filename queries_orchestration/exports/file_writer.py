"""What every file writer offers, and the choice of one by format."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Protocol, Self, TypeAlias
from zoneinfo import ZoneInfo

from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import FormatLimit, InvalidSettings, UnknownTimeZone

FileFormat = Literal["csv", "xlsx"]
Page: TypeAlias = Sequence[Sequence[str | None]]
"""Columns of texts, as docs/formats.md has them, with a text for each row; None is NULL."""

XLSX_COLUMNS = 16_384
CSV_DELIMITERS = (",", ";", "\t", "|")


class Sink(Protocol):
    """Where a file goes: bytes in order, never sought, closed by whoever opened it."""

    def write(self, data: bytes, /) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class FileOptions:
    """How a file is written.

    Args:
        time_zone: IANA name of the zone in which instants are shown.
        csv_bom: start a CSV file with a byte order mark, by which Excel knows UTF-8.
        csv_guard: make text that a spreadsheet would run inert.
        csv_delimiter: one of ``,`` ``;`` TAB ``|``.
        sheet_title: name of the workbook's sheet; cleaned of what Excel does not allow.

    Raises:
        UnknownTimeZone, InvalidSettings: when made with a zone or delimiter that there is not.
    """

    time_zone: str
    csv_bom: bool = False
    csv_guard: bool = True
    csv_delimiter: str = ","
    sheet_title: str = "Result"

    def __post_init__(self) -> None:
        if self.csv_delimiter not in CSV_DELIMITERS:
            raise InvalidSettings(
                f"csv_delimiter {self.csv_delimiter!r} is none of: comma, semicolon, TAB, |"
            )
        _ = self.zone

    @property
    def zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self.time_zone)
        except (KeyError, ValueError, OSError) as error:
            raise UnknownTimeZone(
                f"time_zone {self.time_zone!r} is not an IANA time zone, such as Europe/Berlin"
            ) from error


class FileWriter(ABC):
    """Writes the pages of one result into a sink.

    Leaving the ``with`` block frees what the writer holds. It never finishes the file: a file
    without :meth:`finish` is not whole.

    Attributes:
        rows: rows written so far, the header not counted.
        replaced_characters: characters that the format cannot hold, written as U+FFFD.
        cut_cells: cells whose text was longer than the format can hold, cut with a visible note.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.replaced_characters = 0
        self.cut_cells = 0

    @abstractmethod
    def write_page(self, page: Page) -> None:
        """Write the rows of a page, of at least one row."""

    @abstractmethod
    def finish(self) -> None:
        """Hand everything to the sink; call it once, after the last page, also after none."""

    @abstractmethod
    def close(self) -> None:
        """Free what the writer holds, finished or not; the sink stays open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def check_columns(file_format: str, columns: Sequence[Column]) -> None:
    """Refuse a result that the format cannot hold, before anything is written.

    Raises:
        FormatLimit: more columns than an Excel sheet has.
    """
    if file_format == "xlsx" and len(columns) > XLSX_COLUMNS:
        raise FormatLimit(
            f"the result has {len(columns):,} columns, an Excel sheet holds {XLSX_COLUMNS:,}: "
            "ask for CSV, or choose fewer fields"
        )


def open_writer(
    file_format: FileFormat, sink: Sink, columns: Sequence[Column], options: FileOptions
) -> FileWriter:
    """Return a writer of the format; openpyxl is loaded only when it is needed.

    Raises:
        FormatLimit: as :func:`check_columns`.
    """
    check_columns(file_format, columns)
    if file_format == "csv":
        from queries_orchestration.exports.csv_file import CsvFile

        return CsvFile(sink, columns, options)
    from queries_orchestration.exports.xlsx_stream.stream import XlsxStream

    return XlsxStream(sink, columns, options)
