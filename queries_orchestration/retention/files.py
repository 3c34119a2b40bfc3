"""Files whose time is over, uploads that nobody works on, and where files and rows do not match."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import islice
from typing import Final

from queries_orchestration.exports.expire import files_due, remove_files
from queries_orchestration.exports.sweep import abort, stale_uploads
from queries_orchestration.model.errors import StorageUnavailable
from queries_orchestration.model.ids import is_id
from queries_orchestration.retention import upkeep
from queries_orchestration.retention.found import SHOWN, Kind, Retaining
from queries_orchestration.storage.interface import StoredFile
from queries_orchestration.store import old_exports
from queries_orchestration.store.dispatchers import SWEEP

FILES_A_BATCH: Final = 500
FAULTS: Final = 50
"""What the storage does not remove, after which the rest of the kind is left to the next day."""
UNTIL_TOLD: Final = timedelta(days=1)
"""How old a file without a row is when it is told: a row that is written comes before its file."""
UNTIL_REMOVED: Final = timedelta(days=7)
"""How old it is when it is removed: time to see that a database is restored, or the wrong one."""

log = logging.getLogger(__name__)


def remove_expired(one: Retaining) -> None:
    """Remove the files whose time is over, as the dispatcher's pass does a part at a time."""
    if not one.do:
        one.add("expired_files", files_due(one.backends))
        return
    failed = list[str]()
    while len(failed) < FAULTS and one.goes_on("expired_files"):
        # Past those that storage does not remove, at which a pass gives up.
        removed, more = remove_files(one.backends, besides=failed, faults=FAULTS - len(failed))
        one.add("expired_files", removed)
        failed += more
        if not removed and not more:
            break
    _tell_faults("expired_files", failed)


def abort_uploads(one: Retaining) -> None:
    """Abort the uploads that nobody works on any more, all that the hourly sweep would."""
    stale = stale_uploads(one.backends)
    if not one.do:
        one.add("stale_uploads", len(stale), (upload.key for upload in stale))
        return
    failed = list[str]()
    for start in range(0, len(stale), FILES_A_BATCH):
        if len(failed) >= FAULTS or not one.goes_on("stale_uploads"):
            break
        some = stale[start : start + FILES_A_BATCH]
        aborted, more = abort(one.backends, some, faults=FAULTS - len(failed))
        one.add("stale_uploads", aborted)
        failed += more
    _tell_faults("stale_uploads", failed)
    # Where no job of Dagster sweeps, as with `queries tick` alone, this is the sweep.
    upkeep.end(one.backends, SWEEP, failed_with=None)


def _tell_faults(kind: Kind, failed: Sequence[str]) -> None:
    """Fail with what the storage did not do; each is in the log with the reason.

    Raises:
        StorageUnavailable: there is any.
    """
    if failed:
        raise StorageUnavailable(
            f"The storage did not remove {len(failed)} of the {kind} (`file_not_removed` and"
            f" `upload_not_aborted` in the log say why): {', '.join(failed[:SHOWN])}"
        )


def compare(one: Retaining, workspace_id: str) -> None:
    """Compare the files of a workspace with its rows.

    A file without a row is told after a day, and removed after a week if this removes anything. A
    file that should be there and is not is only told: nobody can bring it back.
    """
    with one.backends.database.read(workspace_id) as connection:
        # Asked first: what becomes ready while the files are listed is not looked for.
        missing = old_exports.ready(connection, workspace_id, at=one.at)
    waiting, failed = 0, list[str]()
    for some in _batches(one.backends.storage.files(f"{workspace_id}/")):
        if not one.goes_on("files_without_row"):
            one.found["rows_without_file"].is_whole = False
            return
        for file in some:
            missing.pop(file.key, None)
        waiting += _without_row(one, workspace_id, some, failed)
    if waiting:
        log.warning("file_without_row workspace=%s files=%d", workspace_id, waiting)
    for key, export_id in missing.items():
        if not one.goes_on("rows_without_file"):
            return
        if one.backends.storage.size(key) is None and _is_ready(one, workspace_id, key):
            one.add("rows_without_file", 1, [export_id])
            if one.found["rows_without_file"].count <= SHOWN:
                log.error("file_missing workspace=%s export=%s", workspace_id, export_id)
    _tell_faults("files_without_row", failed)


def _batches(files: Iterator[StoredFile]) -> Iterator[list[StoredFile]]:
    while some := list(islice(files, FILES_A_BATCH)):
        yield some


def _without_row(
    one: Retaining, workspace_id: str, files: list[StoredFile], failed: list[str]
) -> int:
    """Find, and remove if told so, the files without a row; returns how many are not to go yet.

    Args:
        failed: the keys of those that the storage did not remove, to be added to.
    """
    old = {
        export_id: file
        for file in files
        if one.at - file.changed_at > UNTIL_TOLD
        and (export_id := _export_of(workspace_id, file.key)) is not None
    }
    with one.backends.database.read(workspace_id) as connection:
        kept = old_exports.kept(connection, workspace_id, list(old))
    waiting = 0
    for export_id, file in old.items():
        if export_id in kept:
            continue
        if one.do and one.at - file.changed_at <= UNTIL_REMOVED:
            waiting += 1
            continue
        if one.do:
            if len(failed) >= FAULTS:
                continue
            try:
                one.backends.storage.delete(file.key)
            except StorageUnavailable as error:
                log.warning("file_not_removed export=%s reason=%s", export_id, error.message)
                failed.append(file.key)
                continue
            one.backends.reached("file without a row removed, not the next")
        one.add("files_without_row", 1, [file.key])
    return waiting


def _export_of(workspace_id: str, key: str) -> str | None:
    """Return the id of the export whose file is there; None if the key is not of our form."""
    place, _, name = key.partition("/")
    export_id, dot, _ = name.partition(".")
    return export_id if place == workspace_id and dot and is_id(export_id) else None


def _is_ready(one: Retaining, workspace_id: str, key: str) -> bool:
    with one.backends.database.read(workspace_id) as connection:
        return key in old_exports.ready(connection, workspace_id, at=one.backends.clock())
