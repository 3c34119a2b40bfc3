"""The cells of a page, made column by column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias, cast
from zoneinfo import ZoneInfo

from queries_orchestration.exports.xlsx_stream import moment_cells, number_cells, styles
from queries_orchestration.exports.xlsx_stream.cell_form import (
    BOOLEAN,
    NUMBER,
    STYLED,
    TEXT,
    WHOLE,
    CellForm,
    text_form,
)
from queries_orchestration.exports.xlsx_stream.cell_text import CellTexts
from queries_orchestration.exports.xlsx_stream.rows import Contents
from queries_orchestration.model.columns import Column, ValueType

Texts: TypeAlias = Sequence[str | None]
"""What one column holds; None is NULL."""

_DATES_KEPT = 4_096


class PageCells:
    """Makes the cells of one workbook, whose instants come as wall times of ``zone``.

    Attributes:
        texts: makes its texts' contents, and counts what they could not hold.
        labels: the header's texts.
    """

    def __init__(self, columns: Sequence[Column], zone: ZoneInfo) -> None:
        self.texts = CellTexts()
        self.labels = [
            f"{column.label} ({zone.key})" if column.type == "timestamptz" else column.label
            for column in columns
        ]
        kinds = _kinds(zone)
        self._columns = [ColumnCells(self.texts, kinds.get(column.type)) for column in columns]

    @property
    def forms(self) -> tuple[CellForm, ...]:
        """The forms of the columns' cells; a column of mixed cells has another from then on."""
        return tuple(column.form for column in self._columns)

    def header(self) -> list[str]:
        """Return the cells of the header, without their addresses; call it once."""
        return [text_form(styles.BOLD).around(text) for text in self.texts(self.labels)]

    def contents(self, texts: Sequence[Texts]) -> list[Contents]:
        """Return the contents of some rows' cells, as the texts column by column."""
        return [column.contents(held) for column, held in zip(self._columns, texts, strict=True)]


class Kind(NamedTuple):
    """How texts of one type become contents of cells.

    Attributes:
        form: of the cells.
        content: makes the content of any text; None where it has none.
        plain_contents: makes the same of texts together, much faster; None where one of them is
            not as such texts usually are.
    """

    form: CellForm
    content: Callable[[str], str | None]
    plain_contents: Callable[[Sequence[str]], Sequence[str] | None] = lambda _: None

    def contents(self, texts: Sequence[str]) -> Contents:
        plain = self.plain_contents(texts)
        return list(map(self.content, texts)) if plain is None else plain


class ColumnCells:
    """Makes the cells of one column.

    Attributes:
        form: of its cells so far; once some were texts in a column of another type, it has mixed
            cells, whose contents are whole.
    """

    def __init__(self, texts: CellTexts, kind: Kind | None) -> None:
        self.form = kind.form if kind else TEXT
        self._texts = texts
        self._kind = kind

    def contents(self, column: Texts) -> Contents:
        texts = cast("Sequence[str]", column)
        if not all(column):  # the cheaper question first
            texts = [text for text in column if text is not None]
        if not texts:
            return column
        contents = self._of_texts(texts)
        if contents is texts:
            return column
        if len(texts) == len(column):
            return contents
        following = iter(contents)
        return [None if text is None else next(following) for text in column]

    def _of_texts(self, texts: Sequence[str]) -> Contents:
        if not self._kind:
            return self._texts(texts)
        contents = self._kind.contents(texts)
        if self.form is not WHOLE and (contents is texts or None not in contents):
            return contents
        self.form = WHOLE
        around = self._kind.form.around
        left = [text for text, content in zip(texts, contents, strict=True) if content is None]
        following = iter(self._texts(left))
        return [
            TEXT.around(next(following)) if content is None else around(content)
            for content in contents
        ]


def _kinds(zone: ZoneInfo) -> dict[ValueType, Kind]:
    """Return the kind of each type but those that are always text."""
    numbers, moments = number_cells, moment_cells
    return {
        "integer": Kind(NUMBER, numbers.integer_content, numbers.plain_integers),
        "decimal": Kind(NUMBER, numbers.decimal_content, numbers.plain_decimals),
        "float": Kind(NUMBER, numbers.float_content, numbers.plain_floats),
        "boolean": Kind(BOOLEAN, numbers.boolean_content),
        "date": Kind(STYLED, lru_cache(_DATES_KEPT)(moments.date_content)),
        "timestamp": Kind(STYLED, moments.timestamp_content, moments.plain_timestamps),
        "timestamptz": Kind(STYLED, moments.InstantContent(zone), moments.plain_instants),
        "time": Kind(STYLED, moments.time_content),
    }
