"""WF-PFM-QRY-006, hop 6: a five-minute link for the requester or a schedule authority."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from queries_orchestration.exports.download_link import (
    DownloadLink,
    give_link,
)
from queries_orchestration.exports.export_file import ExportFile, find_file
from queries_orchestration.exports.open_source import open_file_source
from queries_orchestration.model.access import ADMINISTRATOR
from queries_orchestration.model.audit import By
from queries_orchestration.model.clock import Clock
from queries_orchestration.model.errors import NotFound, PermanentError
from queries_orchestration.storage.interface import Storage
from queries_orchestration.store import people
from queries_orchestration.store.database import Database


def download(
    database: Database,
    storage: Storage,
    *,
    clock: Clock,
    environment: Mapping[str, str],
    workspace_id: str,
    by: By,
    export_id: str,
) -> DownloadLink:
    """Return a link to a ready, unexpired file, and record the download.

    An interactive export's file is its requester's; a delivery's is the schedule authority's. Who
    it is must be able to open the source now. The person is of the workspace, or of none.

    Args:
        environment: where the connection's URL variable is looked up.
        by: who asks, a person.
        export_id: any text.

    Raises:
        NotFound: there is no such export, or it is not this person's: always the same answer.
        AccessLost, FieldNotAvailable, SourceGone, SourceBroken, InvalidRuntimeValue: the requester
            can no longer open the source.
        Refused: told to those entitled: ``not_ready``, ``export_failed``, ``cancelled``,
            ``file_expired`` or ``file_gone``. No person asks (``person_required``).
        SourceUnavailable, StorageUnavailable, StoreUnavailable: try again later.
    """
    person_id = by.as_person()
    with database.read(workspace_id) as connection:
        file = find_file(connection, workspace_id, export_id)
        if file is None:
            raise _not_found()
        _check_entitled(connection, file, person_id, environment)
    at = clock()
    return give_link(
        database,
        storage,
        file.ready(at=at),
        by=by,
        occurrence_key=None,
        record=True,
        at=at,
    )


def _check_entitled(
    connection: Connection, file: ExportFile, person_id: str, environment: Mapping[str, str]
) -> None:
    is_requester = file.schedule is None and person_id == file.export.actor_id
    if not is_requester and not _governs(connection, file, person_id):
        raise _not_found()
    try:
        open_file_source(connection, file, actor_id=person_id, environment=environment)
    except PermanentError as error:
        if not is_requester:
            raise _not_found() from None
        # A source that is gone or broken is told apart from an access that was lost.
        raise type(error)(
            f"You can no longer open the source of this file. {error.message}", code=error.code
        ) from error


def _governs(connection: Connection, file: ExportFile, person_id: str) -> bool:
    """Whether the person is the schedule's owner now, or an administrator."""
    if file.schedule is None:
        return False
    person = people.get(connection, file.schedule.workspace_id, person_id)
    return person is not None and (
        person.id == file.schedule.owner_id or ADMINISTRATOR in person.roles
    )


def _not_found() -> NotFound:
    return NotFound("There is no such export, or it is not yours to download.")
