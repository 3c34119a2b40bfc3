"""Hop 2, the alternative entry: a person runs a schedule now, with their own access.

Occurrence, export and request are one commit; ``receives.publish`` comes after it. A crash in
between leaves an occurrence that the sensor finds.
"""

from __future__ import annotations

from typing import Literal

from queries_orchestration.deliveries.authority import schedule_governed_by
from queries_orchestration.deliveries.resolve import is_changed, queue_export, source_of
from queries_orchestration.model.audit import AuditEvent, By, Subject
from queries_orchestration.model.client_keys import check_client_key
from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.model.ids import new_id, request_key
from queries_orchestration.model.reasons import check_reason
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import admissions, audit, occurrences
from queries_orchestration.store.occurrences import Occurrence


def run_now(
    backends: Backends,
    workspace_id: str,
    *,
    schedule_id: str,
    by: By,
    client_key: str | None = None,
    reason: str | None = None,
    purpose: Literal["delivery", "test"] = "delivery",
) -> str:
    """Admit a manual occurrence of a schedule and return its key.

    Args:
        by: who clicks, a person, and as whom it is read.
        client_key: what the client calls this click of this schedule; the same click twice is one
            occurrence.
        reason: why, for the history.
        purpose: a ``test`` is sent to the person alone, and has no effect on the schedule.

    Raises:
        NotFound: there is no such schedule, or the person has no authority over it.
        Refused: the schedule has ended (``schedule_ended``), or no person asks
            (``person_required``); the key is none (``invalid_client_key``), or was given to
            another click, with another reason or purpose (``client_key_reused``).
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue,
        SourceUnavailable: the person cannot open the source now; nothing was written.
    """
    check_reason(reason)
    at = backends.clock()
    person_id = by.as_person()
    if client_key is not None:
        check_client_key(client_key)
    key = request_key(schedule_id, new_id())
    with backends.database.transaction(workspace_id) as connection:

        def of_this_click() -> Occurrence | None:
            if client_key is None:
                return None
            made = occurrences.of_click(
                connection,
                workspace_id,
                schedule_id,
                requested_by=person_id,
                client_key=client_key,
            )
            if made and (made.purpose, made.reason) != (purpose, reason):
                raise Refused(
                    f"The key {client_key!r} was given to another run of this schedule: take"
                    " another key for this one.",
                    code="client_key_reused",
                )
            return made

        schedule = schedule_governed_by(connection, workspace_id, schedule_id=schedule_id, by=by)
        if made := of_this_click():
            return made.key
        if schedule.state == "ended":
            raise Refused("The schedule has ended; it runs no more.", code="schedule_ended")
        source = source_of(connection, schedule)
        with connection.begin_nested() as attempt:
            export_id = queue_export(
                connection,
                schedule,
                source,
                actor_id=person_id,
                moment=at,
                at=at,
                environment=backends.environment,
            )
            admitted = admissions.admit_request(
                connection,
                workspace_id,
                key=key,
                schedule_id=schedule_id,
                requested_by=person_id,
                client_key=client_key,
                via=told_via(by),
                purpose=purpose,
                reason=reason,
                export_id=export_id,
                source_changed=is_changed(schedule, source),
                at=at,
            )
            if not admitted:
                attempt.rollback()
        if not admitted:
            # Another process has just committed the same click.
            made = of_this_click()
            if made is None:
                raise NotFound("The schedule is gone.")
            return made.key
        audit.record(
            connection,
            AuditEvent(
                workspace_id=workspace_id,
                at=at,
                by=by,
                action="test_launched" if purpose == "test" else "run_launched",
                subject=Subject("occurrence", key),
            ),
        )
        backends.reached("run now, not committed")
    backends.reached("run now committed, not published")
    return key


def told_via(by: By) -> str:
    """Return how the history tells by what way a person launched an occurrence."""
    return "dagster-ui" if by.via == "dagster-ui" else "run-now"
