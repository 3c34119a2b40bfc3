"""Hop 2, the alternative entry: a person runs a schedule now, with their own access.

Occurrence, export and request are one commit; ``receives.publish`` comes after it. A crash in
between leaves an occurrence that the sensor finds.
"""

from __future__ import annotations

from typing import Literal

from queries_orchestration.deliveries.authority import schedule_governed_by
from queries_orchestration.deliveries.resolve import is_changed, queue_export, source_of
from queries_orchestration.model.errors import NotFound, Refused
from queries_orchestration.model.ids import new_id, request_key
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import occurrences
from queries_orchestration.store.occurrences import Occurrence


def run_now(
    backends: Backends,
    workspace_id: str,
    *,
    schedule_id: str,
    person_id: str,
    client_key: str | None = None,
    via: str = "run-now",
    reason: str | None = None,
    purpose: Literal["delivery", "test"] = "delivery",
) -> str:
    """Admit a manual occurrence of a schedule and return its key.

    Args:
        person_id: who clicks, and as whom it is read.
        client_key: what the client calls this click; the same click twice is one occurrence.
        via: where the click came from: ``run-now`` or ``dagster-ui``.
        reason: why, for the history.
        purpose: a ``test`` is sent to the person alone, and has no effect on the schedule.

    Raises:
        NotFound: there is no such schedule, or the person has no authority over it.
        Refused: the schedule has ended (``schedule_ended``), or the key was given to a click of
            another purpose (``client_key_reused``).
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue,
        SourceUnavailable: the person cannot open the source now; nothing was written.
    """
    at = backends.clock()
    key = request_key(schedule_id, new_id())
    with backends.database.transaction() as connection:

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
            if made is not None and made.purpose != purpose:
                raise Refused(
                    f"The key {client_key!r} was given to a {made.purpose} of the schedule: take"
                    f" another key for a {purpose}.",
                    code="client_key_reused",
                )
            return made

        schedule = schedule_governed_by(
            connection, workspace_id, schedule_id=schedule_id, person_id=person_id
        )
        if schedule.state == "ended":
            raise Refused("The schedule has ended; it runs no more.", code="schedule_ended")
        if made := of_this_click():
            return made.key
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
            admitted = occurrences.admit_request(
                connection,
                workspace_id,
                key=key,
                schedule_id=schedule_id,
                requested_by=person_id,
                client_key=client_key,
                via=via,
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
        backends.reached("run now, not committed")
    backends.reached("run now committed, not published")
    return key
