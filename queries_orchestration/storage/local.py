"""Files in a local folder; the folder is one file system, so that a file appears in one step.

An upload is a temporary file under ``.uploads``, to which parts are appended; completing it
renames it to its key. Aborting removes it, so a late worker finds nothing to write to.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from queries_orchestration.model import storage_links
from queries_orchestration.model.errors import (
    LinkRefused,
    NotFound,
    Refused,
    StorageUnavailable,
    UploadGone,
)
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.storage_links import StorageLink
from queries_orchestration.storage.interface import (
    OpenUpload,
    PartReceipt,
    RedeemedFile,
    StoredFile,
    check_key,
    check_prefix,
    is_key,
)

_UPLOADS = ".uploads"  # no key starts with a dot
_UPLOAD_ID = re.compile("[0-9a-f]{32}")
_UPLOAD_FILE = re.compile(r"([0-9a-f]{32})\+(.+)")

_WHAT_TO_DO = {
    errno.ENOSPC: "its disk is full: free some space",
    errno.EDQUOT: "its disk quota is used up: free some space",
    errno.EFBIG: "the file is larger than its disk or our limits (ulimit -f) allow",
    errno.EACCES: "we have no right to it: check owner and mode",
    errno.EPERM: "we have no right to it: check owner and mode",
    errno.EROFS: "it is mounted read-only: mount it writable",
    errno.ENOTDIR: "it, or something on the way to it, is not a folder",
    errno.EMFILE: "too many files are open (ulimit -n)",
}


class LocalStorage:
    """The storage of one machine, or of several that share the folder.

    Args:
        root: absolute path; made when first needed, readable by us alone.
        public_url: root of the site that serves the links, which :meth:`redeem` opens.
        link_keys: sign the links.
    """

    parts_at_once = 1
    """Parts are appended, so they come in the order of the file."""

    def __init__(self, root: Path, *, public_url: str, link_keys: LinkKeys) -> None:
        self._root = root
        self._public_url = public_url
        self._link_keys = link_keys
        self._uploads = root / _UPLOADS

    def begin_upload(self, key: str, content_type: str) -> str:  # noqa: ARG002 - files have none
        upload_id = uuid4().hex
        path = self._upload(key, upload_id)
        with _as_ours(f"beginning the upload of {key}"):
            self._make_folder(self._uploads)
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return upload_id

    def upload_part(
        self, key: str, upload_id: str, number: int, data: bytes | bytearray
    ) -> PartReceipt:
        with _as_ours(f"writing part {number} of {key}"), self._opened(key, upload_id) as file:
            start = os.fstat(file).st_size
            try:
                _write_all(file, data)
                _bring_to_disk(file)
            except OSError as error:
                _take_back(file, start, error)
                raise
        return PartReceipt(number=number, size=len(data), tag=str(start))

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        path, final = self._upload(key, upload_id), self._path(key)
        with _as_ours(f"completing {key}"):
            with self._opened(key, upload_id) as file:
                _check_parts(key, parts, os.fstat(file).st_size)
                os.fsync(file)
            self._make_folder(final.parent)
            try:
                path.replace(final)
            except FileNotFoundError as error:
                raise _gone(key) from error
            _sync_folder(final.parent)

    def abort_upload(self, key: str, upload_id: str) -> None:
        with _as_ours(f"aborting the upload of {key}"):
            self._upload(key, upload_id).unlink(missing_ok=True)

    def size(self, key: str) -> int | None:
        with _as_ours(f"looking for {key}"):
            try:
                found = self._path(key).stat()
            except FileNotFoundError:
                return None
        return found.st_size if stat.S_ISREG(found.st_mode) else None

    def open(self, key: str) -> BinaryIO:
        with _as_ours(f"opening {key}"):
            try:
                return self._path(key).open("rb")
            except (FileNotFoundError, IsADirectoryError) as error:
                raise NotFound(f"storage has no file {key}: it was removed or not made") from error

    def delete(self, key: str) -> None:
        with _as_ours(f"removing {key}"):
            self._path(key).unlink(missing_ok=True)

    def files(self, prefix: str) -> Iterator[StoredFile]:
        # The folder that all such files are in, and below it.
        start = self._root / check_prefix(prefix).rpartition("/")[0]
        for folder, _, names in os.walk(start, onerror=_not_listed):
            for name in names:
                path = Path(folder, name)
                key = path.relative_to(self._root).as_posix()
                if not is_key(key) or not key.startswith(prefix):  # uploads are none
                    continue
                with _as_ours(f"looking for {key}"):
                    changed_at = _changed_at(path)
                if changed_at is not None:
                    yield StoredFile(key, changed_at)

    def open_uploads(self, prefix: str) -> list[OpenUpload]:
        check_prefix(prefix)
        found = []
        with _as_ours("listing the open uploads"):
            try:
                names = os.listdir(self._uploads)
            except FileNotFoundError:
                return []
            for name in names:
                if match := _UPLOAD_FILE.fullmatch(name):
                    upload_id, key = match[1], match[2].replace("+", "/")
                    grew_at = _changed_at(self._uploads / name)
                    if key.startswith(prefix) and grew_at is not None:
                        found.append(OpenUpload(key, upload_id, grew_at))
        return sorted(found)

    def link(self, key: str, *, file_name: str, content_type: str, expires_at: datetime) -> str:
        link = StorageLink(
            key=check_key(key),
            file_name=file_name,
            content_type=content_type,
            expires_at=expires_at,
        )
        token = storage_links.sign(self._link_keys, link)
        return storage_links.link_url(self._public_url, token)

    def redeem(self, token: str, *, now: datetime) -> RedeemedFile:
        """Open the file that a link of ours gives at ``now`` (aware).

        Raises:
            LinkRefused: the token is none of ours, was changed or has ended, or the file is gone;
                the same answer whatever it is.
        """
        link = storage_links.verify(self._link_keys, token, now=now)
        try:
            stream = self.open(link.key)
        except NotFound:
            raise LinkRefused from None
        return RedeemedFile(
            stream=stream,
            file_name=link.file_name,
            content_type=link.content_type,
            size=os.fstat(stream.fileno()).st_size,
        )

    def location(self, key: str) -> str:
        return str(self._path(key))

    def _path(self, key: str) -> Path:
        return self._root / check_key(key)

    def _upload(self, key: str, upload_id: str) -> Path:
        """The name of a temporary file holds its key, for the sweep."""
        if not _UPLOAD_ID.fullmatch(upload_id):
            raise Refused(f"upload id of {key}: not one of ours", code="invalid_key")
        return self._uploads / f"{upload_id}+{check_key(key).replace('/', '+')}"

    @contextmanager
    def _opened(self, key: str, upload_id: str) -> Iterator[int]:
        try:
            file = os.open(self._upload(key, upload_id), os.O_WRONLY | os.O_APPEND)
        except FileNotFoundError as error:
            raise _gone(key) from error
        try:
            yield file
        finally:
            os.close(file)

    def _make_folder(self, folder: Path) -> None:
        """Make a folder of ours and those above it, private and durable."""
        if folder.is_dir():
            return
        if folder == self._root:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        else:
            self._make_folder(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
        _sync_folder(folder.parent)


def _changed_at(file: Path) -> datetime | None:
    """Return when a file was written last; None if it was taken away meanwhile."""
    try:
        return datetime.fromtimestamp(file.stat().st_mtime, UTC)
    except FileNotFoundError:
        return None


def _not_listed(error: OSError) -> None:
    """Let a folder that cannot be read be told, else its files would seem to be gone."""
    if not isinstance(error, FileNotFoundError):
        with _as_ours("listing the files"):
            raise error


def _check_parts(key: str, parts: Sequence[PartReceipt], size: int) -> None:
    """Parts follow each other without a gap and make up the whole file."""
    end = 0
    for number, part in enumerate(parts, start=1):
        if (part.number, part.tag) != (number, str(end)):
            raise StorageUnavailable(f"the parts of {key} are out of order: make the file again")
        end += part.size
    if not parts or end != size:
        raise StorageUnavailable(
            f"{key} has {size} bytes in storage, its parts {end}: make the file again"
        )


def _write_all(file: int, data: bytes | bytearray) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _bring_to_disk(file: int) -> None:
    """Wait until the disk has a part, while the next is made; and leave the memory to others.

    A large file would else push all that is in use out of the system's cache.
    """
    os.fsync(file)
    if hasattr(os, "posix_fadvise"):  # Linux
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)


def _take_back(file: int, size: int, error: OSError) -> None:
    """Cut off what was written of a part, so that it can be sent again."""
    try:
        os.ftruncate(file, size)
    except OSError as second:
        # The part's place in the file is now wrong, which completing the upload refuses.
        error.add_note(f"the half-written part stays in the upload: {second.strerror}")


def _sync_folder(folder: Path) -> None:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def _gone(key: str) -> UploadGone:
    return UploadGone(f"the upload of {key} was aborted or completed by somebody else")


@contextmanager
def _as_ours(doing: str) -> Iterator[None]:
    """Raise what the operating system says as our error, with what a person can do."""
    try:
        yield
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, "unknown error")
        what_to_do = _WHAT_TO_DO.get(error.errno or 0, "check the folder and its disk")
        raise StorageUnavailable(
            f"{doing} failed ({name}) in the folder of QUERIES_STORAGE_URL: {what_to_do}"
        ) from error
