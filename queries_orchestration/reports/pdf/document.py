"""A report as PDF: its contents become one HTML document, which is then laid out on pages.

What cannot be shown in print: see ``print_text``. Nothing is fetched, whatever the contents say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Final

from queries_orchestration.exports.file_writer import Sink
from queries_orchestration.model.errors import TransientError
from queries_orchestration.model.fields import NUMBERS
from queries_orchestration.reports.content import (
    Chart,
    Comparison,
    Content,
    Head,
    Number,
    Table,
    Text,
)
from queries_orchestration.reports.pdf.charts import draw_chart
from queries_orchestration.reports.pdf.markdown import markdown_html
from queries_orchestration.reports.pdf.table_fit import fit_table
from queries_orchestration.reports.print_text import PrintText, Replacer, percent_text

if TYPE_CHECKING:
    from jinja2 import Environment, Template

LISTED_FROM: Final = 3
"""So many titled sections make a list of contents."""

TAGGED_CELLS: Final = 8_000
"""Tables of more cells together are printed without tags, which take as much memory again."""

_RUNNING = 70
"""Characters of a title that are repeated on each page."""

_TALL = 500
"""Characters of a cell from which on its row may be divided between pages."""


def write_pdf(head: Head, contents: Iterable[Content], sink: Sink) -> int:
    """Print a report.

    Args:
        contents: consumed once, one section after the other.

    Returns:
        How many characters were replaced because no page can show them.

    Raises:
        UnknownTimeZone: the zone of ``head`` is none.
        TransientError: this machine cannot make PDF files (``pdf_unavailable``).
    """
    try:
        from queries_orchestration.reports.pdf.printer import print_pages
    except OSError as error:
        raise TransientError(
            "PDF files cannot be made on this machine, it lacks the library Pango: install the"
            " Debian packages libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0"
            " fonts-dejavu-core, or run the report's worker where they are",
            code="pdf_unavailable",
        ) from error

    paper = _Paper(head)
    html = paper.html(contents)
    sink.write(print_pages(html, paper.pictures, is_tagged=paper.cells <= TAGGED_CELLS))
    return paper.replaced


@dataclass(frozen=True, slots=True)
class _Column:
    label: str
    is_number: bool
    width: float


@dataclass(frozen=True, slots=True)
class _Block:
    """Columns side by side; ``caption`` says which, where a table has several blocks."""

    caption: str | None
    columns: tuple[_Column, ...]
    rows: Sequence[tuple[str, ...]]
    totals: tuple[str, ...] | None

    @property
    def width(self) -> float:
        return round(sum(column.width for column in self.columns), 2)


class _Paper:
    """One report on the way to its HTML.

    Attributes:
        cells: of tables so far.
        pictures: SVG by the address that stands in the HTML.
    """

    def __init__(self, head: Head) -> None:
        self._head = head
        self._clean = Replacer()
        self._repeated = Replacer()  # for what is printed elsewhere, too, and counted there
        self.cells = 0
        self.pictures: dict[str, str] = {}

    @property
    def replaced(self) -> int:
        return self._clean.replaced

    def html(self, contents: Iterable[Content]) -> str:
        sections = list(self._sections(contents))  # first: it counts and is consumed
        head, clean = self._head, self._clean
        form = PrintText(head.time_zone)
        title, workspace = clean(head.title), clean(head.workspace)
        headings = [(number, self._repeated(heading)) for number, heading in head.headings]
        return _template("report.html.jinja").render(
            title=title,
            running_title=_running(title),
            workspace=workspace,
            running_workspace=_running(workspace),
            reader=clean(head.reader),
            moment=head.told(head.moment),
            read_at=head.told(head.read_at),
            version=head.version,
            values=[(clean(label), clean(form(value))) for label, value in head.values],
            headings=headings if len(headings) >= LISTED_FROM else [],
            sections=sections,
        )

    def _sections(self, contents: Iterable[Content]) -> Iterator[tuple[bool, list[str]]]:
        """Yield the HTML of sections; of tiles in succession together, with True."""
        for are_tiles, group in groupby(contents, key=_is_tile):
            yield are_tiles, [self._section(content) for content in group]

    def _section(self, content: Content) -> str:
        shown = content.shown
        form = PrintText(self._head.time_zone, content.decimals)
        match shown:
            case Text():
                facts: dict[str, object] = self._text(shown)
            case Table():
                facts = self._table(shown, form)
            case Chart():
                facts = self._chart(shown, form)
            case Number() | Comparison():
                facts = self._tile(shown, form)
        return _template("section.html.jinja").render(
            number=content.number,
            title=None if content.title is None else self._clean(content.title),
            notices=[self._clean(notice) for notice in content.notices],
            kind=type(shown).__name__.lower(),
            **facts,
        )

    def _text(self, text: Text) -> dict[str, object]:
        # A second time, for the characters that Markdown spells as numbers.
        return {"text": self._clean(markdown_html(self._clean(text.markdown)))}

    def _table(self, table: Table, form: PrintText) -> dict[str, object]:
        labels = [self._clean(column.label) for column in table.columns]
        lines = [*table.rows] if table.totals is None else [*table.rows, table.totals]
        columns = zip(*lines, strict=True) if lines else ((),) * len(labels)
        cells = [list(map(self._clean, form.column(column))) for column in columns]
        self.cells += len(labels) * len(lines)
        if table.totals is not None:
            for column, total in zip(cells, table.totals, strict=True):
                if total is None:
                    column[-1] = ""
            if table.totals[0] is None:
                cells[0][-1] = "Total"
        fit = fit_table(labels, cells, has_totals=table.totals is not None)
        blocks = []
        for block in fit.blocks:
            rows = list(zip(*(cells[n] for n in block.columns), strict=True))
            own = [n for n in block.columns if n or block is fit.blocks[0]]
            totals = None
            if table.totals is not None:
                last = rows.pop()
                totals = last if any(table.totals[n] is not None for n in own) else None
            caption = None
            if len(fit.blocks) > 1:
                caption = f"Columns {own[0] + 1} to {own[-1] + 1} of {len(labels)}"
            blocks.append(
                _Block(
                    caption,
                    tuple(
                        _Column(labels[n], table.columns[n].type in NUMBERS, width)
                        for n, width in zip(block.columns, block.widths, strict=True)
                    ),
                    rows,
                    totals,
                )
            )
        return {
            "blocks": blocks,
            "is_landscape": fit.is_landscape,
            "type_size": fit.type_size,
            "has_tall_rows": any(len(text) > _TALL for column in cells for text in column),
            "is_empty": not table.rows,
        }

    def _chart(self, chart: Chart, form: PrintText) -> dict[str, object]:
        clean = self._clean
        chart = replace(
            chart,
            x=replace(chart.x, label=clean(chart.x.label)),
            series=tuple(replace(each, label=clean(each.label)) for each in chart.series),
        )
        drawing = draw_chart(
            chart,
            lambda value: clean(form(value)),
            time_zone=self._head.time_zone,
        )
        address = f"chart:{len(self.pictures)}"
        if drawing.svg is not None:
            self.pictures[address] = drawing.svg
        names = ", ".join(series.label for series in chart.series)
        return {
            "address": address,
            "drawing": drawing,
            "kind_of_chart": chart.kind,
            "told": f"{chart.kind.capitalize()} chart of {names} by {chart.x.label}",
            "is_empty": not chart.x_values,
        }

    def _tile(self, tile: Number | Comparison, form: PrintText) -> dict[str, object]:
        facts = {"label": self._clean(tile.column.label), "value": self._clean(form(tile.value))}
        if isinstance(tile, Number):
            return {**facts, "is_empty": tile.is_empty}
        change = None if tile.change is None else form(tile.change)
        direction, arrow = _direction(change or "")
        return {
            **facts,
            "is_empty": False,
            "previous": form(tile.previous),
            "change": f"+{change}" if direction == "up" else change,
            "percent": None if tile.percent is None else percent_text(tile.percent),
            "direction": direction,
            "arrow": arrow,
        }


def _is_tile(content: Content) -> bool:
    return isinstance(content.shown, Number | Comparison)


def _direction(change: str) -> tuple[str, str]:
    """Return the class and the arrow of a change that is printed so."""
    if not any(digit in change for digit in "123456789"):
        return "same", "=" if "0" in change else ""
    return ("down", "▼") if change.startswith("-") else ("up", "▲")


def _running(title: str) -> str:
    return title if len(title) <= _RUNNING else f"{title[: _RUNNING - 1].rstrip()}…"


def _template(name: str) -> Template:
    return _templates().get_template(name)


@cache
def _templates() -> Environment:
    # Not until something is printed: loading the definitions must stay quick.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("queries_orchestration.reports.pdf"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
