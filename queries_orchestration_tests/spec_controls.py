"""The controls that the documents of the two workflows name, as they stand there: ids alone.

Neither document says what a control of an id wants, so there are no titles to keep.
"""

from __future__ import annotations

from typing import Final

WITH_NUMBERS: Final[dict[str, tuple[int, ...]]] = {
    "AVL": (1, 4, 5),
    "AZ": (1, 2, 3, 4, 5),
    "CRY": (1, 2, 3, 4),
    "DAT": (1, 2, 3, 4, 5),
    "IAM": (1, 2, 3, 4, 5, 6),
    "LOG": (1, 2, 3, 4, 5),
    "MON": (1, 2),
    "PI": (1, 2, 3, 4, 5),
    "PRV": (1, 2),
    "SEC": (1, 2, 3, 4),
    "TEN": (1, 2, 3, 4),
    "VEN": (1, 2, 3),
}
OF_008: Final = frozenset(
    f"TC-{family}-{number:03}" for family, numbers in WITH_NUMBERS.items() for number in numbers
)
"""WF-PFM-QRY-008, the delivery: all of them."""
OF_006: Final = OF_008 - {
    "TC-LOG-002",
    "TC-LOG-003",
    "TC-SEC-001",
    "TC-SEC-002",
    "TC-SEC-003",
    "TC-SEC-004",
}
"""WF-PFM-QRY-006, the file."""
