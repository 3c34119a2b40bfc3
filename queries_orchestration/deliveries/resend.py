"""Send an occurrence's file again, to those alone whom it did not reach.

A resend is an occurrence of its own: admitted with who asked, worked, settled and told like any
other, without a streak. It makes no file: that of the occurrence is sent.
"""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.deliveries.addressed import somebody_to_reach
from queries_orchestration.deliveries.authority import occurrence_governed_by
from queries_orchestration.deliveries.resolve import made_of
from queries_orchestration.deliveries.run_now import told_via
from queries_orchestration.exports.export_file import ExportFile
from queries_orchestration.exports.open_source import open_file_source
from queries_orchestration.model.audit import AuditEvent, By, Subject
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.ids import new_id, request_key
from queries_orchestration.model.reasons import check_reason
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import admissions, audit, exports, occurrences, resends
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.schedules import Schedule


def resend(
    backends: Backends,
    workspace_id: str,
    *,
    occurrence_key: str,
    by: By,
    reason: str | None = None,
) -> str:
    """Admit a resend and return its key; that of the one under way if there is one.

    Args:
        occurrence_key: of the occurrence, or of a resend of it.
        by: who asks, a person, and as whom the source of the file is opened: that of the schedule
            may be another one by now.

    Raises:
        NotFound: there is no such occurrence, or the person has no authority over its schedule:
            always the same answer.
        Refused: it is not settled yet (``not_settled``), nobody is to be reached any more
            (``nothing_to_resend``), there is no file (``no_file``, ``file_expired``,
            ``file_gone``), or no person asks (``person_required``).
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, SourceUnavailable: the person
            cannot open the source now; nothing was written.
    """
    check_reason(reason)
    at = backends.clock()
    person_id = by.as_person()
    with backends.database.transaction(workspace_id) as connection:
        found, schedule = occurrence_governed_by(
            connection, workspace_id, key=occurrence_key, by=by
        )
        origin = _origin_of(connection, found)
        if origin.outcome is None:
            raise Refused(
                "It is not settled yet: what fails for a while is tried again by itself.",
                code="not_settled",
            )
        file = _file_of(connection, schedule, origin)
        open_file_source(connection, file, actor_id=person_id, environment=backends.environment)
        earlier = resends.keys(connection, workspace_id, origin.key)
        if earlier and _is_under_way(connection, workspace_id, earlier[-1]):
            return earlier[-1]
        if origin.purpose == "test" or not somebody_to_reach(connection, workspace_id, origin):
            raise Refused(
                "Everybody has a message, was skipped or is a recipient no more: there is nobody to"
                " send it to again.",
                code="nothing_to_resend",
            )
        refusal = file.refusal(at=at)
        if refusal is not None:
            raise refusal
        key = request_key(schedule.id, new_id())
        with connection.begin_nested() as attempt:
            admissions.admit_request(
                connection,
                workspace_id,
                key=key,
                schedule_id=schedule.id,
                requested_by=person_id,
                client_key=None,
                via=told_via(by),
                purpose="resend",
                reason=reason,
                export_id=file.export.id,
                source_changed=origin.source_changed,
                at=at,
            )
            number = len(earlier) + 1
            recorded = resends.record(connection, workspace_id, origin.key, key, number=number)
            if not recorded:
                attempt.rollback()
        if not recorded:
            # Another process has just committed one.
            return resends.keys(connection, workspace_id, origin.key)[-1]
        audit.record(
            connection,
            AuditEvent(
                workspace_id=workspace_id,
                at=at,
                by=by,
                action="resend_launched",
                subject=Subject("occurrence", key),
            ),
        )
        backends.reached("resend, not committed")
    backends.reached("resend committed, not published")
    return key


def _origin_of(connection: Connection, found: Occurrence) -> Occurrence:
    key = resends.origin_of(connection, found.workspace_id, found.key)
    return (key and occurrences.get(connection, found.workspace_id, key)) or found


def _file_of(connection: Connection, schedule: Schedule, origin: Occurrence) -> ExportFile:
    export = origin.export_id and exports.get(connection, origin.workspace_id, origin.export_id)
    if not export:
        raise Refused(
            "No file was made of it: run the schedule now"
            f" (`queries run-now {schedule.name} --as PERSON`).",
            code="no_file",
        )
    source = made_of(connection, export)
    return ExportFile(export=export, source=source, occurrence=origin, schedule=schedule)


def _is_under_way(connection: Connection, workspace_id: str, key: str) -> bool:
    found = occurrences.get(connection, workspace_id, key)
    return found is not None and found.outcome is None
