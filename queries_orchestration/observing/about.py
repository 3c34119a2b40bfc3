"""What the lines of the log are about: the work or the request that this thread is at.

It goes along to the threads that a web framework starts; of others it knows nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from queries_orchestration.model.ids import schedule_of

_ABOUT: Final[ContextVar[dict[str, str] | None]] = ContextVar("queries_about", default=None)


@contextmanager
def about(**told: str | None) -> Iterator[None]:
    """Let what is logged within be about these ids, too, those that are None left out."""
    within = {**(_ABOUT.get() or {}), **{name: one for name, one in told.items() if one}}
    token = _ABOUT.set(within)
    try:
        yield
    finally:
        _ABOUT.reset(token)


def learn(**told: str) -> None:
    """Add what was found out meanwhile, to the end of the nearest ``about``; else to nothing."""
    within = _ABOUT.get()
    if within is not None:
        within.update(told)


def now_about() -> Mapping[str, str]:
    """Return the ids that a line logged now is about."""
    return _ABOUT.get() or {}


def ids_of_work(key: str) -> dict[str, str]:
    """Return what a piece of work is, by its key: an occurrence of a schedule, or an export."""
    schedule = schedule_of(key)
    return {"export": key} if schedule is None else {"occurrence": key, "schedule": schedule}
