"""The message of one delivery: what it tells, its personal link, and how to unsubscribe."""

from __future__ import annotations

from queries_orchestration.communications.compose import MessageFacts, compose
from queries_orchestration.communications.email_message import parse_sender
from queries_orchestration.communications.interface import (
    Message,
    message_id,
    unsubscribe_headers,
)
from queries_orchestration.deliveries.personal_link import link_of
from queries_orchestration.deliveries.resolve import Assignment
from queries_orchestration.model import links, unsubscribe_links
from queries_orchestration.model.links import DeliveryLink
from queries_orchestration.model.public_url import message_domain
from queries_orchestration.model.unsubscribe_links import UNSUBSCRIBE_LIFETIME, UnsubscribeLink
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import occurrences
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.exports import Export


def message_of(
    backends: Backends,
    export: Export,
    assignment: Assignment,
    delivery: Delivery,
    *,
    name: str,
    address: str,
) -> tuple[Message, tuple[str, ...]]:
    """Return the message, and the parts whose own template could not be used.

    Links and Message-ID are the same every time.

    Args:
        name: of the recipient, or "".
        address: where the message goes.
    """
    workspace, schedule = assignment.workspace, assignment.schedule
    occurrence, settings = assignment.occurrence, backends.settings
    link = link_of(delivery, export.id)
    unsubscribe = unsubscribe_links.unsubscribe_url(
        settings.public_url,
        unsubscribe_links.sign(backends.link_keys, _unsubscribe_link(link, schedule.id)),
    )
    composed = compose(
        MessageFacts(
            workspace_title=workspace.title,
            schedule_title=f"Test: {schedule.title}"
            if occurrence.purpose == "test"
            else schedule.title,
            source_title=assignment.source.title,
            source_kind=assignment.source.kind,
            recipient_name=name,
            zone=export.time_zone,
            slot=assignment.origin.slot,
            sent_at=backends.clock(),
            rows=export.rows if assignment.source.kind == "query" else None,
            size_bytes=export.size or 0,
            format=export.format,
            link_url=links.link_url(settings.public_url, links.sign(backends.link_keys, link)),
            link_expires_at=link.expires_at,
            unsubscribe_url=unsubscribe,
            source_changed=occurrence.source_changed,
            missed_slots=_missed_slots(backends, assignment),
            replaced_characters=export.replaced_characters or 0,
            cut_cells=export.cut_cells or 0,
            cut_sections=export.cut_sections or 0,
        ),
        workspace.messages or {},
    )
    message = Message(
        communication_key=delivery.communication_key,
        recipient_name=name,
        recipient_address=address,
        sender_name=composed.sender_name,
        subject=composed.subject,
        text=composed.text,
        html=composed.html,
        # That of the first submission, also if our address has changed since.
        message_id=delivery.message_id or message_id_of(backends, delivery.communication_key),
        headers=unsubscribe_headers(unsubscribe),
    )
    return message, composed.failed_parts


def message_id_of(backends: Backends, communication_key: str) -> str:
    """Return the Message-ID of a communication key, at our own address."""
    settings = backends.settings
    sender = parse_sender(settings.from_address)
    return message_id(communication_key, message_domain(settings.public_url, sender.domain))


def _unsubscribe_link(link: DeliveryLink, schedule_id: str) -> UnsubscribeLink:
    return UnsubscribeLink(
        key_id=link.key_id,
        workspace_id=link.workspace_id,
        schedule_id=schedule_id,
        recipient_id=link.recipient_id,
        expires_at=link.issued_at + UNSUBSCRIBE_LIFETIME,
    )


def _missed_slots(backends: Backends, assignment: Assignment) -> int:
    """Return how many slots right before this one nobody got anything for."""
    occurrence = assignment.occurrence
    if occurrence.slot is None:
        return 0
    with backends.database.read(occurrence.workspace_id) as connection:
        return occurrences.missed_since_the_last(
            connection, occurrence.workspace_id, occurrence.schedule_id, before=occurrence.slot
        )
