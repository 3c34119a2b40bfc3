"""Why somebody does something, in their words, for others to read."""

from __future__ import annotations

from typing import Final

from queries_orchestration.model.errors import Refused
from queries_orchestration.model.titles import is_one_line, is_plain

LONGEST_REASON: Final = 500


def check_reason(reason: str | None) -> None:
    """Refuse what is no reason; None is that there is none.

    Raises:
        Refused: it is not one line of visible characters, or too long (``invalid_reason``).
    """
    if reason is None:
        return
    is_readable = is_one_line(reason) and (is_plain(reason) or not reason)
    if len(reason) > LONGEST_REASON or not is_readable:
        raise Refused(
            f"A reason is one line of at most {LONGEST_REASON} visible characters.",
            code="invalid_reason",
        )
