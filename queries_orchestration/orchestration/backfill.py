"""The job that admits what nobody delivered on a UTC day; each slot then is a run of its own."""

from datetime import date
from typing import Final

import dagster as dg
from pydantic import Field

from queries_orchestration.model.errors import PermanentError, Refused
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.launchpad import backfill_from_launchpad
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import refusal, refusals_shown
from queries_orchestration.settings import BACKFILL_LANE
from queries_orchestration.store.offer_turns import AFTER_ALL_OTHERS

LONGEST_SECONDS: Final = 600
"""A day takes seconds; one that hangs would hold up the others."""
PASSED_OVER: Final = "backfill_passed_over"
FIRST_DAY: Final = "2026-01-01"
"""No schedule is older; how far back a backfill reaches is said by the history."""

days = dg.DailyPartitionsDefinition(start_date=FIRST_DAY, timezone="UTC", end_offset=1)
"""The UTC days up to today, which has begun and is not over."""


class BackfillConfig(dg.Config):
    """Of what; as it is, of all schedules of all workspaces. Ids only."""

    workspace: str = Field(
        default="", description="The id of a workspace; empty: of all workspaces."
    )
    schedule: str = Field(default="", description="The id of a schedule; empty: of all schedules.")
    as_person: str = Field(
        default="",
        description="With a workspace or schedule: the id of the person for whom you launch it,"
        " for the audit trail; empty: nobody is named there.",
    )


@dg.op
def admit_day(
    context: dg.OpExecutionContext, config: BackfillConfig, worker: WorkerResource
) -> None:
    """Admit the missed and missing slots of the partition's day; the sensor offers them."""
    with refusals_shown(context):
        done = backfill_from_launchpad(
            worker.backends,
            _day_of(context),
            workspace_id=config.workspace,
            schedule_id=config.schedule,
            person_id=config.as_person,
        )
    context.log.info(
        "Admitted %d missed, %d missing, %d called off and %d failed slots.",
        done.missed,
        done.missing,
        done.called_off,
        done.failed,
    )
    for schedule_id, code in done.passed_over:
        context.log.warning("Passed over the schedule %s: %s.", schedule_id, code)
    entries = {
        "missed": done.missed,
        "missing": done.missing,
        "called_off": done.called_off,
        "failed": done.failed,
        "passed_over": len(done.passed_over),
    }
    if done.passed_over:
        passed_over = PermanentError(
            "Some schedules could not be looked at; the log of the run names them, each with its"
            " code. Mend them, then launch this day again: nothing is admitted twice.",
            code=PASSED_OVER,
        )
        raise refusal(passed_over, entries)
    context.add_output_metadata(entries)


def _day_of(context: dg.OpExecutionContext) -> date:
    """Return the UTC day of the run's partition.

    Raises:
        Refused: it has none, or one that is no day (``no_partition``).
    """
    key = context.partition_key if context.has_partition_key else ""
    try:
        return date.fromisoformat(key)
    except ValueError:
        raise Refused("Choose a day, which is a partition.", code="no_partition") from None


@dg.job(
    executor_def=dg.in_process_executor,
    partitions_def=days,
    config=dg.PartitionedConfig(
        partitions_def=days,
        run_config_for_partition_key_fn=lambda _day: {},
        tags_for_partition_key_fn=lambda day: {tags.BACKFILL: day},
    ),
    tags={
        tags.LANE: BACKFILL_LANE,
        tags.PRIORITY: str(-AFTER_ALL_OTHERS),
        tags.MAX_RUNTIME: str(LONGEST_SECONDS),
    },
)
def backfill_occurrences() -> None:
    """Admit the slots of a UTC day that were missed, or have no record; each is delivered once.

    What an earlier backfill failed, and nobody got, or called off, is admitted again.

    Partitioned by UTC day, today included: launch it for a range of days. Launched twice, it
    admits nothing twice. Only schedules that are active, only what was due after their creation,
    in no pause, in the last 365 days. What it admits is delivered by runs of deliver_occurrence,
    after all other work.
    """
    admit_day()
