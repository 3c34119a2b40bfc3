"""What fails before a receive, or without one, turns its run red by a code, without its words."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, NoReturn

import dagster as dg
import pytest
from dagster_shared.serdes import serialize_value

from queries_orchestration.definitions import defs
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration_tests.house import House

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

SECRET = "bob@example.org, r1, 1.25"
FIRST = [
    (
        "deliver_occurrence",
        "start",
        {"schedule": "x"},
        "deliver_occurrence.occurrence_from_launchpad",
    ),
    ("deliver_occurrence", "start", {"occurrence": "x"}, "taking.start_step.start"),
    ("deliver_occurrence", "start", {}, "taking.offer_lane"),
    ("export_query", "start_export", {"export": "x"}, "taking.start_step.start"),
    ("resend", "start_resend", {}, "resend.resend_from_launchpad"),
    ("backfill_occurrences", "admit_day", {}, "backfill.backfill_from_launchpad"),
    ("retention", "remove_what_is_past_its_age", {}, "retention.retain"),
    ("sweep_uploads", "abort_stale_uploads", None, "sweep.sweep"),
]
"""Each job with its first op and a config, and what that calls."""


@pytest.mark.parametrize(("job", "op", "config", "called"), FIRST)
def test_it_is_told_by_its_code_and_what_it_says_of_rows_is_not(
    job_house: House,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    job: str,
    op: str,
    config: dict[str, Any] | None,
    called: str,
) -> None:
    # The sweep meets an error of ours, the others one that nobody foresaw.
    error = StoreUnavailable("away") if job == "sweep_uploads" else KeyError(SECRET)

    def failing(*_arguments: object, **_named: object) -> NoReturn:
        raise error from ValueError(SECRET)

    monkeypatch.setattr(f"queries_orchestration.orchestration.{called}", failing)
    day = (system_clock() - timedelta(days=1)).date().isoformat()

    done = defs.resolve_job_def(job).execute_in_process(
        run_config=None if config is None else {"ops": {op: {"config": config}}},
        partition_key=day if job == "backfill_occurrences" else None,
        instance=instance,
        raise_on_error=False,
    )

    assert not done.success
    told = "".join(
        serialize_value(record.event_log_entry)
        for record in instance.get_records_for_run(done.run_id).records
    )
    code = error.code if isinstance(error, StoreUnavailable) else "unexpected_error"
    assert f"{code}: " in told
    assert SECRET not in told
