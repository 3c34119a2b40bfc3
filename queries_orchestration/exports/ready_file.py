"""A file that is ready: as much of its export as a link to it needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from queries_orchestration.model.errors import Refused


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyFile:
    """A file that was ready, and not expired, when it was looked at.

    ``again`` is how to have another, for whoever is told that it is gone.
    """

    workspace_id: str
    export_id: str
    storage_key: str
    size: int | None
    format: str
    file_name: str
    expires_at: datetime
    again: str = field(repr=False)


def expired(again: str) -> Refused:
    """The refusal of a file that is kept no longer."""
    return Refused(f"The file has expired: {again}", code="file_expired")


def missing(again: str) -> Refused:
    """The refusal of a file that storage lost, or holds in part."""
    return Refused(f"The storage holds no whole file of it any more: {again}", code="file_gone")
