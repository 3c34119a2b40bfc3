"""Tell owners and administrators of failures and pauses: written with the settlement, sent after.

A notice is a row of the settlement's own transaction, so that none is lost, under a communication
key of its own, so that none is sent twice. Whatever pass comes next sends it.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.communications.compose_notice import NoticeFacts, compose_notice
from queries_orchestration.communications.interface import Message
from queries_orchestration.deliveries.message import message_id_of
from queries_orchestration.deliveries.recipients import address_of, alone
from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    QueriesError,
    RecipientRefused,
    StoreUnavailable,
    SubmissionUncertain,
    UnknownTimeZone,
    UnreadableRow,
)
from queries_orchestration.model.notices import FIRST_FAILURE, NoticeKind, delay_after
from queries_orchestration.model.time_zones import zone
from queries_orchestration.receives.backends import Backends
from queries_orchestration.receives.boundary import unforeseen_told
from queries_orchestration.store import (
    cross_workspace,
    erasure,
    notices,
    occurrences,
    people,
    schedules,
    workspaces,
)
from queries_orchestration.store.notices import Notice
from queries_orchestration.store.people import Person

NOTICES_A_PASS: Final = 50
SECONDS_A_PASS: Final = 20.0
"""A pass has less than a minute for all it does; what is left is for the next one."""
SECONDS_A_NOTICE: Final = 10.0
"""No notice is begun that has less left: a server that had no time to answer has it, perhaps."""
RESUBMITTED: Final = "resubmitted"
GONE: Final = "gone"

log = logging.getLogger(__name__)


def write_notices(
    connection: Connection,
    workspace_id: str,
    schedule_id: str,
    *,
    kind: NoticeKind,
    occurrence_key: str,
    code: str,
    reason: str,
    streak: int,
    at: datetime,
) -> None:
    """Let the owner, and of a pause the active administrators, be told by the next pass.

    Where the owner cannot be written to, the administrators are told of a failure, too.
    """
    owner_id = schedules.owner_of(connection, workspace_id, schedule_id)
    notices.write(
        connection,
        workspace_id,
        occurrence_key=occurrence_key,
        kind=kind,
        person_ids=_told(connection, workspace_id, owner_id, kind),
        code=code,
        reason=reason,
        streak=streak,
        at=at,
    )


def _told(connection: Connection, workspace_id: str, owner_id: str, kind: NoticeKind) -> list[str]:
    """Return the owner's id, and those of administrators with other mailboxes where they are told.

    They are of a pause, and of a failure whose owner cannot be written to.
    """
    try:
        owner = people.get(connection, workspace_id, owner_id)
    except UnreadableRow:
        return [owner_id]  # nor could those be read among whom this row is listed
    own_mailbox = owner and alone(owner).mailbox
    told, mailboxes = [owner_id], {own_mailbox}
    if kind == FIRST_FAILURE and own_mailbox is not None:
        return told
    for person in people.listing(connection, workspace_id):
        if person.active and ADMINISTRATOR in person.roles and person.id != owner_id:
            mailbox = alone(person).mailbox
            # Who cannot be written to is noted as skipped, each.
            if mailbox is None or mailbox not in mailboxes:
                told.append(person.id)
            mailboxes.add(mailbox)
    return told


def send_notices(backends: Backends) -> int:
    """Send what is to be told; one that cannot be sent now is tried again, ever later.

    Returns:
        How many notices were sent.

    Raises:
        StoreUnavailable: the database cannot be reached.
    """
    stopwatch = backends.waiting
    end = stopwatch.now() + SECONDS_A_PASS
    with backends.database.across.read() as connection:
        found = cross_workspace.unsent_notices(connection, limit=NOTICES_A_PASS)
    if found.unreadable:
        # `queries check` tells which; they keep no other from being sent.
        log.warning("unreadable_rows table=notices rows=%d", len(found.unreadable))
    sent = 0
    try:
        for notice in found.records:
            left = end - stopwatch.now()
            if left < SECONDS_A_NOTICE:
                break
            if not _begin(backends, notice):
                continue
            try:
                with unforeseen_told(notice.communication_key):
                    message, skip_code = _prepare(backends, notice)
            except StoreUnavailable:
                raise
            except QueriesError as error:
                _try_later(backends, notice, error)
                continue
            try:
                with unforeseen_told(notice.communication_key):
                    sent += _submit(backends, notice, message, skip_code, seconds=left)
            except StoreUnavailable:
                raise
            except CommunicationsUnavailable as error:
                _try_later(backends, notice, error)
                break  # The others would fare no better.
            except QueriesError as error:
                # Whether it was sent is not known: it stays as begun.
                _log_unsent(notice, error)
    finally:
        backends.communications.close()
    return sent


def _prepare(backends: Backends, notice: Notice) -> tuple[Message | None, str | None]:
    """Return the message, or None and the code of why its person is to be skipped."""
    with backends.database.read(notice.workspace_id) as connection:
        person = people.get(connection, notice.workspace_id, notice.person_id)
        address, skip_code = address_of(person) if person else (None, GONE)
        if person is None or address is None:
            return None, skip_code
        return _message(backends, connection, notice, person, address), None


def _submit(
    backends: Backends,
    notice: Notice,
    message: Message | None,
    skip_code: str | None,
    *,
    seconds: float,
) -> bool:
    """Submit what there is to submit and write the outcome; False if nothing was sent.

    No answer is final: a server that is slow today is slow in the next pass, and would be given
    another copy each time.
    """
    backends.reached("notice begun, not submitted")
    state, code, sent_id = "skipped", skip_code, None
    if message is not None:
        try:
            sent_id = backends.communications.submit(message, seconds=seconds).message_id
            state = "sent"
        except RecipientRefused as error:
            state, code = "refused", error.code
        except SubmissionUncertain as error:
            state, code = "uncertain", error.code
        backends.reached("notice submitted, not recorded")
    with backends.database.transaction(notice.workspace_id) as connection:
        _conclude(backends, connection, notice, state=state, code=code, message_id=sent_id)
    return state == "sent"


def _try_later(backends: Backends, notice: Notice, error: QueriesError) -> None:
    """Note that nothing was sent; the delay of the attempt counts."""
    _log_unsent(notice, error)
    with backends.database.transaction(notice.workspace_id) as connection:
        notices.wait_again(connection, notice, code=error.code)


def _log_unsent(notice: Notice, error: QueriesError) -> None:
    log.warning("notice_not_sent notice=%s code=%s", notice.communication_key, error.code)


def _begin(backends: Backends, notice: Notice) -> bool:
    """Begin an attempt; False if another pass has, or there must be none.

    A backend that is not idempotent by key is given the message once more, with the same
    Message-ID, when the answer to the last attempt was lost; not a third time.
    """
    is_repeated = notice.state == "sending" and not backends.communications.idempotent_by_key
    delay = delay_after(backends.settings.retry_delay, notice.attempts + 1)
    with backends.database.transaction(notice.workspace_id) as connection:
        # Who is being erased is waited for: from here on a message to them may be on its way.
        erasure.is_there(connection, notice.workspace_id, notice.person_id)
        begun = notices.begin(
            connection, notice, delay=delay, outcome_code=RESUBMITTED if is_repeated else None
        )
        if begun and is_repeated and notice.outcome_code == RESUBMITTED:
            _conclude(backends, connection, notice, state="uncertain", code=RESUBMITTED)
            return False
    return begun


def _conclude(
    backends: Backends,
    connection: Connection,
    notice: Notice,
    *,
    state: str,
    code: str | None,
    message_id: str | None = None,
) -> None:
    notices.conclude(
        connection, notice, state=state, code=code, message_id=message_id, at=backends.clock()
    )


def _message(
    backends: Backends, connection: Connection, notice: Notice, person: Person, address: str
) -> Message:
    workspace = workspaces.get(connection, notice.workspace_id)
    occurrence = occurrences.get(connection, notice.workspace_id, notice.occurrence_key)
    # Foreign keys keep either from being gone.
    schedule = occurrence and schedules.label_of(
        connection, notice.workspace_id, occurrence.schedule_id
    )
    if workspace is None or occurrence is None or not schedule:
        raise QueriesError("What the notice is about is gone.", code=GONE)
    subject, text, html = compose_notice(
        NoticeFacts(
            kind=notice.kind,
            workspace_title=workspace.title,
            schedule_title=schedule.title,
            schedule_name=schedule.name,
            recipient_name=person.title,
            zone=_zone_shown(schedule.time_zone),
            slot=occurrence.slot,
            code=notice.code,
            reason=notice.reason,
            streak=notice.streak,
        )
    )
    return Message(
        communication_key=notice.communication_key,
        recipient_name=person.title,
        recipient_address=address,
        subject=subject,
        text=text,
        html=html,
        message_id=message_id_of(backends, notice.communication_key),
    )


def _zone_shown(name: str) -> str:
    """Return the zone in which a slot is told: UTC where the schedule's cannot be read."""
    try:
        zone(name)
    except UnknownTimeZone:
        return "UTC"
    return name
