"""What a delivery costs on warm workers and with a process per run, and whether exports wait."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import dagster as dg
import sqlalchemy as sa

from benchmarks.measure import Result, keep
from queries_orchestration.exports.admit import admit_export
from queries_orchestration.model.audit import By
from queries_orchestration.orchestration.run_requests import nudge
from queries_orchestration.receives.publish import publish
from queries_orchestration.settings import LANE_WIDTHS, UPKEEP_LANE
from queries_orchestration_tests.scenarios.production import UNFINISHED, Production, production
from queries_orchestration_tests.scenarios.tenants import tenants

DELIVERIES: Final = 30
WAITING: Final = 2_000
EXPORTS: Final = 20
SECONDS_TO_START: Final = 20.0
"""Within which 95 of 100 exports have to start."""
PATIENCE: Final = 3_600.0
HERE: Final = {  # a mailbox and a folder, in place of the mail server and the object store
    "QUERIES_STORAGE_URL": "",
    "QUERIES_COMMUNICATIONS_URL": "",
    "QUERIES_SMTP_PASSWORD": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What deliveries took: CPU seconds of the run workers for each, and how many went a minute."""

    cpu: float
    rate: float


def deliveries() -> Iterator[Result]:
    """Deliver a hundred rows to one recipient, thirty times a side."""
    warm = cost_of(_without_logs, "worker-delivery", whole=True)
    each = cost_of(_process_per_run, "code-server", whole=False)
    yield Result(
        name="CPU ms of a delivery, warm / a process each",
        ours=warm.cpu * 1_000,
        baseline=each.cpu * 1_000,
        ratio=warm.cpu / each.cpu,
        peak_mb=None,
        bar=1 / 8,
        holds=warm.cpu * 8 <= each.cpu,
    )
    yield Result(
        name="deliveries a minute, warm / a process each",
        ours=warm.rate,
        baseline=each.rate,
        ratio=warm.rate / each.rate,
        peak_mb=None,
        bar=2,
        holds=warm.rate >= 2 * each.rate,
    )


def exports_beside_deliveries() -> Iterator[Result]:
    """Ask for exports while thousands of deliveries wait."""
    with _place(tenants(20, WAITING // 20), _without_logs) as place, place.running("api"):
        place.admit_all()
        place.wait_for(lambda: place.settled() >= DELIVERIES, seconds=PATIENCE)
        waits = sorted(_seconds_to_start(place, number) for number in range(EXPORTS))
        waiting = place.count("SELECT count(*) FROM occurrences WHERE outcome IS NULL")
    late = waits[EXPORTS * 95 // 100 - 1]
    yield Result(
        name=f"s to start an export, {waiting} deliveries wait, p95",
        ours=late,
        baseline=SECONDS_TO_START,
        ratio=late / SECONDS_TO_START,
        peak_mb=None,
        bar=1,
        holds=late <= SECONDS_TO_START,
    )


def cost_of(dagster: Callable[[dict[str, Any]], None], program: str, *, whole: bool) -> Cost:
    """Deliver with what ``dagster`` makes of deploy/dagster.yaml.

    Args:
        program: whose processes work the runs.
        whole: all of it does; else its children that have ended.
    """
    pools = {f"worker-{lane}" for lane in (*LANE_WIDTHS, UPKEEP_LANE)}
    unused = {"api", "webserver", *pools} - {program}
    with (
        _place(tenants(2, 3, recipients="bob"), dagster) as place,
        place.running(*unused) as instance,
    ):
        _deliver(place, instance, 6)  # what is loaded once is loaded
        place.apply(tenants(6, DELIVERIES // 6, recipients="bob", first=2))
        before = _cpu(place, program, whole=whole)
        seconds = _deliver(place, instance, 6 + DELIVERIES)
        cpu = _cpu(place, program, whole=whole) - before
    return Cost(cpu=cpu / DELIVERIES, rate=DELIVERIES / seconds * 60)


def _deliver(place: Production, instance: dg.DagsterInstance, settled: int) -> float:
    """Admit what is due and wait until so much is settled and no run left; returns the seconds."""
    began = time.monotonic()
    place.admit_all()
    place.wait_for(lambda: place.settled() == settled, seconds=PATIENCE)
    place.wait_for(lambda: not instance.get_runs(dg.RunsFilter(statuses=UNFINISHED)))
    seconds = time.monotonic() - began
    time.sleep(3)  # a code server looks each second for runs that have ended
    return seconds


def _cpu(place: Production, program: str, *, whole: bool) -> float:
    """CPU seconds of a program's processes, those that have ended included."""
    worker = place.process(program)
    taken = 0.0
    for process in [worker, *worker.children(recursive=True)]:
        times = process.cpu_times()
        taken += times.children_user + times.children_system
        if whole:
            taken += times.user + times.system
    return taken


def _seconds_to_start(place: Production, number: int) -> float:
    with place.backends.database.across.read() as connection:
        workspace, ada = connection.execute(
            sa.text(
                "SELECT workspace_id, id FROM people WHERE name = 'ada'"
                " ORDER BY workspace_id LIMIT 1 OFFSET :number"
            ),
            {"number": number},
        ).one()
    began = time.monotonic()
    export = admit_export(
        place.backends,
        workspace,
        by=By(via="command", person_id=ada),
        source_name="all-orders",
        file_format="csv",
        given_values={},
    )
    publish(place.backends, workspace, export, nudge(place.backends.settings))
    place.wait_for(
        lambda: place.count(
            "SELECT count(*) FROM exports WHERE id = :export AND state <> 'queued'", export=export
        )
    )
    return time.monotonic() - began


def _without_logs(dagster: dict[str, Any]) -> None:
    """Keep what runs print in a folder, on both sides."""
    del dagster["compute_logs"]


def _process_per_run(dagster: dict[str, Any]) -> None:
    """Take Dagster's default launcher, as the embedded default does."""
    _without_logs(dagster)
    del dagster["run_launcher"]


@contextmanager
def _place(
    catalogs: dict[str, str], dagster: Callable[[dict[str, Any]], None]
) -> Iterator[Production]:
    with (
        TemporaryDirectory(prefix="queries-bench-") as folder,
        production(
            Path(folder),
            catalogs,
            settings={**HERE, "QUERIES_HEARTBEAT_SILENCE": "120"},
            dagster=dagster,
        ) as place,
    ):
        yield place


if __name__ == "__main__":
    keep(deliveries())
    keep(exports_beside_deliveries())
