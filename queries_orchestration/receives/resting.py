"""A rest between the batches of one writer: SQLite has one at a time, and others hardly get in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from queries_orchestration.receives.backends import Backends

REST: Final = 0.25
"""Of the time of a batch: who waits for SQLite looks ten times a second."""


@contextmanager
def resting(backends: Backends) -> Iterator[None]:
    """Do one batch of many; where the store has one writer, let the others write after it."""
    begun = backends.waiting.now()
    yield
    if backends.database.is_sqlite:
        backends.waiting.sleep(REST * (backends.waiting.now() - begun))
