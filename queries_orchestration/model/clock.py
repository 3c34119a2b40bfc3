"""The calendar clock, injected wherever a due time, an expiry or a relative value is decided.

Leases, heartbeats and ``not_before`` never use it: they follow the database's clock.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

Clock = Callable[[], datetime]


def system_clock() -> datetime:
    """Return the present instant."""
    return datetime.now(UTC)
