"""What may stand where a person reads a title: one line of text."""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST_TITLE: Final = 300

# Control characters, surrogates, and the line and paragraph separators.
_UNPRINTABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})


def is_one_line(text: str) -> bool:
    """Tell whether a text has neither line ends nor control characters."""
    return not any(unicodedata.category(character) in _UNPRINTABLE for character in text)
