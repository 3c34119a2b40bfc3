"""Runs of the command's own Dagster home, looked up only when recovery asks."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from queries_orchestration.cli.dagster_home import make_dagster_home
from queries_orchestration.receives.runs import Runs, RunState
from queries_orchestration.settings import Settings
from queries_orchestration.store.offers import Offer

if TYPE_CHECKING:
    from queries_orchestration.orchestration.dagster_runs import DagsterRuns


@contextmanager
def runs_of(settings: Settings) -> Iterator[Runs]:
    """Look into the Dagster instance of ``DAGSTER_HOME``, opened at the first question."""
    with ExitStack() as stack:
        yield _LateRuns(make_dagster_home(settings), stack)


class _LateRuns:
    """Opens the instance late: most passes ask nothing, and Dagster takes a second to load."""

    def __init__(self, home: Path, stack: ExitStack) -> None:
        self._home = home
        self._stack = stack
        self._runs: DagsterRuns | None = None

    def of_offer(self, offer: Offer) -> RunState:
        return self._opened().of_offer(offer)

    def of_receive(self, run_id: str) -> RunState:
        return self._opened().of_receive(run_id)

    def report_lost(self, run_id: str) -> None:
        self._opened().report_lost(run_id)

    def _opened(self) -> DagsterRuns:
        if self._runs is None:
            import dagster as dg

            from queries_orchestration.orchestration.dagster_runs import DagsterRuns

            os.environ["DAGSTER_HOME"] = str(self._home)
            instance = self._stack.enter_context(dg.DagsterInstance.get())
            self._runs = DagsterRuns(instance)
        return self._runs
