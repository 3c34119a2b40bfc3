"""The job that sends an occurrence's file again, to those whom it did not reach."""

from collections.abc import Iterator

import dagster as dg
from pydantic import Field

from queries_orchestration.orchestration import tags
from queries_orchestration.orchestration.deliver_occurrence import (
    deliver,
    make_file,
    settle,
    take,
)
from queries_orchestration.orchestration.launchpad import resend_from_launchpad
from queries_orchestration.orchestration.resources import WorkerResource
from queries_orchestration.orchestration.steps import refusals_shown
from queries_orchestration.orchestration.told_run import tag_working
from queries_orchestration.settings import DELIVERY_LANE, Settings


class ResendConfig(dg.Config):
    """Which occurrence to send again, for whom and why. Ids only.

    Nobody can guess them: as it is, the run refuses and says what is missing.
    """

    occurrence: str = Field(
        default="", description="Key of the occurrence, as `queries history` shows it."
    )
    as_person: str = Field(
        default="", description="The id of the person for whom you send it again."
    )
    reason: str = Field(default="", description="Why, for the history.")


@dg.op(out={"started": dg.Out(dg.Nothing, is_required=False)})
def start_resend(
    context: dg.OpExecutionContext, config: ResendConfig, worker: WorkerResource
) -> Iterator[dg.Output[None]]:
    """Admit the resend, or find the one under way, take it, open the source as the person."""
    tag_working(context)
    with refusals_shown(context):
        key = resend_from_launchpad(
            worker.backends,
            occurrence_key=config.occurrence,
            person_id=config.as_person,
            reason=config.reason,
        )
    yield from take(context, worker, key, offer_number=None)


@dg.job(
    executor_def=dg.in_process_executor,
    tags={
        tags.LANE: DELIVERY_LANE,
        tags.QUEUE: DELIVERY_LANE,
        tags.MAX_RUNTIME: tags.max_runtime(DELIVERY_LANE, Settings()),
    },
)
def resend() -> None:
    """Send an occurrence's file again, to its refused and uncertain recipients alone.

    A resend is an occurrence of its own, with who asked, when and why in the history. The same
    asked again while it is under way does nothing twice.
    """
    settle(deliver(make_file(start_resend())))
