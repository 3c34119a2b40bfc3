"""Text counted in UTF-16 units, as Excel counts."""

from __future__ import annotations


def units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le")) // 2


def first_units(text: str, most: int) -> str:
    """Return the text's beginning of ``most`` units; no character is cut in two."""
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")
