"""How many rows the next page has: as many as a few MiB hold, by the width of those read."""

from __future__ import annotations

from typing import Final

PAGE_BYTES: Final = 2 * 1024**2
FIRST_ROWS: Final = 10
_GROWTH: Final = 10


class PageSize:
    """Bounds a page by rows and, as far as the page before tells, by bytes.

    Attributes:
        most_rows: rows that no page exceeds.
        rows: rows that the next page may have, at least one.
    """

    def __init__(self, most_rows: int) -> None:
        self.most_rows = most_rows
        self.rows = min(FIRST_ROWS, most_rows)

    def weighed(self, rows: int, size: int) -> None:
        """Follow a page before: so many rows were so many bytes."""
        if rows:
            fitting = PAGE_BYTES * rows // max(size, 1)
            grown = _GROWTH * min(rows, self.rows)
            self.rows = max(1, min(self.most_rows, grown, fitting))
