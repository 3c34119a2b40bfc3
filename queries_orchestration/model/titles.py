"""What may stand where a person reads a title: one line of text."""

from __future__ import annotations

import unicodedata
from typing import Final

LONGEST_TITLE: Final = 300

# Control characters, surrogates, and the line and paragraph separators.
_UNPRINTABLE: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
# What turns the order of all that follows, beyond the text itself.
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_INVISIBLE: Final = frozenset({"Cf", "Zs", "Cn", "Co"})


def is_one_line(text: str) -> bool:
    """Tell whether a text has neither line ends nor control characters."""
    return not any(unicodedata.category(character) in _UNPRINTABLE for character in text)


def is_plain(text: str) -> bool:
    """Tell whether a person sees a text, and in its own order: titles may turn, where they must."""
    return not _TURNING.intersection(text) and any(
        unicodedata.category(character) not in _INVISIBLE for character in text
    )
