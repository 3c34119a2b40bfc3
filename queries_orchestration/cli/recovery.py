"""Recovery while the command works: whatever ``--work`` waits for may hang on a lost worker."""

from __future__ import annotations

import time
from typing import Final

from queries_orchestration.deliveries.recover import recover_silent
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.runs import Runs

SECONDS_BETWEEN_RECOVERIES: Final = 3.0


class Recovery:
    """Ends the receives whose worker is gone, every few seconds, so that they are worked again."""

    def __init__(self, backends: Backends, runs: Runs) -> None:
        self._backends = backends
        self._runs = runs
        self._recovered_at = time.monotonic()

    def tend(self) -> None:
        """Recover, if the last time is a few seconds ago.

        Raises:
            StoreUnavailable: the database cannot be reached.
        """
        if time.monotonic() - self._recovered_at >= SECONDS_BETWEEN_RECOVERIES:
            recover_silent(self._backends, self._runs)
            self._recovered_at = time.monotonic()
