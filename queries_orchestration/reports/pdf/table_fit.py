"""How a table fits the paper: upright or landscape, in which type size, in how many blocks.

A table that is too wide for a landscape page in the smallest type is printed as several blocks
of columns, one below the other, each with the first column.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from queries_orchestration.reports.print_text import NULL

UPRIGHT: Final = 174.0
LANDSCAPE: Final = 261.0
"""Millimetres between the margins of the page; the style sheet has the margins."""

PADDING: Final = 2.8
"""Millimetres of a column beside its text."""

_CHARACTER = 0.58 * 0.3528  # millimetres of an average character a point of type size
_TRIALS = ((UPRIGHT, 8.0), (UPRIGHT, 7.0), (LANDSCAPE, 7.5), (LANDSCAPE, 6.5))
_BOLD = 1.12
_DIGIT, _BOLD_DIGIT = 1.1, 1.2  # times as wide as an average character
_KEPT_WHOLE = 17  # no cell up to this length is broken: instants, names, most numbers
_NARROWEST, _WIDEST_LEAST, _WIDEST, _WIDEST_NUMBER = 3, 34, 100, 36
_NUMBER_WORDS = frozenset({NULL, "NaN", "Infinity", "-Infinity"})
_LINES = 10  # that a cell has at most, if the paper is wide enough


@dataclass(frozen=True, slots=True)
class Block:
    """Columns that stand side by side, by position, and their widths in millimetres."""

    columns: tuple[int, ...]
    widths: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Fit:
    """How a table is printed; ``type_size`` in points."""

    is_landscape: bool
    type_size: float
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class _Need:
    """Characters side by side that a column needs at least, and those it would like to have."""

    least: float
    liked: float


def fit_table(
    labels: Sequence[str], cells: Sequence[Sequence[str]], *, has_totals: bool = False
) -> Fit:
    """Return the fit of a table.

    Args:
        labels: of its columns; at least one.
        cells: for each column the printed texts below the label.
        has_totals: whether the last text of each column is printed in bold.
    """
    needs = [
        _need(label, texts, has_totals=has_totals)
        for label, texts in zip(labels, cells, strict=True)
    ]
    everything = tuple(range(len(needs)))
    for paper, type_size in _TRIALS:
        if sum(need.least * type_size * _CHARACTER + PADDING for need in needs) <= paper:
            blocks = (_block(everything, needs, paper, type_size),)
            return Fit(paper == LANDSCAPE, type_size, blocks)
    return Fit(
        True,
        type_size,
        tuple(_block(part, needs, paper, type_size) for part in _parts(needs, paper, type_size)),
    )


def _need(label: str, texts: Sequence[str], *, has_totals: bool) -> _Need:
    least: float
    plain, bold = (_DIGIT, _BOLD_DIGIT) if _is_number(texts) else (1.0, _BOLD)
    longest = plain * max(map(_width, texts), default=0)
    if has_totals:
        longest = max(longest, bold * _width(texts[-1]))
    label_word = _BOLD * max(map(_width, label.split()), default=0)
    label_width = _BOLD * _width(label)
    if longest <= _KEPT_WHOLE or _is_number(texts):
        least = min(longest, _WIDEST_NUMBER)
        liked = max(least, min(label_width, least + 8))
    else:
        least = min(max(longest / _LINES, _KEPT_WHOLE), _WIDEST_LEAST)
        liked = min(max(longest, label_width), _WIDEST)
    least = max(least, min(label_word, _KEPT_WHOLE), _NARROWEST)
    return _Need(least, max(least, liked))


def _is_number(texts: Sequence[str]) -> bool:
    return all(text in _NUMBER_WORDS or not text.strip("-0123456789,.e+") for text in texts)


def _width(text: str) -> int:
    """Return how wide the longest line is, in narrow characters."""
    if text.isascii() and "\n" not in text:
        return len(text)
    return max(
        sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in line)
        for line in text.split("\n")
    )


def _parts(needs: Sequence[_Need], paper: float, type_size: float) -> Iterator[tuple[int, ...]]:
    """Divide the columns into as many as fit side by side, the first one before each."""
    widths = [min(need.least * type_size * _CHARACTER + PADDING, paper) for need in needs]
    first = (0,) if widths[0] <= paper / 3 else ()
    start = sum(widths[n] for n in first)
    part, taken = first, start
    for column in range(len(first), len(widths)):
        if len(part) > len(first) and taken + widths[column] > paper:
            yield part
            part, taken = first, start
        part, taken = (*part, column), taken + widths[column]
    yield part


def _block(
    columns: tuple[int, ...], needs: Sequence[_Need], paper: float, type_size: float
) -> Block:
    """Give each column what it needs, and of what is left as much as it would like to have."""
    character = type_size * _CHARACTER
    least = [needs[n].least * character + PADDING for n in columns]
    wished = [(needs[n].liked - needs[n].least) * character for n in columns]
    share = min(1.0, max(0.0, paper - sum(least)) / (sum(wished) or 1.0))
    widths = [width + share * more for width, more in zip(least, wished, strict=True)]
    shrink = min(1.0, paper / sum(widths))
    return Block(columns, tuple(round(width * shrink, 2) for width in widths))
