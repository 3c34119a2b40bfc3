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
from dataclasses import replace
from functools import partial
from typing import Final

from queries_orchestration.deliveries.addressed import addressed
from queries_orchestration.deliveries.message import message_id_of, message_of
from queries_orchestration.deliveries.recipients import DUPLICATE, Recipient
from queries_orchestration.deliveries.resolve import Assignment, assignment_of, export_of
from queries_orchestration.deliveries.submit import (
    Attempt,
    first_attempt,
    further_attempt,
    give_up,
    submit,
)
from queries_orchestration.model.errors import (
    PermanentError,
    ReceiveLost,
    StoreUnavailable,
    TransientError,
)
from queries_orchestration.model.ids import communication_key, new_id
from queries_orchestration.model.links import FILE_OUTLIVES_LINK, LINK_LIFETIME
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.store import claims, deliveries, erasure, exports, occurrences
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.exports import Export

log = logging.getLogger(__name__)

ADDRESS_CHANGED: Final = "address_changed"


def deliver(backends: Backends, receive: Receive, heartbeat: Heartbeat) -> None:
    """Give every present recipient a final state; those who have one are left alone.

    One recipient who cannot be reached, or whose message cannot be made, does not keep the others
    waiting.

    Raises:
        TransientError: at least one message is not known to be handed over, and a later receive
            may try again.
        ReceiveLost, ReceiveTimeout: the receive must end.
    """
    with backends.database.transaction(receive.workspace_id) as connection:
        assignment = assignment_of(connection, receive)
        export = export_of(connection, assignment)
        known = {
            row.recipient_id: row
            for row in deliveries.of_occurrence(connection, receive.workspace_id, receive.key)
        }
        present = addressed(connection, assignment, served=_served(known.values()))
    delivery_of = partial(_deliver_to, backends, receive, assignment, export)
    unavailable: TransientError | None = None
    try:
        for recipient in present:
            heartbeat.check()
            delivery = known.get(recipient.id)
            if delivery is not None and not _is_open(delivery, recipient):
                continue
            try:
                with unforeseen_told(receive.key):
                    delivery_of(recipient, delivery, seconds=heartbeat.remaining())
            except (ReceiveLost, StoreUnavailable):
                raise
            except TransientError as error:
                unavailable = error
            except PermanentError as error:
                # For good as things are now; that others get theirs must not hang on it.
                unavailable = TransientError(error.message, code=error.code)
    finally:
        backends.communications.close()
    _conclude_removed(backends, receive, present, known.values())
    if unavailable is not None:
        raise unavailable


def _served(known: Iterable[Delivery]) -> dict[str, str]:
    """Return the mailboxes that have the message, or may have it, with by whom."""
    return {
        row.mailbox_digest: row.recipient_id
        for row in known
        if row.mailbox_digest is not None
        and (row.state in ("sent", "uncertain") or (row.state == "sending" and row.unanswered))
    }


def _is_open(delivery: Delivery, recipient: Recipient) -> bool:
    """Whether it may still get another state than an earlier receive has recorded.

    As long as nobody with the mailbox has the message, who was skipped for another may get it: the
    other can have left since.
    """
    if delivery.state == "skipped" and delivery.code == DUPLICATE:
        return recipient.skip_code != DUPLICATE
    return delivery.state == "sending"


def _deliver_to(
    backends: Backends,
    receive: Receive,
    assignment: Assignment,
    export: Export,
    recipient: Recipient,
    known: Delivery | None,
    *,
    seconds: float,
) -> None:
    """Make one recipient's message, count its submission, and submit it.

    In this order: what cannot be made was plainly not taken.

    Raises:
        PermanentError: the message cannot be made.
        TransientError: not now; or it is not known to be handed over.
        ReceiveLost: a newer receive took the work.
    """
    begun = known if known is not None and known.state == "sending" else None
    delivery = begun or _new(backends, receive, recipient)
    record = partial(_record, backends, receive, export, instead_of=known)
    if recipient.address is None:
        if begun is None:
            record(delivery)
        else:
            # Since an earlier receive began to send, the recipient may no longer get it.
            give_up(backends, receive, begun, code=recipient.skip_code or "no_address")
        return
    if delivery.unanswered and delivery.mailbox_digest not in (None, recipient.mailbox):
        # The second copy must go where the first may be.
        give_up(backends, receive, delivery, code=ADDRESS_CHANGED)
        return
    try:
        message, faults = message_of(
            backends, export, assignment, delivery, name=recipient.name, address=recipient.address
        )
    except Exception:
        if begun is None:
            record(delivery)
        raise
    if faults:
        _note_faults(backends, receive, assignment, faults)
    attempt: Attempt | None
    if begun is None:
        attempt = first_attempt(delivery)
        if not record(attempt.delivery):
            return
    else:
        attempt = further_attempt(backends, receive, begun, mailbox_digest=recipient.mailbox)
    if attempt is not None:
        submit(backends, receive, attempt, message, seconds=seconds)


def _new(backends: Backends, receive: Receive, recipient: Recipient) -> Delivery:
    """Return the recipient's row: skipped with the reason, or sending with the link's facts."""
    at = backends.clock()
    sending = recipient.skip_code is None
    issued_at = at.replace(microsecond=0)
    key = communication_key(receive.key, recipient.id)
    return Delivery(
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
        link_expires_at=issued_at + LINK_LIFETIME if sending else None,
        message_id=message_id_of(backends, key) if sending else None,
        recorded_at=at,
        mailbox_digest=recipient.mailbox,
    )


def _record(
    backends: Backends,
    receive: Receive,
    export: Export,
    delivery: Delivery,
    *,
    instead_of: Delivery | None,
) -> bool:
    """Write the recipient's row, and keep the file as long as its link is good.

    Returns:
        False if the recipient was erased since they were looked up, and so is skipped.
    """
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        is_there = delivery.state != "sending" or erasure.is_there(
            connection, receive.workspace_id, delivery.recipient_id
        )
        if not is_there:
            delivery = _skipped(delivery)
        deliveries.record(connection, delivery, instead_of=instead_of)
        if delivery.link_expires_at is not None:
            exports.keep_until(
                connection,
                receive.workspace_id,
                export.id,
                until=delivery.link_expires_at + FILE_OUTLIVES_LINK,
            )
    backends.reached("sending recorded")
    return is_there


def _skipped(delivery: Delivery) -> Delivery:
    """Return the row of somebody who was to be sent to, and is not there any more."""
    return replace(
        delivery,
        state="skipped",
        code="no_address" if delivery.person_id is None else "left_workspace",
        link_token_id=None,
        link_key_id=None,
        link_issued_at=None,
        link_expires_at=None,
        message_id=None,
        unanswered=0,
        mailbox_digest=None,
    )


def _note_faults(
    backends: Backends, receive: Receive, assignment: Assignment, faults: Sequence[str]
) -> None:
    """Tell in the history and the log which of the workspace's own words could not be used."""
    with backends.database.transaction(receive.workspace_id) as connection:
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
