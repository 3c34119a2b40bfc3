from __future__ import annotations

import csv
import gc
import gzip
import hashlib
import io
import random
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from python_calamine import CalamineWorkbook

from queries_orchestration.exports.file_writer import FileFormat, FileOptions, open_writer
from queries_orchestration.model.columns import Column
from queries_orchestration.model.errors import StorageUnavailable, UploadGone
from queries_orchestration.storage.interface import PartReceipt, Storage
from queries_orchestration.storage.multipart import PART_BYTES, MultipartWriter, StoredFile
from queries_orchestration_tests.exports.read_back import as_page
from queries_orchestration_tests.storage.files import Folder

KEY = "a/b.csv"
MIB = 1024 * 1024


def begin(storage: Storage, part_bytes: int = 10) -> MultipartWriter:
    return MultipartWriter(storage, KEY, storage.begin_upload(KEY, "text/csv"), part_bytes)


def content(storage: Storage) -> bytes:
    with storage.open(KEY) as file:
        return file.read()


def _write_often(writer: MultipartWriter, data: bytes) -> None:
    for _ in range(4):
        writer.write(data)


def assert_nothing_is_left(storage: Storage) -> None:
    assert storage.size(KEY) is None
    assert storage.open_uploads("") == []


class Recording(Folder):
    """Remembers the sizes of the parts."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.sizes: list[int] = []

    def upload_part(
        self, key: str, upload_id: str, number: int, data: bytes | bytearray
    ) -> PartReceipt:
        self.sizes.append(len(data))
        return super().upload_part(key, upload_id, number, data)


def test_what_was_written_is_what_is_stored(storage: Storage) -> None:
    data = bytes(range(256)) * 3
    with begin(storage) as writer:
        for start in range(0, len(data), 7):
            assert writer.write(data[start : start + 7]) == len(data[start : start + 7])
        assert writer.bytes_written == len(data)
        stored = writer.complete()
    assert stored == StoredFile(key=KEY, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
    assert content(storage) == data
    assert storage.open_uploads("") == []


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.lists(st.binary(max_size=40), max_size=8), st.integers(1, 30))
def test_any_writes_make_equal_parts_but_the_last(
    tmp_path: Path, writes: list[bytes], part_bytes: int
) -> None:
    storage = Recording(tmp_path)
    with begin(storage, part_bytes) as writer:
        for data in writes:
            writer.write(data)
        writer.complete()
    *full, last = storage.sizes
    assert set(full) <= {part_bytes}
    assert last <= part_bytes
    assert content(storage) == b"".join(writes)


def test_by_default_every_part_but_the_last_is_large_enough_for_s3(tmp_path: Path) -> None:
    storage = Recording(tmp_path)
    page = b"x" * 4_900_000
    with MultipartWriter(storage, KEY, storage.begin_upload(KEY, "text/csv")) as writer:
        for _ in range(4):
            writer.write(page)
        writer.complete()
    assert storage.sizes == [PART_BYTES, PART_BYTES, 4 * 4_900_000 - 2 * PART_BYTES]
    assert PART_BYTES >= 5 * 1024 * 1024


def test_parts_grow_so_that_their_number_stays_within_the_limit(tmp_path: Path) -> None:
    storage = Recording(tmp_path)
    upload_id = storage.begin_upload(KEY, "text/csv")
    with MultipartWriter(storage, KEY, upload_id, 10, parts_of_one_size=2) as writer:
        writer.write(b"x" * 145)
        writer.complete()
    assert storage.sizes == [10, 10, 20, 20, 40, 40, 5]
    assert content(storage) == b"x" * 145


def test_nothing_written_is_an_empty_file(storage: Storage) -> None:
    with begin(storage) as writer:
        stored = writer.complete()
    assert stored.bytes == 0
    assert content(storage) == b""
    assert storage.open_uploads("") == []


def test_an_error_in_the_block_aborts(storage: Storage) -> None:
    def fail_in_the_third_page() -> None:
        with begin(storage) as writer:
            writer.write(b"page one, page two")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_the_third_page()
    assert_nothing_is_left(storage)


def test_leaving_the_block_without_completing_aborts(storage: Storage) -> None:
    with begin(storage) as writer:
        writer.write(b"x" * 25)
    assert_nothing_is_left(storage)


def _through_text(sink: io.RawIOBase) -> None:
    with io.TextIOWrapper(io.BufferedWriter(sink)) as text:
        csv.writer(text).writerow(["half a file"])
        raise ZeroDivisionError


def _through_gzip(sink: io.RawIOBase) -> None:
    with gzip.GzipFile(fileobj=sink, mode="wb") as packed:
        packed.write(b"half a file")
        raise ZeroDivisionError


def _through_zip(sink: io.RawIOBase) -> None:
    with zipfile.ZipFile(io.BufferedWriter(sink), "w") as archive:
        archive.writestr("a", "half a file")
        raise ZeroDivisionError


@pytest.mark.parametrize("wrapper", [_through_text, _through_gzip, _through_zip])
def test_a_wrapper_that_closes_on_an_error_publishes_nothing(
    storage: Storage, wrapper: Callable[[io.RawIOBase], None]
) -> None:
    def export() -> None:
        with begin(storage) as writer:
            wrapper(writer)

    with pytest.raises(ZeroDivisionError):
        export()
    gc.collect()
    assert_nothing_is_left(storage)


def test_a_writer_that_is_lost_publishes_nothing_and_its_upload_is_found(storage: Storage) -> None:
    writer = begin(storage)
    writer.write(b"x" * 25)
    del writer
    gc.collect()
    assert storage.size(KEY) is None
    (upload,) = storage.open_uploads("")
    storage.abort_upload(upload.key, upload.upload_id)
    assert_nothing_is_left(storage)


def test_closing_is_not_completing_and_does_not_prevent_it(storage: Storage) -> None:
    with begin(storage) as writer:
        with io.TextIOWrapper(io.BufferedWriter(writer), encoding="utf-8") as text:
            text.write("whole")
        assert storage.size(KEY) is None
        with pytest.raises(ValueError, match="closed"):
            writer.write(b"more")
        writer.complete()
    assert content(storage) == b"whole"


def test_after_another_receive_has_aborted_the_upload_nothing_appears(storage: Storage) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    writer = MultipartWriter(storage, KEY, upload_id, 10)
    writer.write(b"x" * 5)
    storage.abort_upload(KEY, upload_id)
    with writer, pytest.raises(UploadGone):
        writer.complete()
    assert_nothing_is_left(storage)


def test_a_late_worker_learns_it_within_its_next_parts(storage: Storage) -> None:
    upload_id = storage.begin_upload(KEY, "text/csv")
    with MultipartWriter(storage, KEY, upload_id, 10) as writer:
        writer.write(b"x" * 5)  # nothing is in flight: a store may take what is
        storage.abort_upload(KEY, upload_id)
        # Two parts may be in flight before one is heard of.
        with pytest.raises(UploadGone):
            _write_often(writer, b"x" * 10)
    assert_nothing_is_left(storage)


@pytest.mark.parametrize("page_bytes", [4_900_000, 5_000_000, 5 * MIB])
def test_compressed_pages_of_any_size_make_parts_that_s3_takes(
    storage: Storage, page_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: dict[int, int] = {}
    send = storage.upload_part

    def recorded(key: str, upload_id: str, number: int, data: bytes | bytearray) -> PartReceipt:
        sizes[number] = len(data)
        return send(key, upload_id, number, data)

    monkeypatch.setattr(storage, "upload_part", recorded)
    page = random.Random(page_bytes).randbytes(page_bytes)
    with begin(storage, 5 * MIB) as writer:
        with gzip.GzipFile(fileobj=writer, mode="wb", compresslevel=0) as packed:
            for _ in range(3):
                packed.write(page)
        writer.complete()
    *full, last = (sizes[number] for number in sorted(sizes))
    assert full == [5 * MIB] * ((3 * page_bytes) // (5 * MIB))
    assert 0 < last < 5 * MIB
    with storage.open(KEY) as file, gzip.GzipFile(fileobj=file) as read_back:
        assert read_back.read() == page * 3


class Counting(Folder):
    """Keeps nothing but the sizes of the parts."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.sizes: list[int] = []

    def upload_part(
        self, key: str, upload_id: str, number: int, data: bytes | bytearray
    ) -> PartReceipt:
        self.sizes.append(len(data))
        return PartReceipt(number=number, size=len(data), tag="")

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        pass

    def size(self, key: str) -> int:
        return sum(self.sizes)


@pytest.mark.parametrize("part_bytes", [5, 8, 11, 64])
def test_the_largest_file_fits_into_ten_thousand_parts(tmp_path: Path, part_bytes: int) -> None:
    """S3 takes 10,000 parts and 5 TiB in all; here a byte stands for a MiB."""
    storage = Counting(tmp_path)
    with begin(storage, part_bytes) as writer:
        for _ in range(5 * 1024):
            writer.write(bytes(1024))
        writer.complete()
    assert sum(storage.sizes) == 5 * 1024**2
    assert len(storage.sizes) <= 10_000


def test_no_part_is_larger_than_s3_takes(tmp_path: Path) -> None:
    with MultipartWriter(
        Counting(tmp_path), KEY, "0" * 32, 3 * 1024**3, parts_of_one_size=1
    ) as writer:
        writer._parts_begun = 1
        assert writer._next_part_bytes() == 5 * 1024**3


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("header", [True, False])
def test_a_result_without_rows_is_a_valid_file_and_leaves_no_upload(
    storage: Storage, file_format: FileFormat, header: bool
) -> None:
    with begin(storage, 5 * MIB) as sink:
        if header:
            options = FileOptions(time_zone="UTC")
            with open_writer(file_format, sink, [Column("n", "integer")], options) as writer:
                writer.finish()
        stored = sink.complete()
    read_back = content(storage)
    assert stored.bytes == len(read_back)
    if not header:
        assert read_back == b""
    elif file_format == "csv":
        assert read_back == b"n\n"
    else:
        sheet = CalamineWorkbook.from_filelike(io.BytesIO(read_back)).get_sheet_by_index(0)
        assert sheet.to_python() == [["n"]]
    assert storage.open_uploads("") == []


class Shortened(Folder):
    """Says that it completed, and did not keep everything."""

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        super().complete_upload(key, upload_id, parts)
        Path(self.location(key)).write_bytes(b"half")


class Forgetful(Folder):
    """Says that it completed, and kept nothing."""

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        pass


@pytest.mark.parametrize("backend", [Shortened, Forgetful])
def test_completion_is_believed_only_when_storage_has_every_byte(
    tmp_path: Path, backend: type[Folder]
) -> None:
    with begin(backend(tmp_path)) as writer:
        writer.write(b"whole")
        with pytest.raises(StorageUnavailable, match="5 were written"):
            writer.complete()


class Unreachable(Folder):
    def abort_upload(self, key: str, upload_id: str) -> None:
        raise StorageUnavailable("storage does not answer")


def test_an_abort_that_fails_does_not_hide_what_went_wrong_first(tmp_path: Path) -> None:
    def export() -> None:
        with begin(Unreachable(tmp_path)):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as failed:
        export()
    assert failed.value.__notes__ == ["the upload stays open: storage does not answer"]


def test_an_abort_that_fails_without_another_error_is_raised(tmp_path: Path) -> None:
    with pytest.raises(StorageUnavailable, match="does not answer"), begin(Unreachable(tmp_path)):
        pass


def test_a_completed_or_aborted_writer_takes_nothing_more(storage: Storage) -> None:
    writer = begin(storage)
    writer.complete()
    for call in (writer.complete, lambda: writer.write(b"x")):
        with pytest.raises(ValueError, match="completed"):
            call()
    aborted = begin(storage)
    aborted.abort()
    aborted.abort()
    with pytest.raises(ValueError, match="aborted"):
        aborted.complete()
    assert content(storage) == b""


def test_it_is_a_binary_stream_that_cannot_be_sought(storage: Storage) -> None:
    with begin(storage) as writer:
        assert (writer.writable(), writer.readable(), writer.seekable()) == (True, False, False)


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
@pytest.mark.parametrize("fail", [False, True])
def test_a_file_writer_streams_into_it_and_an_error_publishes_nothing(
    storage: Storage, file_format: FileFormat, fail: bool
) -> None:
    columns, options = [Column("n", "integer")], FileOptions(time_zone="UTC")

    def pages() -> list[list[tuple[str]]]:
        return [[(str(n),) for n in range(page, page + 1000)] for page in (0, 1000, 2000)]

    def export() -> StoredFile:
        with (
            begin(storage, 1000) as sink,
            open_writer(file_format, sink, columns, options) as writer,
        ):
            for number, page in enumerate(pages()):
                if fail and number == 2:
                    raise ZeroDivisionError
                writer.write_page(as_page(page))
            writer.finish()
            return sink.complete()

    if fail:
        with pytest.raises(ZeroDivisionError):
            export()
        assert_nothing_is_left(storage)
    else:
        stored = export()
        assert storage.size(KEY) == stored.bytes > 1000
