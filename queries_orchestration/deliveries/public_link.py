"""WF-PFM-QRY-006, its branch: a recipient's personal link is opened, without a login.

The token says which link it is. Whether it may be used is looked up at every click: whose it is is
still active and still a recipient, directly or by a group, and the file is there.
"""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.deliveries.personal_link import link_of
from queries_orchestration.deliveries.recipients import is_recipient
from queries_orchestration.exports.download_link import (
    DownloadLink,
    give_link,
)
from queries_orchestration.exports.export_file import ExportFile, find_file
from queries_orchestration.model.audit import By
from queries_orchestration.model.errors import LinkRefused, Refused
from queries_orchestration.model.links import DeliveryLink, verify
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import deliveries, occurrences, people
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.occurrences import Occurrence


def open_public_link(backends: Backends, token: str, *, record: bool) -> DownloadLink:
    """Return a five-minute link to the file that a personal link's ``token`` stands for.

    Opening it uses nothing up: mail scanners open links before people do.

    Args:
        record: write the download down: True for a GET, False for a HEAD.

    Raises:
        LinkRefused: whatever is wrong with the link, its recipient or its file; always the same
            answer.
        StorageUnavailable, StoreUnavailable: try again later.
    """
    now = backends.clock()
    link = verify(backends.link_keys, token, now=now)
    with backends.database.read() as connection:
        file = find_file(connection, link.workspace_id, link.export_id)
        delivery = None if file is None else _delivery_of(connection, file, link)
        if file is None or delivery is None:
            raise LinkRefused
    try:
        return give_link(
            backends.database,
            backends.storage,
            file,
            by=By(via="link", person_id=delivery.person_id, outside_id=delivery.outside_id),
            occurrence_key=link.occurrence_key,
            record=record,
            at=now,
        )
    except Refused:
        raise LinkRefused from None


def _delivery_of(connection: Connection, file: ExportFile, link: DeliveryLink) -> Delivery | None:
    """Return the delivery whose link it is, if it was made to somebody who is still to have it."""
    workspace_id = link.workspace_id
    # A resend's link is of the resend, its file of the occurrence that it sends again.
    occurrence = occurrences.get(connection, workspace_id, link.occurrence_key)
    if occurrence is None or occurrence.export_id != file.export.id:
        return None
    if not _is_for(connection, occurrence, link.recipient_id):
        return None
    delivery = deliveries.get(connection, workspace_id, occurrence.key, link.recipient_id)
    if delivery is None or delivery.state not in ("sending", "sent", "uncertain"):
        return None
    return delivery if link_of(delivery, file.export.id) == link else None


def _is_for(connection: Connection, occurrence: Occurrence, recipient_id: str) -> bool:
    workspace_id = occurrence.workspace_id
    if occurrence.purpose == "test":
        person = people.get(connection, workspace_id, recipient_id)
        return person is not None and person.active and person.id == occurrence.requested_by
    return is_recipient(connection, workspace_id, occurrence.schedule_id, recipient_id)
