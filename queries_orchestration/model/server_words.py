"""The words of a mail server, fit to be kept and shown: one short line without address or token.

A server may say anything, at any length: the text is cut before it is looked into.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

WORDS_LIMIT: Final = 300
_LOOKED_INTO: Final = 4_000
_WORD_LIMIT: Final = 80  # no token is as short, no address of a help page as long

# An at sign as it is, or as URLs, MIME, HTML, escapes and people write it. `=40` before digits
# alone is a number.
_AT: Final = re.compile(
    r"[@\uff20\ufe6b]|%(?:25){0,3}40|=40(?=\S{0,60}[a-z])|&#0{0,5}64;|&#x0{0,5}40;|&commat;"
    r"|\\x40|\\u0040|[(\[{<]at[)\]}>]",
    re.IGNORECASE,
)
_BETWEEN: Final = re.compile(r"([ <>()\[\]{},;:\"])")
_TOKEN: Final = re.compile(r"[A-Za-z0-9_=-]{40}")
"""A piece of a link's token: a message repeats one in lines of up to 76 characters, too."""


def clean_server_words(text: str, *, limit: int = WORDS_LIMIT) -> str:
    """Return ``text`` as one line of at most ``limit`` characters that names nobody.

    Servers repeat the recipient in their refusals, and may repeat a link of the message: addresses
    become ``(address)``, words longer than 80 characters and pieces of tokens ``…``.
    """
    words = _without_addresses(_one_line(text)).split()
    line = " ".join(
        "…" if len(word) > _WORD_LIMIT or _TOKEN.search(word) else word for word in words
    )
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _one_line(text: str) -> str:
    cut = text[:_LOOKED_INTO]
    shown = (" " if unicodedata.category(character)[0] in "CZ" else character for character in cut)
    line = "".join(shown)
    if len(cut) < len(text):
        # Half an address would not be known for one.
        line = f"{line.rpartition(' ')[0]} …"
    return " ".join(line.split())


def _without_addresses(line: str) -> str:
    # Words at even places, what stands between two at odd ones.
    parts = _BETWEEN.split(_AT.sub("@", line))
    kept: list[str] = []
    place = 0
    for first, last in _addresses(parts):
        if first >= place:
            kept += [*parts[place:first], "(address)"]
        place = max(place, last + 1)
    return "".join([*kept, *parts[place:]])


def _addresses(parts: Sequence[str]) -> list[tuple[int, int]]:
    """Return the first and the last place of each address, in their order."""
    found = []
    for place, word in enumerate(parts):
        if "@" not in word:
            continue
        first, last = place, place
        if word.startswith("@") and place:
            if parts[place - 1] == '"':  # a quoted local part
                opened = (one for one in range(place - 3, 0, -2) if parts[one] == '"')
                first = next(opened, 0)
            elif parts[place - 1] == " ":
                first = place - 2
        if word.endswith("@") and parts[place + 1 : place + 2] == [" "]:
            last = place + 2
        found.append((first, last))
    return found
