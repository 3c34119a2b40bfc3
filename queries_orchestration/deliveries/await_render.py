"""Hop 4 for a report: wait for the file that the report lane renders.

A receive waits twelve minutes of its fifteen at most. Then it ends, and the next one waits for the
same export; after the third the delivery has failed, while the render may still complete.
"""

from __future__ import annotations

from typing import Final

from queries_orchestration.exports.generate import Patience
from queries_orchestration.model.errors import (
    ACCESS_CODES,
    AccessLost,
    PermanentError,
    ReceiveLost,
    TransientError,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import exports
from queries_orchestration.store.exports import Export

FIRST_PAUSE: Final = 0.5
LONGEST_PAUSE: Final = 15.0
"""Seconds between two looks at the export: a fifth of what it has waited, within these."""


class RenderFailed(PermanentError):
    """The report could not be rendered, for good."""

    code = "render_failed"


class RenderUnfinished(TransientError):
    """The report was not rendered in the time that a receive waits."""

    code = "render_unfinished"


def await_render(backends: Backends, export: Export, patience: Patience) -> None:
    """Return once the file of a report's export is ready.

    Raises:
        AccessLost: the actor lost access before it was rendered.
        RenderFailed: it failed for good, was cancelled, or its file is gone.
        RenderUnfinished: it is not ready after the time that a receive waits.
        ReceiveLost, ReceiveTimeout: from ``patience``.
    """
    waiting, wait = backends.waiting, backends.settings.render_wait
    began = waiting.now()
    while True:
        patience.check()
        if _is_ready(backends, export):
            return
        waited = waiting.now() - began
        if waited >= wait:
            raise RenderUnfinished(
                f"The report was not rendered within {wait:g} seconds. If it comes later, it is"
                " kept as an export."
            )
        backends.reached("render awaited")
        pause = min(max(waited / 5, FIRST_PAUSE), LONGEST_PAUSE)
        waiting.sleep(min(pause, wait - waited))


def _is_ready(backends: Backends, export: Export) -> bool:
    """Tell whether the file is ready; False if it is still to be rendered."""
    with backends.database.read(export.workspace_id) as connection:
        now = exports.get(connection, export.workspace_id, export.id)
    if now is None:
        raise ReceiveLost("The export is gone.")
    if now.state in ("queued", "running"):
        return False
    if now.state == "failed" and now.code in ACCESS_CODES:
        raise AccessLost(now.message or "The actor lost access.", code=now.code)
    if now.state == "failed":
        raise RenderFailed(f"The report could not be rendered ({now.code}): {now.message}")
    if now.state != "ready":
        raise RenderFailed(f"The render was {now.state}: run the schedule now to render it again.")
    if backends.storage.size(now.storage_key) != now.size:
        raise RenderFailed("The rendered file is no longer in the storage: run the schedule now.")
    return True
