"""The boundary of a step: whatever fails in it is settled, or offered again, here."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from queries_orchestration.model.errors import (
    PermanentError,
    QueriesError,
    ReceiveLost,
    StorageUnavailable,
    TransientError,
    UploadGone,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.settings import MAX_RECEIVES
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive

UNEXPECTED: Final = "unexpected_error"

Fail = Callable[[Backends, Receive, QueriesError], None]
"""Settles the work of a receive as failed for good."""

log = logging.getLogger(__name__)


@contextmanager
def unforeseen_told(work: str) -> Iterator[None]:
    """Turn an error that nobody foresaw into one of ours, so that nothing hangs on it.

    Where it happened is logged, its text is not: that can hold rows or addresses.

    Args:
        work: key of the work, or id of what was worked on, for the log.

    Raises:
        TransientError: with ``unexpected_error``, in place of an error that is none of ours.
    """
    try:
        yield
    except QueriesError:
        raise
    except Exception as error:
        log.error(
            "unexpected_error work=%s type=%s\n%s",
            work,
            type(error).__name__,
            "".join(traceback.format_tb(error.__traceback__)),
        )
        raise TransientError(
            f"An unexpected {type(error).__name__}; see the log of the run.", code=UNEXPECTED
        ) from None


@contextmanager
def failures_settled(backends: Backends, receive: Receive, fail: Fail) -> Iterator[None]:
    """Settle what fails within.

    A permanent error settles at once; a transient one is offered again after a growing delay,
    and settles after the third receive. The error goes on; ``is_final`` tells which it was.

    Args:
        fail: how this kind of work is settled as failed.
    """
    try:
        with unforeseen_told(receive.key):
            yield
    except UploadGone as error:
        gone = StorageUnavailable(error.message)
        # Lost only if another receive took the work, and aborted it: then this raises it.
        try_again(backends, receive, gone, fail)
        raise gone from None
    except ReceiveLost:
        raise
    except PermanentError as error:
        fail(backends, receive, error)
        raise
    except TransientError as error:
        try_again(backends, receive, error, fail)
        raise


def is_final(receive: Receive, error: QueriesError) -> bool:
    """Tell whether ``error`` ends the work of ``receive`` for good, rather than is tried again.

    It is also tried again if the store could not even be told: the receive then falls silent, which
    counts as one, too.
    """
    return isinstance(error, PermanentError) or receive.number >= MAX_RECEIVES


def try_again(backends: Backends, receive: Receive, error: QueriesError, fail: Fail) -> None:
    """End the receive so that its work is offered again, or fail it after the third."""
    if receive.number >= MAX_RECEIVES:
        fail(backends, receive, error)
        return
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.wait_again(
            connection,
            receive,
            code=error.code,
            delay=backends.settings.retry_after(receive.number),
        )
