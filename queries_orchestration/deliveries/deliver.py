"""Hop 6, second half: one message with a personal link for each recipient.

A delivery row says ``sending`` before its message is submitted and has its final state after;
what an earlier receive concluded is kept, what it left ``sending`` is submitted again under the
same communication key and with the same link.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from queries_orchestration.communications.compose import MessageFacts, compose
from queries_orchestration.communications.interface import Message, message_id
from queries_orchestration.deliveries.personal_link import link_of
from queries_orchestration.deliveries.recipients import Recipient, recipients_now
from queries_orchestration.deliveries.resolve import Assignment, assignment_of, export_of
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    RecipientRefused,
)
from queries_orchestration.model.ids import communication_key, new_id
from queries_orchestration.model.links import FILE_OUTLIVES_LINK, LINK_LIFETIME, link_url, sign
from queries_orchestration.model.outcomes import DeliveryState
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store import claims, deliveries, exports
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.exports import Export


def deliver(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> None:
    """Give every present recipient a final state; those who have one are left alone.

    One recipient who cannot be reached does not keep the others waiting.

    Raises:
        CommunicationsUnavailable: at least one message could not be handed over.
        ReceiveLost, ReceiveTimeout: the receive must end.
    """
    with backends.database.transaction() as connection:
        assignment = assignment_of(connection, receive)
        export = export_of(connection, assignment)
        present = recipients_now(connection, receive.workspace_id, assignment.schedule.id)
        known = {
            row.person_id: row
            for row in deliveries.of_occurrence(connection, receive.workspace_id, receive.key)
        }
    unavailable: CommunicationsUnavailable | None = None
    for recipient in present:
        heartbeat.check()
        delivery = known.get(recipient.person.id)
        if delivery is None:
            delivery = _record(backends, receive, export, recipient)
            backends.reached("sending recorded")
        if delivery.state != "sending":
            continue
        try:
            _send(backends, receive, export, assignment, recipient, delivery)
        except CommunicationsUnavailable as error:
            unavailable = error
    _conclude_removed(backends, receive, present, known.values())
    if unavailable is not None:
        raise unavailable


def _record(backends: Backends, receive: Receive, export: Export, recipient: Recipient) -> Delivery:
    """Write the recipient's row: skipped with the reason, or sending with the link's facts."""
    at = backends.clock()
    sending = recipient.skip_code is None
    issued_at = at.replace(microsecond=0)
    expires_at = issued_at + LINK_LIFETIME
    delivery = Delivery(
        workspace_id=receive.workspace_id,
        occurrence_key=receive.key,
        person_id=recipient.person.id,
        state="sending" if sending else "skipped",
        code=recipient.skip_code,
        communication_key=communication_key(receive.key, recipient.person.id),
        receive_number=receive.number,
        link_token_id=new_id() if sending else None,
        link_key_id=backends.link_keys.signing_key_id if sending else None,
        link_issued_at=issued_at if sending else None,
        link_expires_at=expires_at if sending else None,
        message_id=None,
        recorded_at=at,
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


def _send(
    backends: Backends,
    receive: Receive,
    export: Export,
    assignment: Assignment,
    recipient: Recipient,
    delivery: Delivery,
) -> None:
    """Submit one message and write its outcome."""
    state: DeliveryState = "sent"
    code: str | None = None
    sent_id: str | None = None
    if recipient.address is None:
        # An earlier receive began to send; since then the recipient may no longer get it.
        state, code = "uncertain", recipient.skip_code
    else:
        message = _message(backends, export, assignment, recipient, delivery, recipient.address)
        try:
            sent_id = backends.communications.submit(message).message_id
        except RecipientRefused as error:
            state, code = "refused", error.code
        backends.reached("submitted, not recorded")
    with backends.database.transaction() as connection:
        claims.hold(connection, receive)
        deliveries.conclude(connection, delivery, state=state, code=code, message_id=sent_id)
    backends.reached("recipient concluded")


def _conclude_removed(
    backends: Backends,
    receive: Receive,
    present: Sequence[Recipient],
    known: Iterable[Delivery],
) -> None:
    """Conclude what an earlier receive began to send to somebody who was removed since."""
    still_there = {recipient.person.id for recipient in present}
    for delivery in known:
        if delivery.state == "sending" and delivery.person_id not in still_there:
            with backends.database.transaction() as connection:
                claims.hold(connection, receive)
                deliveries.conclude(connection, delivery, state="uncertain", code="removed")


def _message(
    backends: Backends,
    export: Export,
    assignment: Assignment,
    recipient: Recipient,
    delivery: Delivery,
    address: str,
) -> Message:
    schedule, settings = assignment.schedule, backends.settings
    link = link_of(delivery, export.id)
    subject, text, html = compose(
        MessageFacts(
            workspace_title=assignment.workspace.title,
            schedule_title=schedule.title,
            source_title=assignment.source.title,
            recipient_name=recipient.person.title,
            zone=schedule.time_zone,
            slot=assignment.occurrence.slot,
            rows=export.rows if assignment.source.kind == "query" else None,
            size_bytes=export.size or 0,
            format=export.format,
            link_url=link_url(settings.public_url, sign(backends.link_keys, link)),
            link_expires_at=link.expires_at,
            source_kind=assignment.source.kind,
            source_changed=assignment.occurrence.source_changed,
        )
    )
    domain = urlsplit(settings.public_url).hostname or "localhost"
    return Message(
        communication_key=delivery.communication_key,
        recipient_name=recipient.person.title,
        recipient_address=address,
        subject=subject,
        text=text,
        html=html,
        message_id=message_id(delivery.communication_key, domain),
    )
