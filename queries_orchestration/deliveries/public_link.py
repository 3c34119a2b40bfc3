"""WF-PFM-QRY-006, its branch: a recipient's personal link is opened, without a login.

The token says which link it is. Whether it may be used is looked up at every click: its person
is still active and still a recipient, and the file is there.
"""

from __future__ import annotations

from sqlalchemy import Connection

from queries_orchestration.deliveries.personal_link import link_of
from queries_orchestration.exports.download_link import (
    DownloadLink,
    give_link,
)
from queries_orchestration.exports.export_file import ExportFile, find_file
from queries_orchestration.model.errors import LinkRefused, Refused
from queries_orchestration.model.links import DeliveryLink, verify
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import deliveries, people, schedules


def open_public_link(backends: Backends, token: str, *, record: bool) -> DownloadLink:
    """Return a five-minute link to the file that a personal link's ``token`` stands for.

    Opening it uses nothing up: mail scanners open links before people do.

    Args:
        record: write the download down: True for a GET, False for a HEAD.

    Raises:
        LinkRefused: whatever is wrong with the link, its person or its file; always the same
            answer.
        StorageUnavailable, StoreUnavailable: try again later.
    """
    now = backends.clock()
    link = verify(backends.link_keys, token, now=now)
    with backends.database.read() as connection:
        file = find_file(connection, link.workspace_id, link.export_id)
        if file is None or not _may_open(connection, file, link):
            raise LinkRefused
    try:
        return give_link(
            backends.database,
            backends.storage,
            file,
            person_id=link.person_id,
            occurrence_key=link.occurrence_key,
            record=record,
            at=now,
        )
    except Refused:
        raise LinkRefused from None


def _may_open(connection: Connection, file: ExportFile, link: DeliveryLink) -> bool:
    """Whether it is the link of a delivery that was made, to somebody who is still to have it."""
    workspace_id = link.workspace_id
    if file.schedule is None or file.occurrence is None:
        return False
    person = people.get(connection, workspace_id, link.person_id)
    present = schedules.recipients(connection, workspace_id, file.schedule.id)
    if person is None or not person.active or person.id not in present:
        return False
    delivery = deliveries.get(connection, workspace_id, file.occurrence.key, person.id)
    return (
        delivery is not None
        and delivery.state in ("sending", "sent", "uncertain")
        and link_of(delivery, file.export.id) == link
    )
