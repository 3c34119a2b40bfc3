"""Between what numbers settings may be."""

from __future__ import annotations

from typing import Final

from queries_orchestration.model.errors import InvalidSettings

LONGEST_SECONDS: Final = 7 * 24 * 3600
MOST_DAYS: Final = 36_500


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
