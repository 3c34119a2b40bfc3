"""Make the file of a report: read its sections and write them as PDF or workbook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final
from zoneinfo import ZoneInfo

from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.file_writer import XLSX_COLUMNS, Sink
from queries_orchestration.exports.generate import Patience, Produce, Written
from queries_orchestration.exports.open_report import OpenedReport, OpenedSection
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.reports import MOST_SECTIONS
from queries_orchestration.reports.content import Head
from queries_orchestration.reports.pdf.document import write_pdf
from queries_orchestration.reports.read import Bounds, ReportReader
from queries_orchestration.reports.workbook.document import write_workbook
from queries_orchestration.settings import Settings

_MOST_LISTED: Final = 20
"""How many elements of a list are shown before the sections."""


def report_producer(
    file: ExportFile,
    opened: OpenedReport,
    *,
    settings: Settings,
    patience: Patience,
    read_at: datetime,
) -> Produce:
    """Return what writes the file of an export of a report, which is read now, at ``read_at``."""
    return partial(
        write_report,
        head=head_of(file, opened, read_at=read_at),
        file_format=file.export.format,
        opened=opened,
        bounds=bounds_of(file.export.format, settings),
        patience=patience,
    )


def write_report(
    sink: Sink,
    progress: Callable[[int], None],
    *,
    head: Head,
    file_format: str,
    opened: OpenedReport,
    bounds: Bounds,
    patience: Patience,
) -> Written:
    """Write a report into ``sink``.

    Args:
        progress: called after each section with the rows read so far.
        file_format: ``pdf`` or ``xlsx``.

    Raises:
        SourceUnavailable, SourceBroken, TransientError: it cannot be read or printed.
        ReceiveLost, ReceiveTimeout: from ``patience``.
    """
    reader = ReportReader(
        opened,
        bounds=bounds,
        form=TextForm(ZoneInfo(head.time_zone)),
        patience=patience,
        progress=progress,
    )
    with reader.reading():
        if file_format == "pdf":
            replaced, cut = write_pdf(head, reader.sections(), sink), 0
        else:
            counts = write_workbook(head, reader.sections(), sink)
            replaced, cut = counts.replaced_characters, counts.cut_cells
    return Written(
        rows=reader.rows,
        replaced_characters=replaced,
        cut_cells=cut,
        cut_sections=reader.cut_sections,
        snapshot_at=head.read_at,
    )


def head_of(file: ExportFile, opened: OpenedReport, *, read_at: datetime) -> Head:
    """Return what stands before the sections."""
    titles = [
        section.section.title if isinstance(section, OpenedSection) else section.title
        for section in opened.sections
    ]
    labels = {parameter.name: parameter.label for parameter in opened.report.parameters}
    form = TextForm(ZoneInfo(file.export.time_zone))
    return Head(
        title=file.source.title,
        workspace=opened.workspace,
        reader=opened.reader,
        moment=file.moment,
        read_at=read_at,
        time_zone=file.export.time_zone,
        version=file.export.version,
        values=tuple(
            (labels[name], _listed(value, form) if isinstance(value, tuple) else value)
            for name, value in opened.values.items()
            if value is not None
        ),
        headings=tuple((number, title) for number, title in enumerate(titles, 1) if title),
    )


def bounds_of(file_format: str, settings: Settings) -> Bounds:
    """Return how many rows a file of this format shows; a workbook shows all that are read."""
    if file_format == "pdf":
        return Bounds(
            section_reads=settings.report_rows,
            table_shows=settings.report_section_rows,
            document_shows=settings.report_document_rows,
            document_cells=settings.report_document_cells,
        )
    return Bounds(
        section_reads=settings.report_rows,
        table_shows=settings.report_rows,
        document_shows=settings.report_rows * MOST_SECTIONS,
        document_cells=settings.report_rows * MOST_SECTIONS * XLSX_COLUMNS,
    )


def _listed(values: Sequence[object], form: TextForm) -> str:
    texts = [form(value) for value in values[:_MOST_LISTED]]
    if len(values) > len(texts):
        texts.append(f"and {len(values) - len(texts):,} more")
    return ", ".join(texts) or "none"
