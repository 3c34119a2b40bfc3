"""A file appears whole or not at all, whatever the disk does."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from queries_orchestration.cli.save_file import FileDiffers, NotSaved, check_place, save
from queries_orchestration.model.errors import Refused, StorageUnavailable

CONTENT = b"0123456789" * 1_000


def test_other_bytes_than_those_recorded_make_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileDiffers, match="do not use it"):
        save(io.BytesIO(CONTENT), tmp_path / "x.csv", force=False, sha256="0" * 64)
    assert list(tmp_path.iterdir()) == []

    save(
        io.BytesIO(CONTENT),
        tmp_path / "x.csv",
        force=False,
        sha256=hashlib.sha256(CONTENT).hexdigest(),
    )
    assert (tmp_path / "x.csv").read_bytes() == CONTENT


def test_a_file_appears_under_its_name_with_the_rights_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    out = tmp_path / ("a" * 251 + ".csv")

    check_place(out, force=False)
    save(io.BytesIO(CONTENT), out, force=False)

    assert out.read_bytes() == CONTENT
    assert out.stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert len(list(tmp_path.iterdir())) == 2


def test_what_appears_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    check_place(out, force=False)
    out.write_text("mine")

    with pytest.raises(Refused, match="--force"):
        save(io.BytesIO(CONTENT), out, force=False)

    assert out.read_text() == "mine"
    assert list(tmp_path.iterdir()) == [out]


def test_a_broken_symbolic_link_is_something_that_is_there(tmp_path: Path) -> None:
    out = tmp_path / "x.csv"
    out.symlink_to(tmp_path / "nowhere")

    with pytest.raises(Refused):
        check_place(out, force=False)


def test_a_file_system_without_links_gets_its_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_path: Path, _out: Path) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    out = tmp_path / "x.csv"

    save(io.BytesIO(CONTENT), out, force=False)
    with pytest.raises(Refused):
        save(io.BytesIO(b""), out, force=False)

    assert out.read_bytes() == CONTENT
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("force", [False, True])
def test_a_disk_that_is_full_leaves_what_was_there(tmp_path: Path, force: bool) -> None:
    out = tmp_path / "x.csv"
    if force:
        out.write_text("mine")

    with _limit(len(CONTENT) // 2), pytest.raises(NotSaved, match=r"x\.csv cannot be written"):
        save(io.BytesIO(CONTENT), out, force=force)

    assert [file.read_text() for file in tmp_path.iterdir()] == ["mine"] * force


def test_a_storage_that_cannot_be_read_is_not_blamed_on_the_file(tmp_path: Path) -> None:
    class Broken(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            raise OSError(errno.EIO, "Input/output error")

    with pytest.raises(StorageUnavailable, match="Input/output error"):
        save(Broken(), tmp_path / "x.csv", force=False)

    assert list(tmp_path.iterdir()) == []


@contextmanager
def _limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond ``size`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_device_or_pipe_is_not_replaced_even_by_force(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, Path("/dev/null")):
        with pytest.raises(Refused) as refused:
            check_place(place, force=True)
        assert refused.value.code == "not_a_file"
    assert pipe.is_fifo()


def test_by_force_the_file_behind_a_link_is_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)

    save(io.BytesIO(b"new"), link, force=True)

    assert link.is_symlink()
    assert target.read_bytes() == b"new"
