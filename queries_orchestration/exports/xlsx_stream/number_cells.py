"""Numbers and booleans as Excel has them, made of their texts.

Each function returns the content of a cell; None where the text is not of the type's form or
Excel's number would lose something of it, which then is a text cell.
"""

from __future__ import annotations

import re
import sys
from decimal import Decimal
from typing import Final

EXACT_DIGITS = 15
"""Significant decimal digits that Excel keeps."""

_SMALLEST_EXPONENT = -307

_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,14}").fullmatch
_DECIMAL = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?").fullmatch
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:e[+-][0-9]+)?").fullmatch

PLAIN_INTEGER: Final = "(?>-?+[1-9][0-9]{0,14}+|0)"
PLAIN_DECIMAL: Final = r"-?+(?=[0-9.]{1,15}+$)(?>0|[1-9][0-9]*+)(?>\.[0-9]++)?+"
PLAIN_FLOAT: Final = r"-?+(?>0|[1-9][0-9]{0,20}+)(?>\.[0-9]{1,20}+)?+(?>e[+-][0-9]{2})?+"
"""Forms whose numbers Excel surely holds; ``$`` is a line's end."""


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
    if value and not sys.float_info.min <= abs(value) <= sys.float_info.max:
        return None
    return text


boolean_content: Final = {"true": "1", "false": "0"}.get
