"""Names that Excel accepts for a sheet."""

from __future__ import annotations

import re

from queries_orchestration.exports.text_units import first_units

_REFUSED = re.compile(r"[\[\]:*?/\\\x00-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_LOOKS_ESCAPED = re.compile("_(?=x[0-9A-Fa-f]{4}_)")  # Excel would read a character's number
_TITLE_UNITS = 31


def sheet_title(wanted: str, number: int = 1, *, otherwise: str = "Result") -> str:
    """Return a name that Excel accepts for the ``number``-th sheet of a title, from 1.

    Args:
        otherwise: the name where nothing is left of what was wanted.
    """
    title = _LOOKS_ESCAPED.sub(" ", _REFUSED.sub(" ", wanted)).strip().strip("'").strip()
    if title.lower() in ("", "history"):  # Excel keeps "History" for itself
        title = otherwise
    suffix = "" if number == 1 else f" ({number})"
    return first_units(title, _TITLE_UNITS - len(suffix)).rstrip(" '") + suffix
