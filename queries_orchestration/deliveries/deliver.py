"""Hop 6, second half: one message with a personal link for each recipient.

A delivery row says ``sending`` before its message is submitted and has its final state after;
what an earlier receive concluded is kept, what it left ``sending`` is submitted again under the
same communication key and with the same link. The row counts the submissions without an answer:
where a backend cannot tell a copy, a message that was plainly not taken is submitted as often as
there are receives, one that may have been taken once more at most (`submit.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Final

from queries_orchestration.deliveries.addressed import addressed
from queries_orchestration.deliveries.message import message_id_of, message_of
from queries_orchestration.deliveries.recipients import Recipient
from queries_orchestration.deliveries.resolve import Assignment, assignment_of, export_of
from queries_orchestration.deliveries.submit import (
    Attempt,
    first_attempt,
    further_attempt,
    give_up,
    submit,
)
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    SubmissionUncertain,
    TransientError,
)
from queries_orchestration.model.ids import communication_key, new_id
from queries_orchestration.model.links import FILE_OUTLIVES_LINK, LINK_LIFETIME
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store import claims, deliveries, exports, occurrences
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.exports import Export

log = logging.getLogger(__name__)

_REACHED: Final = ("sending", "sent", "uncertain")
"""Who is in one of these states has the message, or may have it."""


def deliver(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> None:
    """Give every present recipient a final state; those who have one are left alone.

    One recipient who cannot be reached does not keep the others waiting.

    Raises:
        CommunicationsUnavailable, SubmissionUncertain: at least one message is not known to be
            handed over, and a later receive may try again.
        ReceiveLost, ReceiveTimeout: the receive must end.
    """
    with backends.database.transaction() as connection:
        assignment = assignment_of(connection, receive)
        export = export_of(connection, assignment)
        known = {
            row.recipient_id: row
            for row in deliveries.of_occurrence(connection, receive.workspace_id, receive.key)
        }
        present = addressed(
            connection,
            assignment,
            served=[row.recipient_id for row in known.values() if row.state in _REACHED],
        )
    unavailable: TransientError | None = None
    try:
        for recipient in present:
            heartbeat.check()
            delivery = known.get(recipient.id)
            if delivery is not None and delivery.state != "sending":
                continue
            attempt = _attempt(backends, receive, export, recipient, delivery)
            if attempt is None or recipient.address is None:
                continue
            message, faults = message_of(
                backends,
                export,
                assignment,
                attempt.delivery,
                name=recipient.name,
                address=recipient.address,
            )
            if faults:
                _note_faults(backends, receive, assignment, faults)
            try:
                submit(backends, receive, attempt, message, seconds=heartbeat.remaining())
            except (CommunicationsUnavailable, SubmissionUncertain) as error:
                unavailable = error
    finally:
        backends.communications.close()
    _conclude_removed(backends, receive, present, known.values())
    if unavailable is not None:
        raise unavailable


def _attempt(
    backends: Backends,
    receive: Receive,
    export: Export,
    recipient: Recipient,
    delivery: Delivery | None,
) -> Attempt | None:
    """Write down that a message will be submitted; None if none will be."""
    if delivery is None:
        recorded = _record(backends, receive, export, recipient)
        backends.reached("sending recorded")
        return first_attempt(recorded) if recorded.state == "sending" else None
    if recipient.skip_code is not None:
        # An earlier receive began to send; since then the recipient may no longer get it.
        give_up(backends, receive, delivery, code=recipient.skip_code)
        return None
    return further_attempt(backends, receive, delivery)


def _record(backends: Backends, receive: Receive, export: Export, recipient: Recipient) -> Delivery:
    """Write the recipient's row: skipped with the reason, or sending with the link's facts."""
    at = backends.clock()
    sending = recipient.skip_code is None
    issued_at = at.replace(microsecond=0)
    expires_at = issued_at + LINK_LIFETIME
    key = communication_key(receive.key, recipient.id)
    delivery = Delivery(
        workspace_id=receive.workspace_id,
        occurrence_key=receive.key,
        recipient_id=recipient.id,
        person_id=recipient.id if recipient.is_person else None,
        outside_id=None if recipient.is_person else recipient.id,
        state="sending" if sending else "skipped",
        code=recipient.skip_code,
        communication_key=key,
        receive_number=receive.number,
        link_token_id=new_id() if sending else None,
        link_key_id=backends.link_keys.signing_key_id if sending else None,
        link_issued_at=issued_at if sending else None,
        link_expires_at=expires_at if sending else None,
        message_id=message_id_of(backends, key) if sending else None,
        recorded_at=at,
        unanswered=1 if sending else 0,
    )
    with backends.database.transaction() as connection:
        claims.hold(connection, receive)
        deliveries.record(connection, delivery)
        if sending:
            exports.keep_until(
                connection,
                receive.workspace_id,
                export.id,
                until=expires_at + FILE_OUTLIVES_LINK,
            )
    return delivery


def _note_faults(
    backends: Backends, receive: Receive, assignment: Assignment, faults: Sequence[str]
) -> None:
    """Tell in the history and the log which of the workspace's own words could not be used."""
    with backends.database.transaction() as connection:
        occurrences.change(connection, receive, message_fault=", ".join(faults))
    log.warning(
        "message_template_failed schedule=%s occurrence=%s parts=%s",
        assignment.schedule.id,
        receive.key,
        ",".join(faults),
    )


def _conclude_removed(
    backends: Backends,
    receive: Receive,
    present: Sequence[Recipient],
    known: Iterable[Delivery],
) -> None:
    """Conclude what an earlier receive began to send to somebody who was removed since."""
    still_there = {recipient.id for recipient in present}
    for delivery in known:
        if delivery.state == "sending" and delivery.recipient_id not in still_there:
            give_up(backends, receive, delivery, code="removed")
