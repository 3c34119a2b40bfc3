"""Which names settings have, and between what numbers they may be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Final

from queries_orchestration.model.errors import InvalidSettings

PREFIX: Final = "QUERIES_"
LONGEST_SECONDS: Final = 7 * 24 * 3600
MOST_DAYS: Final = 36_500


def refuse_unknown(environment: Mapping[str, str], known: Sequence[str]) -> None:
    """Refuse a variable that looks like a setting and is none: a typo would pass in silence.

    Raises:
        InvalidSettings: there is one; the message names what it may have meant.
    """
    # Compared without the prefix, in which all are alike.
    names = [variable.removeprefix(PREFIX) for variable in known]
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in names or not environment[variable]:
            continue
        close = get_close_matches(name.upper(), names, n=1)
        advice = f"Did you mean {PREFIX}{close[0]}?" if close else "docs/settings.md lists all."
        raise InvalidSettings(f"{variable} is not a setting. {advice}")


def check_seconds(variable: str, value: float) -> None:
    """Refuse a duration that is none, or longer than a week."""
    # Written so that `nan`, which is neither smaller nor larger, is refused too.
    if not 0 < value <= LONGEST_SECONDS:
        raise InvalidSettings(
            f"{variable} must be greater than 0 and at most {LONGEST_SECONDS} seconds."
        )


def check_count(variable: str, value: int, *, most: int) -> None:
    """Refuse a number of nothing, or of too much."""
    if not 1 <= value <= most:
        raise InvalidSettings(f"{variable} must be from 1 to {most}.")


def check_days(variable: str, value: int, *, least: int) -> None:
    """Refuse a time to keep something that is too short, or beyond the calendar."""
    if not least <= value <= MOST_DAYS:
        raise InvalidSettings(f"{variable} must be from {least} to {MOST_DAYS} days.")
