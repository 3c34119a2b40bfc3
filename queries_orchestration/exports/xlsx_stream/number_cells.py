"""Numbers and booleans as Excel has them, made of their texts.

Each function returns the content of a cell; None where the text is not of the type's form or
Excel's number would lose something of it, which then is a text cell.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Final

EXACT_DIGITS = 15
"""Significant decimal digits that Excel keeps."""

_SMALLEST_EXPONENT = -307

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}").fullmatch
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?").fullmatch
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?").fullmatch


def _where_all_are(form: str) -> Callable[[Sequence[str]], Sequence[str] | None]:
    """Return what returns texts that all have a form whose numbers Excel surely holds.

    They are contents as they stand. ``$`` is a text's end.
    """
    all_are = re.compile(f"(?>{form}\n)*+", re.MULTILINE).fullmatch

    def plain(texts: Sequence[str]) -> Sequence[str] | None:
        lines = "\n".join(texts) + "\n"
        return texts if all_are(lines) and lines.count("\n") == len(texts) else None

    return plain


plain_integers = _where_all_are("(?>-?+[1-9][0-9]{0,14}+|0)")
plain_decimals = _where_all_are(r"-?+(?=[0-9.]{1,15}+$)(?>0|[1-9][0-9]*+)(?>\.[0-9]++)?+")
plain_floats = _where_all_are(r"-?+(?>0|[1-9][0-9]{0,14}+)(?>\.[0-9]{1,20}+)?+(?>e[+-][0-9]{2})?+")


def integer_content(text: str) -> str | None:
    return text if _INTEGER(text) else None


def decimal_content(text: str) -> str | None:
    if not _DECIMAL(text):
        return None
    if len(text) <= EXACT_DIGITS:
        return text
    if len(text.replace("-", "").replace(".", "").strip("0")) > EXACT_DIGITS:
        return None
    value = Decimal(text)
    if value and not _SMALLEST_EXPONENT <= value.adjusted() < EXACT_DIGITS:
        return None
    return repr(float(value))


def float_content(text: str) -> str | None:
    if not _FLOAT(text):
        return None
    value = float(text)
    is_zero = not text.partition("e")[0].strip("-0.")  # 1e-400 is not, but no float holds it
    if not is_zero and not sys.float_info.min <= abs(value) <= sys.float_info.max:
        return None
    # SQLite keeps an integer as it is in a column of floats, which may hold more than a float does.
    if text.lstrip("-").isdigit() and int(value) != int(text):
        return None
    return text


boolean_content: Final = {"true": "1", "false": "0"}.get
