"""Cut connections, lost answers, errors where none should be: nothing is lost or done twice."""

from __future__ import annotations

import pytest

from queries_orchestration.model.errors import StorageUnavailable, UploadGone
from queries_orchestration.storage.multipart import MultipartWriter
from queries_orchestration.storage.s3 import S3Storage
from queries_orchestration.storage.s3_client import connect, prepare
from queries_orchestration.storage.s3_url import S3Place
from queries_orchestration_tests.storage.fault_proxy import Fault, FaultProxy
from queries_orchestration_tests.storage.s3_server import BUCKET, REGION, S3Server

KEY = "w/e.csv"
CSV = "text/csv"
PART = b"x" * 1_000
"""This server takes small parts, too; what a network cuts in the middle is sent in real ones."""

REAL_PART = b"x" * (5 * 1024 * 1024)


@pytest.fixture
def storage(behind_proxy: S3Storage) -> S3Storage:
    return behind_proxy


def make(
    storage: S3Storage, data: bytes = PART + PART + b"end", part_bytes: int = len(PART)
) -> None:
    upload_id = storage.begin_upload(KEY, CSV)
    with MultipartWriter(storage, KEY, upload_id, part_bytes) as writer:
        writer.write(data)
        writer.complete()


def content(storage: S3Storage) -> bytes:
    with storage.open(KEY) as file:
        return file.read()


def assert_whole(storage: S3Storage) -> None:
    assert content(storage) == PART + PART + b"end"
    assert storage.open_uploads("") == []


def assert_nothing_is_left(storage: S3Storage) -> None:
    assert storage.size(KEY) is None
    assert storage.open_uploads("") == []


PASSING = [
    Fault.CUT_REQUEST,
    Fault.LOSE_ANSWER,
    Fault.ERROR_500,
    Fault.ERROR_503,
]


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("does", ["part", "complete", "size", "abort"])
def test_what_passes_is_tried_again_at_once(
    storage: S3Storage, proxy: FaultProxy, does: str, fault: Fault
) -> None:
    if does == "abort":
        proxy.plan("delete", fault, fault)
        upload_id = storage.begin_upload(KEY, CSV)
        storage.upload_part(KEY, upload_id, 1, b"x")
        storage.abort_upload(KEY, upload_id)
        assert_nothing_is_left(storage)
    else:
        proxy.plan(does, fault, fault)
        make(storage)
        assert_whole(storage)


@pytest.mark.parametrize("fault", [Fault.CUT_REQUEST, Fault.LOSE_ANSWER])
def test_three_real_parts_arrive_though_connections_end_in_their_middle(
    storage: S3Storage, proxy: FaultProxy, fault: Fault
) -> None:
    proxy.plan("part", fault, fault)
    proxy.plan("complete", fault)
    make(storage, REAL_PART * 2 + b"end", len(REAL_PART))
    assert content(storage) == REAL_PART * 2 + b"end"
    assert storage.open_uploads("") == []


@pytest.mark.parametrize("fault", PASSING)
@pytest.mark.parametrize("does", ["part", "size"])
def test_what_does_not_pass_ends_the_file_and_nothing_is_left(
    storage: S3Storage, proxy: FaultProxy, does: str, fault: Fault
) -> None:
    proxy.plan(does, fault, fault, fault)
    with pytest.raises(StorageUnavailable) as failed:
        make(storage, PART)
    assert "secret" not in failed.value.message
    assert "127.0.0.1" not in failed.value.message
    assert_nothing_is_left(storage)


@pytest.mark.parametrize(
    "faults",
    [
        [Fault.LOSE_ANSWER],
        [Fault.LOSE_ANSWER] * 3,
        [Fault.ERROR_UNDER_200_DONE],
        [Fault.ERROR_UNDER_200_DONE] * 3,
        [Fault.LOSE_ANSWER, Fault.ERROR_503, Fault.ERROR_UNDER_200],
        [Fault.ERROR_UNDER_200, Fault.ERROR_UNDER_200],
    ],
)
def test_a_completion_whose_answer_is_lost_is_seen_by_the_object(
    storage: S3Storage, proxy: FaultProxy, faults: list[Fault]
) -> None:
    proxy.plan("complete", *faults)
    make(storage)
    assert_whole(storage)
    assert proxy.did("begin") == 1
    assert proxy.did("part") == 3


@pytest.mark.parametrize(
    "fault", [Fault.ERROR_UNDER_200, Fault.ERROR_500, Fault.CUT_REQUEST, Fault.NO_XML]
)
def test_a_completion_that_was_not_done_is_not_believed(
    storage: S3Storage, proxy: FaultProxy, fault: Fault
) -> None:
    proxy.plan("complete", fault, fault, fault)
    with pytest.raises(StorageUnavailable):
        make(storage)
    assert_nothing_is_left(storage)


def test_an_older_file_of_the_same_size_is_not_taken_for_the_new_one(
    storage: S3Storage, proxy: FaultProxy
) -> None:
    make(storage, b"old")
    proxy.plan("complete", *[Fault.ERROR_UNDER_200] * 3)
    with pytest.raises(StorageUnavailable):
        make(storage, b"new")
    assert content(storage) == b"old"
    assert storage.open_uploads("") == []


def test_a_newer_file_of_the_same_size_is_seen_though_its_answer_is_lost(
    storage: S3Storage, proxy: FaultProxy
) -> None:
    make(storage, b"old")
    proxy.plan("complete", *[Fault.LOSE_ANSWER] * 3)
    make(storage, b"new")
    assert content(storage) == b"new"


def test_an_upload_that_was_aborted_stays_gone_though_a_file_of_its_size_is_there(
    storage: S3Storage,
) -> None:
    make(storage, b"old")
    upload_id = storage.begin_upload(KEY, CSV)
    part = storage.upload_part(KEY, upload_id, 1, b"new")
    storage.abort_upload(KEY, upload_id)
    with pytest.raises(UploadGone):
        storage.complete_upload(KEY, upload_id, [part])
    assert content(storage) == b"old"


def test_a_lost_answer_to_a_beginning_leaves_an_upload_that_is_found(
    storage: S3Storage, proxy: FaultProxy
) -> None:
    proxy.plan("begin", Fault.LOSE_ANSWER)
    make(storage)
    (left,) = storage.open_uploads("")
    storage.abort_upload(left.key, left.upload_id)
    assert_whole(storage)


@pytest.mark.parametrize("fault", [Fault.NO_XML, Fault.HALF_XML])
def test_an_answer_that_cannot_be_read_is_told(
    storage: S3Storage, proxy: FaultProxy, fault: Fault
) -> None:
    proxy.plan("begin", *[fault] * 3)
    with pytest.raises(StorageUnavailable, match="or no S3 store"):
        storage.begin_upload(KEY, CSV)
    proxy.plan("list", *[fault] * 3)
    with pytest.raises(StorageUnavailable, match="or no S3 store"):
        storage.open_uploads("")


def test_reading_a_file_that_ends_early_is_an_error(storage: S3Storage, proxy: FaultProxy) -> None:
    make(storage)
    proxy.plan("open", Fault.CUT_ANSWER)
    with storage.open(KEY) as file, pytest.raises(StorageUnavailable, match=r"reading w/e\.csv"):
        file.read()


def test_a_store_that_is_too_slow_is_given_up(proxy: FaultProxy, s3_server: S3Server) -> None:
    place = S3Place(bucket=BUCKET, prefix="slow/", region=REGION, endpoint=proxy.endpoint)
    client = connect(place, patience=0.2)  # else a minute at each try: longer than any click
    storage = S3Storage(place, client=lambda: prepare(client, place))
    proxy.slowness = 0.5
    upload_id = storage.begin_upload(KEY, CSV)
    proxy.plan("part", Fault.SLOW, Fault.SLOW, Fault.SLOW)
    with pytest.raises(StorageUnavailable, match=r"ReadTimeoutError.*does not answer"):
        storage.upload_part(KEY, upload_id, 1, b"x")
    proxy.plan("complete", Fault.SLOW)
    part = storage.upload_part(KEY, upload_id, 1, b"x")
    storage.complete_upload(KEY, upload_id, [part])
    assert content(storage) == b"x"
