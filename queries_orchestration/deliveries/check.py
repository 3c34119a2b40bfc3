"""Is all well? What somebody should look at, each with what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.communications.interface import Communications
from queries_orchestration.deliveries.stop_dispatch import told
from queries_orchestration.model.alarms import (
    DEAD_LETTERED,
    DISPATCH_STOPPED,
    DISPATCHER_FAILING,
    DISPATCHER_SILENT,
    SCHEDULES_OVERDUE,
    STUCK,
    UPKEEP_SILENT,
    WORKER_SILENT,
    Alarm,
)
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    QueriesError,
    UnreadableRow,
)
from queries_orchestration.settings import DELIVERY_LANE, MAX_RECEIVES, RUN_LIMITS, Settings
from queries_orchestration.store import database, dispatch_stops, dispatchers, health, vitals
from queries_orchestration.store.database import Database
from queries_orchestration.store.dispatchers import DELIVERY_DISPATCHER, Heartbeat
from queries_orchestration.store.health import Trouble, Unreadable
from queries_orchestration.store.vitals import Vitals

ANSWERS_WITHIN: Final = timedelta(seconds=20)
STUCK_AFTER: Final = timedelta(seconds=STUCK.above)

_START: Final = "start `dagster dev` or the Dagster daemon, or run `queries tick --work`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not well: a stable code, and a message that says what to do.

    ``work`` is the key of an occurrence or the id of an export, of ``workspace`` (its name).
    """

    code: str
    message: str
    workspace: str | None = None
    work: str | None = None


def check(
    settings: Settings,
    store: Database | None,
    *,
    lane_limits: Mapping[str, object] | None,
    communications: Communications,
    at: datetime,
    wall_faults: Sequence[str] = (),
    stuck_after: timedelta = STUCK_AFTER,
) -> list[Finding]:
    """Return what is not well, the most pressing first; nothing is written.

    From when on something is not well, ``model.alarms`` says.

    Args:
        store: the application database; None if it is not there or lacks migrations.
        lane_limits: how many runs of each lane Dagster lets go at once; None if its
            configuration is not there.
        communications: is asked whether it would take messages; none is sent.
        at: decides what is due (calendar clock).
        wall_faults: why the wall between workspaces, which the settings ask for, does not stand.
        stuck_after: for how long work may wait.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    beside = [
        *(Finding(code="wall_down", message=f"{fault}.") for fault in wall_faults),
        *_lanes(lane_limits),
        *_communications(communications),
    ]
    if store is None:
        return [_not_initialised(), *beside]
    with store.across.read() as connection:
        read = vitals.read(connection, at=at, silence=settings.heartbeat_silence)
        passes = {one.dispatcher: one for one in dispatchers.heartbeats(connection)}
        return [
            *_stopped(connection),
            *_dispatchers(read, passes),
            *_failing(connection, passes),
            *_overdue(read),
            *(
                _silent(one)
                for one in health.silent_workers(connection, silence=settings.heartbeat_silence)
            ),
            *(_waiting(one) for one in health.waiting_long(connection, longer_than=stuck_after)),
            *(_unreadable(one) for one in health.unreadable_rows(connection)),
            *(_dead(one) for one in health.dead_letters(connection, within=_window(DEAD_LETTERED))),
            *_upkeep(read, dispatchers.upkeep(connection)),
            *beside,
        ]


def _communications(communications: Communications) -> list[Finding]:
    try:
        communications.check(seconds=ANSWERS_WITHIN.total_seconds())
    except QueriesError as error:
        return [Finding(code=CommunicationsUnavailable.code, message=f"{error.message}.")]
    return []


def _not_initialised() -> Finding:
    return Finding(
        code="not_initialised",
        message="The application database is not there, or lacks migrations: run `queries init`.",
    )


def _stopped(connection: Connection) -> list[Finding]:
    stop = dispatch_stops.current(connection)
    return [Finding(code=DISPATCH_STOPPED.code, message=told(stop))] if stop else []


def _dispatchers(read: Vitals, passes: Mapping[str, Heartbeat]) -> list[Finding]:
    return [
        Finding(code=DISPATCHER_SILENT.code, message=_silence_of(name, passes.get(name)))
        for name, silence in read.silences.items()
        if silence > DISPATCHER_SILENT.above
    ]


def _silence_of(dispatcher: str, last: Heartbeat | None) -> str:
    ended_at = last.pass_ended_at if last else None
    since = f"since {_told(ended_at)}" if ended_at else "ever"
    if dispatcher == DELIVERY_DISPATCHER:
        return f"No dispatcher pass has ended {since}, so nothing new is delivered: {_START}."
    return (
        f"No pass of the sensor {dispatcher} has ended {since}, so what is asked for waits: start"
        " `dagster dev` or the Dagster daemon, and see that the sensor is on."
    )


def _failing(connection: Connection, passes: Mapping[str, Heartbeat]) -> list[Finding]:
    after = database.now(connection) - _window(DISPATCHER_FAILING)
    return [
        Finding(
            code=DISPATCHER_FAILING.code,
            message=f"Something failed in a pass of {name} at {_told(one.failed_at)}, with"
            f" {one.failure_code}: see the log, and what that code says in docs/operations.md.",
        )
        for name, one in passes.items()
        if one.failed_at is not None and one.failed_at >= after
    ]


def _overdue(read: Vitals) -> list[Finding]:
    if read.due_lag <= SCHEDULES_OVERDUE.above:
        return []
    return [
        Finding(
            code=SCHEDULES_OVERDUE.code,
            message=f"{read.due} schedules have a slot that no pass has admitted, the first for"
            f" {read.due_lag / 60:.0f} minutes: see whether passes run and end ({_START}).",
        )
    ]


def _upkeep(read: Vitals, jobs: Sequence[Heartbeat]) -> list[Finding]:
    return [
        Finding(
            code=UPKEEP_SILENT.code,
            message=f"The job {one.dispatcher} has not gone well"
            f" {f'since {_told(one.pass_ended_at)}' if one.pass_ended_at else 'ever'}"
            f"{f', the last time it failed with {one.failure_code}' if one.failure_code else ''}:"
            " see its runs in Dagster, and that its schedule is on.",
        )
        for one in jobs
        if read.upkeep.get(one.dispatcher, 0) > UPKEEP_SILENT.above
    ]


def _window(alarm: Alarm) -> timedelta:
    """Return for how long an alarm of a counter tells of what was counted."""
    return alarm.within or timedelta(0)


def _silent(one: Trouble) -> Finding:
    return _finding(
        one,
        WORKER_SILENT.code,
        f"its worker was last heard of at {_told(one.since)}. The next dispatcher pass finds it"
        f" again: {_START}.",
    )


def _waiting(one: Trouble) -> Finding:
    return _finding(
        one,
        STUCK.code,
        f"no run has taken it, which could have begun at {_told(one.since)}: see the runs of lane"
        f" {one.lane} in Dagster; if none are there, {_START}.",
    )


def _dead(one: Trouble) -> Finding:
    again = (
        f"`queries run-now {one.name} --as PERSON`"
        if one.lane == DELIVERY_LANE
        else "export it again"
    )
    where = f"`queries history {one.name}`" if one.lane == DELIVERY_LANE else f"export {one.key}"
    return _finding(
        one,
        DEAD_LETTERED.code,
        f"failed with {one.code} after {MAX_RECEIVES} receives, at {_told(one.since)}: see {where};"
        f" once the cause is mended, {again}.",
    )


def _unreadable(one: Unreadable) -> Finding:
    what_to_do = (
        "write it anew from its file (`queries catalog apply --take-over`), then resume it"
        if one.table == "schedules"
        else "nothing else waits for it; restore it from a backup, or delete it"
    )
    return Finding(
        code=UnreadableRow.code,
        message=f"the row {one.key} of the table {one.table} cannot be read, because somebody else"
        f" has changed it: {what_to_do}.",
        work=one.key,
    )


def _finding(one: Trouble, code: str, message: str) -> Finding:
    return Finding(
        code=code,
        message=f"{one.workspace}/{one.name}: {message}",
        workspace=one.workspace,
        work=one.key,
    )


def _lanes(limits: Mapping[str, object] | None) -> list[Finding]:
    if limits is None:
        return [
            Finding(
                code="lane_limits",
                message="DAGSTER_HOME has no dagster.yaml: run `queries init`.",
            )
        ]
    return [
        Finding(
            code="lane_limits",
            message=f"dagster.yaml in DAGSTER_HOME lets {limits.get(lane, 'any number of')} runs of"
            f" lane {lane} go at once, not {width}: set the limit of the tag queries/lane there.",
        )
        for lane, width in RUN_LIMITS.items()
        if limits.get(lane) != width
    ]


def _told(instant: datetime) -> str:
    return f"{instant:%Y-%m-%d %H:%M} UTC"
