"""Hop 6, within: one message submitted, and what is then known of it written down.

The row counts a submission before it is made and takes it off when its answer is known. A worker
may die anywhere: what it leaves counted may have been taken, what is not counted was not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Connection

from queries_orchestration.communications.interface import Message
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    RecipientRefused,
    SubmissionUncertain,
)
from queries_orchestration.model.outcomes import DeliveryState
from queries_orchestration.model.server_words import clean_server_words
from queries_orchestration.model.submissions import (
    MOST_UNANSWERED,
    state_of_given_up,
    unanswered_with_another,
)
from queries_orchestration.observing.traces import span
from queries_orchestration.receives.backends import Backends
from queries_orchestration.settings import MAX_RECEIVES
from queries_orchestration.store import claims, deliveries, message_states
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.deliveries import Delivery


@dataclass(frozen=True, slots=True)
class Attempt:
    """A submission that is counted in its row: ``delivery`` is the row, ``before`` without it."""

    delivery: Delivery
    before: Delivery


def first_attempt(delivery: Delivery) -> Attempt:
    """Count the first submission, in a row that is to be recorded."""
    return Attempt(replace(delivery, unanswered=1), delivery)


def further_attempt(
    backends: Backends, receive: Receive, delivery: Delivery, *, mailbox_digest: str | None
) -> Attempt | None:
    """Count another submission of what an earlier receive left ``sending``; None concludes it.

    Args:
        mailbox_digest: of the mailbox that it goes to now.

    Raises:
        ReceiveLost: a newer receive took the work.
    """
    unanswered = unanswered_with_another(
        delivery.unanswered, idempotent=backends.communications.idempotent_by_key
    )
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        if message_states.is_known(connection, delivery):
            # Its provider has told of it meanwhile, and so has taken it.
            deliveries.conclude(connection, delivery, state="sent")
            return None
        if unanswered is None:
            _conclude_uncertain(connection, delivery)
            return None
        resubmitted_at = delivery.resubmitted_at
        if unanswered == MOST_UNANSWERED:
            resubmitted_at = backends.clock()
        attempted = replace(
            delivery,
            unanswered=unanswered,
            resubmitted_at=resubmitted_at,
            mailbox_digest=mailbox_digest,
        )
        _note(connection, attempted)
    backends.reached("further submission noted")
    return Attempt(attempted, delivery)


def submit(
    backends: Backends, receive: Receive, attempt: Attempt, message: Message, *, seconds: float
) -> None:
    """Submit one message, within ``seconds``, and write its outcome.

    Raises:
        CommunicationsUnavailable: it was not taken; a later receive may try again.
        SubmissionUncertain: no answer came; a later receive may try once more.
        ReceiveLost: a newer receive took the work.
    """
    state: DeliveryState = "sent"
    values: dict[str, Any] = {"unanswered": attempt.before.unanswered, "refusal_words": None}
    try:
        with span("send_message", work=receive.key):
            backends.communications.submit(message, seconds=seconds)
    except RecipientRefused as error:
        state = "refused"
        values |= {"code": error.code, "refusal_words": clean_server_words(error.reason)}
    except SubmissionUncertain as error:
        if attempt.delivery.unanswered < MOST_UNANSWERED and receive.number < MAX_RECEIVES:
            raise
        state = "uncertain"
        values = {"code": error.code}
    except CommunicationsUnavailable as error:
        backends.reached("not taken, not recorded")
        words = clean_server_words(error.message)
        with backends.database.transaction(receive.workspace_id) as connection:
            claims.hold(connection, receive)
            _note(connection, attempt.before, refusal_words=words)
        raise
    else:
        values["message_id"] = message.message_id
    backends.reached("submitted, not recorded")
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        deliveries.conclude(connection, attempt.delivery, state=state, **values)
    backends.reached("recipient concluded")


def give_up(backends: Backends, receive: Receive, delivery: Delivery, *, code: str) -> None:
    """Conclude what an earlier receive began to send to who may no longer get it.

    Raises:
        ReceiveLost: a newer receive took the work.
    """
    state: DeliveryState = "uncertain" if delivery.unanswered else "skipped"
    with backends.database.transaction(receive.workspace_id) as connection:
        claims.hold(connection, receive)
        deliveries.conclude(connection, delivery, state=state, code=code)


def conclude_unfinished(connection: Connection, delivery: Delivery, *, code: str) -> None:
    """Conclude a delivery whose occurrence ends without it."""
    state = state_of_given_up(delivery.unanswered)
    deliveries.conclude(connection, delivery, state=state, code=code)


def _conclude_uncertain(connection: Connection, delivery: Delivery) -> None:
    deliveries.conclude(connection, delivery, state="uncertain", code=SubmissionUncertain.code)


def _note(connection: Connection, delivery: Delivery, **values: Any) -> None:
    deliveries.note_submission(
        connection,
        delivery,
        unanswered=delivery.unanswered,
        resubmitted_at=delivery.resubmitted_at,
        mailbox_digest=delivery.mailbox_digest,
        **values,
    )
