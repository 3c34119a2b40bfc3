"""The XML of a cell around its content."""

from __future__ import annotations

from typing import Final, NamedTuple


class CellForm(NamedTuple):
    """What all cells of a kind have before their content, after their address, and behind it.

    It is written into the source of a function: neither braces, single quotes nor backslashes.
    """

    start: str
    end: str

    def around(self, content: str) -> str:
        return f"{self.start}{content}{self.end}"


WHOLE: Final = CellForm("", "")
"""Of cells of several kinds, whose contents have their forms around them already."""

NUMBER: Final = CellForm("><v>", "</v></c>")
BOOLEAN: Final = CellForm(' t="b"><v>', "</v></c>")
STYLED: Final = CellForm(' s="', "</v></c>")
"""Of numbers whose content begins with their style: see :func:`styled`."""


def styled(style: int, number: str) -> str:
    """Return the content of a cell of the form STYLED."""
    return f'{style}"><v>{number}'


def text_form(style: int = 0) -> CellForm:
    start = f' s="{style}"' if style else ""
    return CellForm(f'{start} t="inlineStr"><is><t xml:space="preserve">', "</t></is></c>")


TEXT: Final = text_form()
