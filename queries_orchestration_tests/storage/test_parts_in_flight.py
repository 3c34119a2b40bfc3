"""A part is uploaded while the next one is made: two at once, in order, and a failure is told."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from queries_orchestration.model.errors import StorageUnavailable
from queries_orchestration.storage.interface import PartReceipt, Storage
from queries_orchestration.storage.multipart import MultipartWriter
from queries_orchestration_tests.storage.files import Folder

KEY = "a/b.csv"


def begin(storage: Storage) -> MultipartWriter:
    return MultipartWriter(storage, KEY, storage.begin_upload(KEY, "text/csv"), 10)


def content(storage: Storage) -> bytes:
    with storage.open(KEY) as file:
        return file.read()


def assert_nothing_is_left(storage: Storage) -> None:
    assert storage.size(KEY) is None
    assert storage.open_uploads("") == []


class Held(Folder):
    """Takes two parts at once, keeps each waiting until it is let go, and can lose one."""

    parts_at_once = 2

    def __init__(self, root: Path, failing: dict[int, Exception] | None = None) -> None:
        super().__init__(root)
        self.events: list[str] = []
        self._failing = failing or {}
        self._changed = threading.Condition()
        self._let_go: set[int] = set()
        self._data: dict[int, bytes] = {}

    def upload_part(
        self, key: str, upload_id: str, number: int, data: bytes | bytearray
    ) -> PartReceipt:
        self._happened(f"begin {number}")
        with self._changed:
            assert self._changed.wait_for(lambda: number in self._let_go, 10)
            self._data[number] = bytes(data)
        self._happened(f"end {number}")
        if number in self._failing:
            raise self._failing[number]
        return PartReceipt(number=number, size=len(data), tag=f"tag {number}")

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        self.events.append(f"complete {[part.number for part in parts]}")
        whole = b"".join(self._data[part.number] for part in parts)
        super().complete_upload(key, upload_id, [super().upload_part(key, upload_id, 1, whole)])

    def abort_upload(self, key: str, upload_id: str) -> None:
        self.events.append("abort")
        super().abort_upload(key, upload_id)

    def let_go(self, *numbers: int) -> None:
        with self._changed:
            self._let_go.update(numbers)
            self._changed.notify_all()

    def wait_until(self, event: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: event in self.events, 10), self.events

    def _happened(self, event: str) -> None:
        with self._changed:
            self.events.append(event)
            self._changed.notify_all()


def test_two_parts_are_uploaded_while_the_next_is_made_and_a_third_waits(tmp_path: Path) -> None:
    storage = Held(tmp_path)
    with begin(storage) as writer, ThreadPoolExecutor() as other:
        writer.write(b"a" * 10)
        writer.write(b"b" * 10)
        writer.write(b"c" * 9)
        third = other.submit(writer.write, b"c")
        with pytest.raises(TimeoutError):
            third.result(timeout=0.1)
        assert "begin 3" not in storage.events
        storage.let_go(2)
        third.result(timeout=10)
        storage.wait_until("begin 3")
        storage.let_go(1, 3, 4)
        writer.write(b"d")
        writer.complete()
    assert storage.events.index("end 2") < storage.events.index("end 1")
    assert storage.events[-1] == "complete [1, 2, 3, 4]"
    assert content(storage) == b"a" * 10 + b"b" * 10 + b"c" * 10 + b"d"


@pytest.mark.parametrize("failing", [1, 2])
@pytest.mark.parametrize("error", [StorageUnavailable("the store is down"), RuntimeError("a bug")])
def test_a_part_that_fails_ends_the_file_at_the_next_call(
    tmp_path: Path, failing: int, error: Exception
) -> None:
    storage = Held(tmp_path, {failing: error})
    storage.let_go(1, 2)

    def export() -> None:
        with begin(storage) as writer:
            writer.write(b"x" * 20)
            storage.wait_until(f"end {failing}")
            wait(writer._in_flight)
            for call in (lambda: writer.write(b"x"), writer.complete):
                with pytest.raises(type(error)) as failed:
                    call()
                assert failed.value is error
            writer.write(b"and again")

    with pytest.raises(type(error)):
        export()
    assert storage.events[-1] == "abort"
    assert_nothing_is_left(storage)


def test_completing_raises_what_the_last_part_met(tmp_path: Path) -> None:
    storage = Held(tmp_path, {1: StorageUnavailable("the store is down")})
    storage.let_go(1)
    with begin(storage) as writer:
        writer.write(b"x")
        with pytest.raises(StorageUnavailable, match="is down"):
            writer.complete()
    assert_nothing_is_left(storage)


def test_an_abort_waits_for_the_parts_in_flight(tmp_path: Path) -> None:
    storage = Held(tmp_path)
    with ThreadPoolExecutor() as other:
        writer = begin(storage)
        writer.write(b"x" * 20)
        storage.wait_until("begin 2")
        aborting = other.submit(writer.abort)
        with pytest.raises(TimeoutError):
            aborting.result(timeout=0.1)
        storage.let_go(1, 2)
        aborting.result(timeout=10)
    assert sorted(storage.events[:4]) == ["begin 1", "begin 2", "end 1", "end 2"]
    assert storage.events[4:] == ["abort"]
    assert_nothing_is_left(storage)
