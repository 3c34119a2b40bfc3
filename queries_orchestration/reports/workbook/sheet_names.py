"""Names for the sheets of one workbook: valid for Excel, and each there once."""

from __future__ import annotations

import unicodedata
from itertools import count

from queries_orchestration.exports.sheet_title import sheet_title


class SheetNames:
    """Gives out names; no two are the same to a program that ignores case or width."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str, *, otherwise: str) -> str:
        """Return a free name as near to the wanted one as Excel allows.

        Args:
            otherwise: what to call a sheet whose wanted name has nothing that Excel allows.
        """
        for number in count(1):
            name = sheet_title(wanted, number, otherwise=otherwise)
            key = _without_case(name)
            if key not in self._taken:
                self._taken.add(key)
                break
        return name


def _without_case(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
