"""How settings are read from the texts of environment variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from queries_orchestration.model.errors import InvalidSettings

PREFIX: Final = "QUERIES_"


def refuse_unknown(environment: Mapping[str, str], variables: Sequence[str]) -> None:
    """Refuse a variable that looks like a setting and is none: a typo would pass in silence.

    Args:
        variables: those that are settings.

    Raises:
        InvalidSettings: there is one; the message names the setting it may have been meant for.
    """
    # Compared without the prefix, in which all are alike.
    known = [variable.removeprefix(PREFIX) for variable in variables]
    for variable in sorted(environment):
        name = variable.removeprefix(PREFIX)
        if name == variable or name in known or not environment[variable]:
            continue
        close = get_close_matches(name.upper(), known, n=1)
        advice = f"Did you mean {PREFIX}{close[0]}?" if close else "docs/settings.md lists all."
        raise InvalidSettings(f"{variable} is not a setting. {advice}")


def read_value(variable: str, text: str, default: object) -> object:
    """Return what ``text`` says, of the type of ``default``.

    Raises:
        InvalidSettings: it says no such thing; the text is not shown.
    """
    if isinstance(default, bool):
        if text in ("0", "1"):
            return text == "1"
        raise InvalidSettings(f"{variable} must be 0 or 1.")
    if isinstance(default, int | float):
        kind = type(default)
        try:
            return kind(text)
        except ValueError:
            wanted = "a number" if kind is float else "a whole number"
            raise InvalidSettings(f"{variable} must be {wanted}.") from None
    return Path(text) if isinstance(default, Path) else text
