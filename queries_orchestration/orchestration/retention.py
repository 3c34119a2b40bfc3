"""The daily job that removes what is past its age, and counts it first if a person launches it."""

from datetime import timedelta
from typing import Any, Final

import dagster as dg
from pydantic import Field

from queries_orchestration.model.errors import TransientError
from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.dagster_run_log import DagsterRunLog
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import refusal, refusals_shown
from queries_orchestration.retention.found import Found
from queries_orchestration.retention.retain import retain
from queries_orchestration.settings import UPKEEP_LANE

LONGEST: Final = timedelta(hours=6)


class RetentionConfig(dg.Config):
    """Whether to remove what is found. As it is, the run counts and removes nothing."""

    do: bool = Field(
        default=False,
        description="Remove what is past its age. Without it, it is counted, and nothing goes.",
    )
    minutes: int = Field(
        default=60,
        ge=1,
        le=300,
        description="How long it may take: what is left then is for the next run.",
    )


@dg.op
def remove_what_is_past_its_age(
    context: dg.OpExecutionContext, config: RetentionConfig, worker: WorkerResource
) -> None:
    """Count, and remove if asked, files, uploads, history, audit events and runs past their age."""
    with refusals_shown(context):
        found = retain(
            worker.backends,
            DagsterRunLog(context.instance),
            do=config.do,
            seconds=config.minutes * 60.0,
        )
    entries = _told(found, do=config.do)
    failed = [one for one in found if one.code is not None]
    if failed:
        codes = ", ".join(f"{one.kind} {one.code}" for one in failed)
        raise refusal(
            TransientError(
                f"Not all could be looked at, and the next run tries again: {codes}.",
                code=str(failed[0].code),
            ),
            entries,
        )
    context.add_output_metadata(entries)


def _told(found: list[Found], *, do: bool) -> dict[str, Any]:
    left = [one.kind for one in found if not one.is_whole]
    return {
        "removed": do,
        **{one.kind: one.count for one in found},
        **({"left": ", ".join(left)} if left else {}),
    }


@dg.job(
    executor_def=dg.in_process_executor,
    tags={
        tags.LANE: UPKEEP_LANE,
        tags.MAX_RUNTIME: str(int(LONGEST.total_seconds())),
    },
)
def retention() -> None:
    """Remove what is past its age: files, uploads, history, audit events, Dagster's own runs.

    Launched every day; by hand it counts, unless its config says that it is to remove. Launched
    twice, or killed, it does nothing twice.
    """
    remove_what_is_past_its_age()


retain_daily = dg.ScheduleDefinition(
    name="retain_daily",
    job=retention,
    cron_schedule="40 2 * * *",
    execution_timezone="UTC",
    run_config={"ops": {"remove_what_is_past_its_age": {"config": {"do": True}}}},
    default_status=dg.DefaultScheduleStatus.RUNNING,
    description="Every day: remove files, uploads, history, audit events and runs past their age.",
)
