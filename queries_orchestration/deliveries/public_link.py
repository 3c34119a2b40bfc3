"""WF-PFM-QRY-006, its branch: a recipient's personal link is opened, without a login.

The token says which link it is. Whether it may be used is looked up at every click: whose it is is
still active and still a recipient, directly or by a group, and the file is there.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from sqlalchemy import Connection

from queries_orchestration.deliveries.recipients import is_recipient
from queries_orchestration.exports.download_link import DownloadLink, give_link
from queries_orchestration.exports.export_file import name_of_day
from queries_orchestration.exports.ready_file import ReadyFile
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.errors import AccessLost, LinkRefused, Refused
from queries_orchestration.model.links import DeliveryLink, verify
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import clicks
from queries_orchestration.store.clicks import Click
from queries_orchestration.store.refusals import record_refusal

_MAY_HAVE_ARRIVED: Final = ("sending", "sent", "uncertain")


def open_public_link(backends: Backends, token: str, *, record: bool) -> DownloadLink:
    """Return a five-minute link to the file that a personal link's ``token`` stands for.

    Raises:
        LinkRefused, StorageUnavailable, StoreUnavailable: as :func:`open_link`.
    """
    return open_link(backends, link_of_token(backends, token), record=record)


def link_of_token(backends: Backends, token: str) -> DeliveryLink:
    """Return which link a token is; this asks neither the database nor the storage.

    Raises:
        LinkRefused: it is none of ours, was changed or has ended.
    """
    return verify(backends.link_keys, token, now=backends.clock())


def open_link(backends: Backends, link: DeliveryLink, *, record: bool) -> DownloadLink:
    """Return a five-minute link to the file of a link, for whoever holds its token.

    Opening it uses nothing up: mail scanners open links before people do.

    Args:
        record: write the download down, or that a recipient of then has lost access: True for a
            GET, False for a HEAD.

    Raises:
        LinkRefused: whatever is wrong with the link, its recipient or its file; always the same
            answer.
        StorageUnavailable, StoreUnavailable: try again later.
    """
    now = backends.clock()
    with backends.database.glance(link.workspace_id) as connection:
        click = clicks.find(
            connection,
            link.workspace_id,
            occurrence_key=link.occurrence_key,
            export_id=link.export_id,
            recipient_id=link.recipient_id,
        )
        if click is None or not _is_of(click, link):
            raise LinkRefused
        is_for = _is_for(connection, click, link)
    by = By(via="link", person_id=click.person_id, outside_id=click.outside_id)
    if not is_for:
        if record:
            record_refusal(
                backends.database,
                link.workspace_id,
                by=by,
                attempted="file_downloaded",
                subject=Subject("export", link.export_id),
                code=AccessLost.code,
                clock=backends.clock,
            )
        raise LinkRefused
    try:
        return give_link(
            backends.database,
            backends.storage,
            _file_of(click, link, at=now),
            by=by,
            occurrence_key=link.occurrence_key,
            record=record,
            at=now,
        )
    except Refused:
        raise LinkRefused from None


def _is_of(click: Click, link: DeliveryLink) -> bool:
    """Whether it is the link that the delivery was sent with, or may have been."""
    return click.state in _MAY_HAVE_ARRIVED and (
        click.link_token_id,
        click.link_key_id,
        click.link_issued_at,
        click.link_expires_at,
    ) == (link.token_id, link.key_id, link.issued_at, link.expires_at)


def _is_for(connection: Connection, click: Click, link: DeliveryLink) -> bool:
    """Whether its recipient is still to have it."""
    if click.purpose == "test":
        return bool(click.person_active) and click.person_id == click.requested_by
    if click.person_id is not None:
        return bool(click.person_active) and click.is_named
    return is_recipient(connection, link.workspace_id, click.schedule_id, link.recipient_id)


def _file_of(click: Click, link: DeliveryLink, *, at: datetime) -> ReadyFile:
    if (
        click.export_state != "ready"
        or click.file_expires_at is None
        or at >= click.file_expires_at
    ):
        raise LinkRefused
    return ReadyFile(
        workspace_id=link.workspace_id,
        export_id=link.export_id,
        storage_key=click.storage_key,
        size=click.size,
        format=click.format,
        file_name=name_of_day(
            click.schedule_title,
            click.slot or click.admitted_at,
            time_zone=click.time_zone,
            file_format=click.format,
        ),
        expires_at=click.file_expires_at,
        again="",  # nobody is told more than that the link does not work
    )
