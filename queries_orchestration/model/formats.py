"""What a source can be, and which files each kind is made as."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Literal

from queries_orchestration.model.errors import Refused

SourceKind = Literal["query", "report"]

FORMATS_OF: Final[Mapping[SourceKind, tuple[str, ...]]] = {
    "query": ("csv", "xlsx"),
    "report": ("pdf", "xlsx"),
}
FORMATS: Final = tuple(dict.fromkeys(name for names in FORMATS_OF.values() for name in names))


def check_format(kind: SourceKind, file_format: str) -> None:
    """Refuse a format that sources of this kind are not made as.

    Raises:
        Refused: with the code ``format_not_offered``; the message names those that are.
    """
    offered = FORMATS_OF[kind]
    if file_format not in offered:
        raise Refused(
            f"A {kind} is made as {' or '.join(offered)}, not as {file_format}.",
            code="format_not_offered",
        )
