"""Standard output gets all of a file, or the person hears of it."""

from __future__ import annotations

import io
import sys
from types import SimpleNamespace

import pytest

from queries_orchestration.cli.save_file import STANDARD_OUTPUT, NotSaved, save


class Unbuffered(io.RawIOBase):
    """Takes a few bytes a write, as a pipe does when Python does not buffer."""

    def __init__(self, most: int) -> None:
        self.taken = b""
        self._most = most

    def writable(self) -> bool:
        return True

    def write(self, data: object, /) -> int:
        taken = bytes(data)[:7]  # type: ignore[call-overload]
        if len(self.taken) + len(taken) > self._most:
            raise OSError(28, "No space left on device")
        self.taken += taken
        return len(taken)


def test_a_write_that_takes_a_part_is_followed_by_others(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Unbuffered(1_000_000)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    save(io.BytesIO(b"0123456789" * 1000), STANDARD_OUTPUT, force=False)
    assert out.taken == b"0123456789" * 1000


def test_a_full_disk_behind_standard_output_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=Unbuffered(100)))
    with pytest.raises(NotSaved, match="No space left"):
        save(io.BytesIO(b"x" * 1000), STANDARD_OUTPUT, force=False)


def test_a_closed_standard_output_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(NotSaved, match="cannot be written"):
        save(io.BytesIO(b"x"), STANDARD_OUTPUT, force=False)
