"""The words of a mail server, fit to be kept and shown: one short line without address or token."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

WORDS_LIMIT: Final = 300
_WORD_LIMIT: Final = 80  # no token is as short, no address of a help page as long

_ADDRESS: Final = re.compile(r"(?:\"[^\"]*\"|[^\s<>()\[\]{},;:\"]+)@[^\s<>()\[\]{},;:'\"]+")


def clean_server_words(text: str, *, limit: int = WORDS_LIMIT) -> str:
    """Return ``text`` as one line of at most ``limit`` characters that names nobody.

    Servers repeat the recipient in their refusals, and may repeat a link of the message: addresses
    become ``(address)``, words longer than 80 characters ``…``.
    """
    shown = (" " if unicodedata.category(character)[0] in "CZ" else character for character in text)
    words = _ADDRESS.sub("(address)", "".join(shown)).split()
    line = " ".join("…" if len(word) > _WORD_LIMIT else word for word in words)
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
