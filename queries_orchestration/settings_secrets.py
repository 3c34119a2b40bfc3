"""A secret among the settings: as it stands in its variable, or in the file that another names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from queries_orchestration.model.errors import InvalidSettings

FILE: Final = "_FILE"
"""Ends the variable that names the file."""


def read_secret(variable: str, environment: Mapping[str, str]) -> str:
    """Return the secret of ``variable``: its text, or the first line of the file of the other one.

    Raises:
        InvalidSettings: the file cannot be read, or both are set.
    """
    text = environment.get(variable, "").strip()
    file = environment.get(variable + FILE, "").strip()
    if not file:
        return text
    if text:
        raise InvalidSettings(f"{variable} and {variable}{FILE} are both set: keep one.")
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        lines = []
    if not lines or not lines[0].strip():
        raise InvalidSettings(
            f"{variable}{FILE} names no file that can be read and begins with what it should hold."
        )
    return lines[0].strip()
