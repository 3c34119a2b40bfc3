"""Text as a cell holds it: what XML has no character for is replaced, what is too long is cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.sax.saxutils import escape

from queries_orchestration.exports.text_units import first_units, units

TEXT_UNITS = 32_767
"""Longest text of a cell, in UTF-16 units, as Excel counts."""

_SURELY_FITS = TEXT_UNITS // 2  # every character takes two units at most
_LINE_END = re.compile("\r\n?")
_UNREPRESENTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_CHANGED = re.compile(f"\r|{_UNREPRESENTABLE.pattern}")
_USUAL = bytes(code for code in range(256) if code != 0xEF and not _CHANGED.match(chr(code)))
"""In UTF-8, of nothing that is changed: U+FFFE and U+FFFF begin with 0xEF."""

_LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # Excel would read a character's number


class CellTexts:
    """Makes the text cells of one workbook.

    Attributes:
        replaced_characters: characters that a cell cannot hold, written as U+FFFD.
        cut_cells: cells whose text was longer than a cell holds, cut with a visible note.
    """

    def __init__(self) -> None:
        self.replaced_characters = 0
        self.cut_cells = 0

    def __call__(self, texts: Sequence[str]) -> Sequence[str]:
        """Return the contents of the texts' cells.

        They are looked at as one: almost always there is nothing to change in any.
        """
        joined = "".join(texts)
        if _may_change(joined) or (
            len(joined) > _SURELY_FITS and max(map(len, texts)) > _SURELY_FITS
        ):
            texts = [self._held(text) for text in texts]
            joined = "".join(texts)
        if "&" in joined or "<" in joined or ">" in joined:
            return escape("\0".join(texts)).split("\0")  # no text has this one any more
        return texts

    def _held(self, text: str) -> str:
        text = _LINE_END.sub("\n", text)
        text, replaced = _UNREPRESENTABLE.subn("\N{REPLACEMENT CHARACTER}", text)
        self.replaced_characters += replaced
        length = len(text)
        text = _LOOKS_ESCAPED.sub("_x005F_", text)
        if units(text) > TEXT_UNITS:
            self.cut_cells += 1
            note = f"… [cut: {length} characters in all]"
            text = first_units(text, TEXT_UNITS - units(note)) + note
        return text


def _may_change(joined: str) -> bool:
    try:
        unusual = joined.encode().translate(None, _USUAL)  # much faster than a search
    except UnicodeEncodeError:  # half a character
        return True
    if unusual and _CHANGED.search(joined):
        return True
    return "_" in joined and _LOOKS_ESCAPED.search(joined) is not None
