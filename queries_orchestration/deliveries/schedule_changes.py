"""What a person changes in a schedule beside its catalog file: pause, resume, version, owner.

A person needs authority over it; whoever runs the installation needs none. Each holds the
schedule's row before it decides: no file changes meanwhile what it decides by.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from sqlalchemy import Connection

from queries_orchestration.deliveries.authority import schedule_governed_by
from queries_orchestration.deliveries.resolve import source_of, version_run
from queries_orchestration.deliveries.streaks import PAUSED_BEFORE
from queries_orchestration.exports.open_source import open_source
from queries_orchestration.model.audit import Action, AuditEvent, By, Subject
from queries_orchestration.model.errors import NotFound, Refused, SourceUnavailable
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.reasons import check_reason
from queries_orchestration.model.recurrences import next_slot
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import (
    audit,
    missed,
    outside_addresses,
    people,
    schedules,
    sources,
    transfers,
)
from queries_orchestration.store.catalog_lock import lock_catalog
from queries_orchestration.store.removal import retire_schedule
from queries_orchestration.store.schedule_tags import check_unchanged
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.sources import Source
from queries_orchestration.store.transfers import Transfer

PAUSED: Final = "paused"
"""The code of a pause by a person."""


def pause(
    backends: Backends, workspace_id: str, *, schedule_id: str, by: By, reason: str
) -> Schedule:
    """Pause a schedule until somebody resumes it; what is admitted already is still delivered.

    Args:
        reason: why, for the history.

    Raises:
        NotFound: there is no such schedule, or who asks has no authority over it: always the same
            answer.
        Refused: it is paused already (``already_paused``) or has ended (``schedule_ended``), or
            the reason is empty (``no_reason``) or none (``invalid_reason``).
    """
    if not reason.strip():
        raise Refused("Say why it is paused, for others to read.", code="no_reason")
    check_reason(reason)
    at = backends.clock()
    with backends.database.transaction(workspace_id) as connection:
        _held(connection, workspace_id, schedule_id, by)
        if not schedules.pause(
            connection,
            workspace_id,
            schedule_id,
            code=PAUSED,
            reason=reason,
            at=at,
            by_person=True,
        ):
            schedule = _schedule(connection, workspace_id, schedule_id)
            _refuse_ended(schedule)
            raise Refused(
                f"It is paused already, with {schedule.pause_code}: {schedule.pause_reason}",
                code="already_paused",
            )
        # What was admitted in its time is delivered still; what a backfill brought can wait.
        missed.miss_backfilled(connection, workspace_id, schedule_id, because=PAUSED_BEFORE, at=at)
        _record(connection, workspace_id, schedule_id, "schedule_paused", by=by, at=at)
        return _schedule(connection, workspace_id, schedule_id)


def resume(backends: Backends, workspace_id: str, *, schedule_id: str, by: By) -> Schedule:
    """Let a paused schedule go on with the first slot after now, and no failures counted.

    Raises:
        NotFound: there is no such schedule, or who asks has no authority over it: always the same
            answer.
        Refused: it is not paused (``not_paused``), has ended or ends now (``schedule_ended``).
        InvalidRecurrence, UnknownTimeZone: its rule cannot be read.
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue: its owner
            cannot open the source now; nothing was written.
    """
    now = backends.clock()
    with backends.database.transaction(workspace_id) as connection:
        schedule = _held(connection, workspace_id, schedule_id, by)
        _refuse_ended(schedule)
        if schedule.state != "paused":
            raise _not_paused()
        slot = next_slot(schedule.recurrence(), now)
        if slot is None:
            raise Refused("Its recurrence never comes again.", code="schedule_ended")
        source = source_of(connection, schedule)
        version = version_run(schedule, source)
        _check_opening(
            backends, connection, schedule, source, version, schedule.runtime_values, slot
        )
        if not schedules.resume(connection, workspace_id, schedule_id, next_slot=slot):
            raise _not_paused()
        _record(connection, workspace_id, schedule_id, "schedule_resumed", by=by, at=now)
        return _schedule(connection, workspace_id, schedule_id)


def repin(
    backends: Backends,
    workspace_id: str,
    *,
    schedule_id: str,
    by: By,
    version: int | None = None,
    values: Mapping[str, Any] | None = None,
) -> Schedule:
    """Move a schedule, in whatever state, to another version of its query.

    A report is rendered in its current version anyway: to move its schedule there takes the change
    as seen, so that it is flagged no longer.

    Args:
        version: of the query; None: its current one, as it must be of a report.
        values: take the place of all the schedule's values; None: they stay.

    Raises:
        NotFound: there is no such schedule, or who asks has no authority over it: always the same
            answer; or it has no such version.
        Refused: a report's version is not its current one (``report_not_current``).
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue: its owner
            cannot open that version with the values; nothing was written.
    """
    at = backends.clock()
    with backends.database.transaction(workspace_id) as connection:
        schedule = _held(connection, workspace_id, schedule_id, by)
        source = source_of(connection, schedule)
        wanted = source.current_version if version is None else version
        if sources.version(connection, workspace_id, source.id, wanted) is None:
            raise NotFound(
                f"The {source.kind} {source.name!r} has no version {wanted};"
                f" its current one is {source.current_version}."
            )
        if source.kind == "report" and wanted != source.current_version:
            raise Refused(
                "A report is always rendered in its current version,"
                f" {source.current_version}; there is no other to move to.",
                code="report_not_current",
            )
        runtime_values = schedule.runtime_values if values is None else dict(values)
        _check_opening(backends, connection, schedule, source, wanted, runtime_values, at)
        if (wanted, runtime_values) != (schedule.pinned_version, schedule.runtime_values):
            schedules.repin(
                connection,
                workspace_id,
                schedule_id,
                version=wanted,
                runtime_values=runtime_values,
            )
            _record(connection, workspace_id, schedule_id, "schedule_repinned", by=by, at=at)
        return _schedule(connection, workspace_id, schedule_id)


def transfer(
    backends: Backends,
    workspace_id: str,
    *,
    schedule_id: str,
    to_person_id: str,
    by: By,
    reason: str | None = None,
) -> Schedule:
    """Give a schedule, in whatever state, to another owner who can open its source now.

    Args:
        by: its present owner, or an administrator.
        reason: why, for the history.

    Raises:
        NotFound: there is no such schedule, the person has no authority over it, or there is
            no such new owner.
        Refused: the new owner owns it already (``already_owner``), or no person asks
            (``person_required``).
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue: the new owner
            cannot open the source now; nothing was written.
    """
    check_reason(reason)
    at = backends.clock()
    by_person_id = by.as_person()
    with backends.database.transaction(workspace_id) as connection:
        schedule = _held(connection, workspace_id, schedule_id, by)
        owner = people.get(connection, workspace_id, to_person_id)
        if owner is None:
            raise NotFound("There is no such person in the workspace.")
        if owner.id == schedule.owner_id:
            raise Refused(f"{owner.name} owns the schedule already.", code="already_owner")
        source = source_of(connection, schedule)
        _check_opening(
            backends,
            connection,
            replace(schedule, owner_id=owner.id),
            source,
            version_run(schedule, source),
            schedule.runtime_values,
            at,
        )
        if not schedules.give(
            connection, workspace_id, schedule_id, from_id=schedule.owner_id, to_id=owner.id
        ):
            raise Refused("Somebody else has just transferred it.", code="already_transferred")
        transfers.record(
            connection,
            Transfer(
                workspace_id=workspace_id,
                id=new_id(),
                schedule_id=schedule_id,
                from_person_id=schedule.owner_id,
                to_person_id=owner.id,
                transferred_by=by_person_id,
                reason=reason,
                transferred_at=at,
            ),
        )
        _record(
            connection,
            workspace_id,
            schedule_id,
            "schedule_transferred",
            by=by,
            at=at,
            concerns_id=owner.id,
        )
        return _schedule(connection, workspace_id, schedule_id)


def delete_schedule(
    backends: Backends,
    workspace_id: str,
    *,
    schedule_id: str,
    by: By,
    expected: Collection[str] | None = None,
) -> None:
    """Take a schedule away; one that has a history ends instead, and its history stays.

    What is admitted already is still delivered.

    Args:
        expected: the tags (``store.schedule_tags``) of which it must have one; None: whatever it
            has.

    Raises:
        NotFound: there is no such schedule, or who asks has no authority over it: always the same
            answer.
        Refused: it has ended already, and its history keeps it (``schedule_ended``), or it is
            another than expected (``changed_meanwhile``).
    """
    at = backends.clock()
    with backends.database.transaction(workspace_id) as connection:
        lock_catalog(connection)  # before the first read
        schedule = schedule_governed_by(connection, workspace_id, schedule_id=schedule_id, by=by)
        check_unchanged(connection, schedule, expected)
        if retire_schedule(connection, schedule, written_by="other", at=at) is None:
            raise Refused(
                "The schedule has ended already; its history keeps it.", code="schedule_ended"
            )
        outside_addresses.remove_unused(connection, workspace_id)
        _record(connection, workspace_id, schedule_id, "schedule_deleted", by=by, at=at)


def _record(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    action: Action,
    *,
    by: By,
    at: datetime,
    concerns_id: str | None = None,
) -> None:
    audit.record(
        connection,
        AuditEvent(
            workspace_id=workspace_id,
            at=at,
            by=by,
            action=action,
            subject=Subject("schedule", schedule_id),
            concerns_id=concerns_id,
        ),
    )


def _held(connection: Connection, workspace_id: str, schedule_id: str, by: By) -> Schedule:
    """Return a schedule over which who asks has authority; nobody changes it meanwhile."""
    schedules.hold(connection, workspace_id, schedule_id)
    return schedule_governed_by(connection, workspace_id, schedule_id=schedule_id, by=by)


def _schedule(connection: Connection, workspace_id: str, schedule_id: str) -> Schedule:
    schedule = schedules.get(connection, workspace_id, schedule_id)
    if schedule is None:
        raise NotFound("There is no such schedule.")
    return schedule


def _refuse_ended(schedule: Schedule) -> None:
    if schedule.state == "ended":
        raise Refused("The schedule has ended.", code="schedule_ended")


def _not_paused() -> Refused:
    return Refused("The schedule is not paused.", code="not_paused")


def _check_opening(
    backends: Backends,
    connection: Connection,
    schedule: Schedule,
    source: Source,
    version: int,
    values: Mapping[str, Any],
    moment: datetime,
) -> None:
    """Check that the owner can open the version with the values, as when it was set up."""
    # Whether the workers know the connection's URL cannot be seen from here.
    with suppress(SourceUnavailable):
        open_source(
            connection,
            source,
            version=version,
            actor_id=schedule.owner_id,
            given_values=values,
            moment=moment,
            time_zone=schedule.time_zone,
            environment=backends.environment,
        )
