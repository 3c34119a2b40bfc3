from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from queries_orchestration.model.errors import (
    InvalidSettings,
    LinkRefused,
    Refused,
    StorageUnavailable,
    UploadGone,
)
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.interface import PartReceipt
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration_tests.storage.files import LINK_KEYS, PUBLIC_URL, open_files

KEY = "a/b.csv"
NOW = datetime(2027, 1, 4, 7, tzinfo=UTC)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "files"


@pytest.fixture
def storage(root: Path) -> LocalStorage:
    return open_files(root)


def files(root: Path) -> list[str]:
    return sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())


def token_for(storage: LocalStorage) -> str:
    url = storage.link(
        KEY, file_name="b.csv", content_type="text/csv", expires_at=NOW + timedelta(minutes=5)
    )
    return url.removeprefix(f"{PUBLIC_URL}/files/")


def put(storage: LocalStorage, data: bytes) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    storage.complete_upload(KEY, upload_id, [storage.upload_part(KEY, upload_id, 1, data)])


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """A real limit of the operating system, as a full disk would be."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_files_and_folders_are_ours_alone(storage: LocalStorage, root: Path) -> None:
    put(storage, b"x")
    storage.begin_upload("c/d.csv", "text/csv")
    modes = {
        stat.S_IMODE(path.stat().st_mode) for path in [root, *root.rglob("*")] if path.is_dir()
    }
    assert modes == {0o700}
    assert {stat.S_IMODE((root / name).stat().st_mode) for name in files(root)} == {0o600}


def test_a_completed_file_leaves_no_temporary_file(storage: LocalStorage, root: Path) -> None:
    put(storage, b"x")
    assert files(root) == [KEY]
    assert storage.location(KEY) == str(root / KEY)


def test_a_killed_worker_leaves_an_upload_that_is_found_and_aborted(
    storage: LocalStorage, root: Path
) -> None:
    script = f"""
import os, signal
from pathlib import Path
from queries_orchestration.storage.multipart import MultipartWriter
from queries_orchestration_tests.storage.files import open_files
storage = open_files(Path({str(root)!r}))
upload_id = storage.begin_upload({KEY!r}, "text/csv")
print(upload_id, flush=True)
writer = MultipartWriter(storage, {KEY!r}, upload_id, part_bytes=10)
writer.write(b"x" * 25)
os.kill(os.getpid(), signal.SIGKILL)
"""
    worker = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert worker.returncode == -signal.SIGKILL
    upload_id = worker.stdout.strip()
    assert storage.size(KEY) is None
    assert [upload[:2] for upload in storage.open_uploads("a/")] == [(KEY, upload_id)]
    storage.abort_upload(KEY, upload_id)
    assert storage.open_uploads("") == []
    assert files(root) == []


def test_a_part_that_did_not_fit_is_taken_back_and_can_be_sent_again(
    storage: LocalStorage, root: Path
) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    first = storage.upload_part(KEY, upload_id, 1, b"a" * 50)
    with files_no_larger_than(80), pytest.raises(StorageUnavailable) as full:
        storage.upload_part(KEY, upload_id, 2, b"b" * 50)
    assert "part 2 of a/b.csv" in full.value.message
    assert "EFBIG" in full.value.message
    assert "QUERIES_STORAGE_URL" in full.value.message
    assert str(root) not in full.value.message
    second = storage.upload_part(KEY, upload_id, 2, b"b" * 50)
    storage.complete_upload(KEY, upload_id, [first, second])
    assert (root / KEY).read_bytes() == b"a" * 50 + b"b" * 50


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_says_to_free_some_space(storage: LocalStorage, root: Path) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    (temporary,) = (root / ".uploads").iterdir()
    temporary.unlink()
    temporary.symlink_to("/dev/full")
    with pytest.raises(StorageUnavailable, match=r"ENOSPC.*free some space"):
        storage.upload_part(KEY, upload_id, 1, b"x")


def test_a_root_that_is_no_folder_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    storage = open_files(tmp_path / "file" / "deeper")
    with pytest.raises(StorageUnavailable, match="is not a folder"):
        storage.begin_upload(KEY, "text/csv")


@pytest.mark.parametrize("change", ["order", "gap", "twice", "short", "none"])
def test_parts_that_do_not_make_up_the_file_are_not_completed(
    storage: LocalStorage, root: Path, change: str
) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    one = storage.upload_part(KEY, upload_id, 1, b"ab")
    two = storage.upload_part(KEY, upload_id, 2, b"cd")
    parts: dict[str, list[PartReceipt]] = {
        "order": [two, one],
        "gap": [two],
        "twice": [one, one, two],
        "short": [one],
        "none": [],
    }
    with pytest.raises(StorageUnavailable, match="make the file again"):
        storage.complete_upload(KEY, upload_id, parts[change])
    assert storage.size(KEY) is None
    storage.complete_upload(KEY, upload_id, [one, two])
    assert (root / KEY).read_bytes() == b"abcd"


def test_a_part_sent_before_its_predecessor_is_noticed(storage: LocalStorage) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    two = storage.upload_part(KEY, upload_id, 2, b"cd")
    one = storage.upload_part(KEY, upload_id, 1, b"ab")
    with pytest.raises(StorageUnavailable, match="out of order"):
        storage.complete_upload(KEY, upload_id, [one, two])


def test_an_abort_in_the_middle_of_a_completion_wins(
    storage: LocalStorage, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(storage, b"before")
    upload_id = storage.begin_upload(KEY, "text/csv")
    part = storage.upload_part(KEY, upload_id, 1, b"late")
    monkeypatch.setattr(os, "fsync", lambda _: storage.abort_upload(KEY, upload_id))
    with pytest.raises(UploadGone):
        storage.complete_upload(KEY, upload_id, [part])
    assert (root / KEY).read_bytes() == b"before"
    assert files(root) == [KEY]


def test_an_upload_belongs_to_its_key(storage: LocalStorage) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    part = storage.upload_part(KEY, upload_id, 1, b"x")
    with pytest.raises(UploadGone):
        storage.complete_upload("another", upload_id, [part])
    assert storage.size("another") is None
    assert [upload[:2] for upload in storage.open_uploads("")] == [(KEY, upload_id)]


@pytest.mark.parametrize("upload_id", ["", "../../x", "0" * 31, "0" * 33, "G" * 32])
def test_an_upload_id_that_is_not_ours_is_refused(storage: LocalStorage, upload_id: str) -> None:
    with pytest.raises(Refused, match="not one of ours"):
        storage.abort_upload(KEY, upload_id)


def test_strange_files_in_the_uploads_folder_are_no_uploads(
    storage: LocalStorage, root: Path
) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    (root / ".uploads" / ".nfs0001").write_bytes(b"")
    assert [upload[:2] for upload in storage.open_uploads("")] == [(KEY, upload_id)]


def test_a_folder_is_no_file(storage: LocalStorage) -> None:
    put(storage, b"x")
    assert storage.size("a") is None


def test_a_url_may_hold_escaped_characters(tmp_path: Path) -> None:
    folder = tmp_path / "a folder é"
    assert open_files(folder).location(KEY) == os.fspath(folder / KEY)


@pytest.mark.parametrize(
    "url",
    ["", "/a/b", "file:", "file:a/b", "file://host/a", "file:///a?b=c", "ftp://me:secret@host/x"],
)
def test_a_url_that_names_no_storage_is_refused_without_telling_its_secrets(url: str) -> None:
    with pytest.raises(InvalidSettings, match=r"QUERIES_STORAGE_URL.*file:///") as refused:
        open_storage(url, public_url=PUBLIC_URL, link_keys=LINK_KEYS)
    assert "secret" not in refused.value.message


def test_a_link_ends_at_its_expiry_by_the_given_clock(storage: LocalStorage) -> None:
    put(storage, b"x")
    token = token_for(storage)
    storage.redeem(token, now=NOW + timedelta(minutes=5, seconds=-1)).stream.close()
    with pytest.raises(LinkRefused):
        storage.redeem(token, now=NOW + timedelta(minutes=5))


def test_a_link_lives_over_a_change_of_keys_until_its_own_is_taken_out(root: Path) -> None:
    before, during, after = (
        open_files(root, LinkKeys.parse(keys))
        for keys in (f"k1:{'a' * 40}", f"k2:{'b' * 40},k1:{'a' * 40}", f"k2:{'b' * 40}")
    )
    put(before, b"x")
    token = token_for(before)
    during.redeem(token, now=NOW).stream.close()
    with pytest.raises(LinkRefused):
        after.redeem(token, now=NOW)


def test_a_redeemed_file_stays_whole_when_it_is_removed_or_replaced(storage: LocalStorage) -> None:
    put(storage, b"the first")
    redeemed = storage.redeem(token_for(storage), now=NOW)
    put(storage, b"the second, longer")
    storage.delete(KEY)
    with redeemed.stream as stream:
        assert (stream.read(), redeemed.size) == (b"the first", 9)


def test_a_link_to_a_folder_is_refused(storage: LocalStorage, root: Path) -> None:
    (root / KEY).mkdir(parents=True)
    with pytest.raises(LinkRefused):
        storage.redeem(token_for(storage), now=NOW)


def test_a_file_that_may_not_be_read_is_no_refusal_of_its_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    storage = open_files(tmp_path / "file")
    with pytest.raises(StorageUnavailable, match="is not a folder"):
        storage.redeem(token_for(storage), now=NOW)
