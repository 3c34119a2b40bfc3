"""Recurrences: the next slots of a rule that is not yet in a schedule."""

from __future__ import annotations

from datetime import date, datetime
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import AfterValidator, AwareDatetime, BaseModel, Field

from queries_orchestration.model.recurrences import Recurrence
from queries_orchestration.model.slot_readings import preview as find
from queries_orchestration.telling.slots import slots_json
from queries_orchestration.web.asked import BackendsOf, CallerOf
from queries_orchestration.web.routes.examples import SLOTS, shown

router = APIRouter(prefix="/recurrences", tags=["schedules"])

EARLIEST_YEAR, LATEST_YEAR = 1900, 9000  # beyond, the calendar of Python ends soon


def _within_calendar(moment: datetime) -> datetime:
    if not EARLIEST_YEAR <= moment.year <= LATEST_YEAR:
        raise ValueError(f"must be in a year from {EARLIEST_YEAR} to {LATEST_YEAR}")
    return moment


AfterOf = Annotated[
    AwareDatetime | None,
    AfterValidator(lambda moment: moment and _within_calendar(moment)),
    Query(description="Slots after this instant, with its offset; default: now."),
]
CountOf = Annotated[int, Query(ge=1, le=100, description="How many slots.")]


class ToldSlot(BaseModel):
    """A slot: the instant, its local time, and the local time that the rule names."""

    slot: datetime
    # As text: the offset of some zones once had seconds, which JSON's date-time has not.
    local: str
    named: str
    reading: str = Field(
        description="plain, gap (that local time does not exist), first_of_two or second_of_two",
        examples=["plain"],
    )


class ToldSlots(BaseModel):
    """The next slots of a rule; none if it comes no more."""

    model_config = shown(SLOTS)

    cron: str
    time_zone: str
    slots: list[ToldSlot]


@router.get("/preview", response_model=ToldSlots)
def preview(
    caller: CallerOf,
    backends: BackendsOf,
    cron: Annotated[str, Query(max_length=200, examples=["30 7 * * 1-5"])],
    time_zone: Annotated[str | None, Query(max_length=200, examples=["Europe/Berlin"])] = None,
    last_day: Annotated[bool, Query(description="On the last day of the month.")] = False,
    starts_on: date | None = None,
    ends_on: date | None = None,
    after: AfterOf = None,
    count: CountOf = 10,
) -> dict[str, Any]:
    """Tell the next slots of a rule, also on days when the clocks change.

    Its time zone is the workspace's where none is given.
    """
    recurrence = Recurrence.parse(
        cron,
        time_zone or caller.workspace.time_zone,
        last_day=last_day,
        starts_on=starts_on,
        ends_on=ends_on,
    )
    return told_slots(recurrence, after or backends.clock(), count)


def told_slots(recurrence: Recurrence, after: datetime, count: int) -> dict[str, Any]:
    """Return what is told of the next slots of a rule."""
    return slots_json(recurrence, list(islice(find(recurrence, after=after), count)))
