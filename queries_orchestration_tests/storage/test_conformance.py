"""What every storage must do, whatever is behind it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from threading import Barrier

import pytest

from queries_orchestration.model.errors import LinkRefused, NotFound, Refused, UploadGone
from queries_orchestration.model.file_names import CONTENT_TYPES, file_name
from queries_orchestration.storage.interface import PartReceipt, Storage
from queries_orchestration_tests.storage.conftest import Fetch, Fetched

KEY = "0b2f/exports/9c1e.csv"
CSV = "text/csv"
PART = b"x" * (5 * 1024 * 1024)
NAME = "Отчёт 2027-01-04.csv"


def now() -> datetime:
    """The real time, since a link of S3 ends by it; never that of the import, long ago by now."""
    return datetime.now(UTC).replace(microsecond=0)


def begin(storage: Storage, *parts: bytes, key: str = KEY) -> tuple[str, list[PartReceipt]]:
    upload_id = storage.begin_upload(key, CSV)
    receipts = [
        storage.upload_part(key, upload_id, number, part)
        for number, part in enumerate(parts, start=1)
    ]
    return upload_id, receipts


def put(storage: Storage, *parts: bytes, key: str = KEY) -> None:
    upload_id, receipts = begin(storage, *parts, key=key)
    storage.complete_upload(key, upload_id, receipts)


def content(storage: Storage, key: str = KEY) -> bytes:
    with storage.open(key) as file:
        return file.read()


def opened(storage: Storage, prefix: str = "") -> list[tuple[str, str]]:
    """The open uploads: key and id."""
    return [upload[:2] for upload in storage.open_uploads(prefix)]


def link_to(storage: Storage, *, key: str = KEY, file_name: str = NAME, minutes: float = 5) -> str:
    return storage.link(
        key,
        file_name=file_name,
        content_type=CONTENT_TYPES["csv"],
        expires_at=now() + timedelta(minutes=minutes),
    )


def test_a_completed_upload_is_a_file_of_its_parts_in_order(storage: Storage) -> None:
    put(storage, PART, b"", b"the end")
    assert content(storage) == PART + b"the end"
    assert storage.size(KEY) == len(PART) + 7
    assert storage.open_uploads("") == []


def test_one_empty_part_makes_an_empty_file(storage: Storage) -> None:
    put(storage, b"")
    assert content(storage) == b""
    assert storage.size(KEY) == 0


def test_nothing_is_visible_before_completion(storage: Storage) -> None:
    upload_id, _ = begin(storage, PART, b"more")
    assert storage.size(KEY) is None
    with pytest.raises(NotFound, match=KEY):
        storage.open(KEY)
    assert opened(storage) == [(KEY, upload_id)]


def test_a_receipt_tells_number_and_size(storage: Storage) -> None:
    _, receipts = begin(storage, PART, b"abc")
    assert [(part.number, part.size) for part in receipts] == [(1, len(PART)), (2, 3)]


def test_an_aborted_upload_leaves_nothing(storage: Storage) -> None:
    upload_id, _ = begin(storage, PART)
    storage.abort_upload(KEY, upload_id)
    assert storage.size(KEY) is None
    assert storage.open_uploads("") == []


def test_after_an_abort_a_late_part_is_refused_and_leaves_nothing(storage: Storage) -> None:
    upload_id, _ = begin(storage, PART)
    storage.abort_upload(KEY, upload_id)
    with pytest.raises(UploadGone, match=KEY):
        storage.upload_part(KEY, upload_id, 2, b"late")
    assert storage.size(KEY) is None
    assert storage.open_uploads("") == []


def test_after_an_abort_a_late_completion_is_refused_and_leaves_nothing(storage: Storage) -> None:
    upload_id, receipts = begin(storage, b"late")
    storage.abort_upload(KEY, upload_id)
    with pytest.raises(UploadGone, match=KEY):
        storage.complete_upload(KEY, upload_id, receipts)
    assert storage.size(KEY) is None


def test_aborting_twice_or_after_completion_or_the_unknown_is_fine(storage: Storage) -> None:
    upload_id, receipts = begin(storage, b"whole")
    storage.complete_upload(KEY, upload_id, receipts)
    storage.abort_upload(KEY, upload_id)
    assert content(storage) == b"whole"

    other, _ = begin(storage, b"x", key="other")
    storage.abort_upload("other", other)
    storage.abort_upload("other", other)
    storage.abort_upload("never-begun", other)


def test_two_uploads_to_one_key_do_not_mix_and_the_later_completion_stays(
    storage: Storage,
) -> None:
    first, first_parts = begin(storage, PART)
    second, second_parts = begin(storage, b"second")
    assert first != second
    assert opened(storage) == sorted([(KEY, first), (KEY, second)])
    first_parts.append(storage.upload_part(KEY, first, 2, b"first"))
    storage.complete_upload(KEY, second, second_parts)
    assert content(storage) == b"second"
    storage.complete_upload(KEY, first, first_parts)
    assert content(storage) == PART + b"first"


def test_the_new_receive_aborts_the_old_upload_and_the_late_worker_changes_nothing(
    storage: Storage,
) -> None:
    late, late_parts = begin(storage, b"late")
    storage.abort_upload(KEY, late)
    put(storage, b"new")
    with pytest.raises(UploadGone):
        storage.complete_upload(KEY, late, late_parts)
    assert content(storage) == b"new"


def test_a_file_is_replaced_whole(storage: Storage) -> None:
    put(storage, b"the first and longer")
    with storage.open(KEY) as reader:
        put(storage, b"the second")
        assert reader.read() == b"the first and longer"
    assert content(storage) == b"the second"


def test_deleting_removes_the_file_and_none_is_fine(storage: Storage) -> None:
    put(storage, b"x")
    storage.delete(KEY)
    storage.delete(KEY)
    assert storage.size(KEY) is None


def test_open_uploads_are_found_by_the_start_of_their_key(storage: Storage) -> None:
    keys = ["a/1.csv", "a/2.csv", "ab/3.csv", "b/a/4.csv"]
    ids = {key: begin(storage, key=key)[0] for key in keys}

    def found(prefix: str) -> list[str]:
        uploads = storage.open_uploads(prefix)
        assert all(ids[upload.key] == upload.upload_id for upload in uploads)
        return [upload.key for upload in uploads]

    assert found("") == keys
    assert found("a") == keys[:3]
    assert found("a/") == keys[:2]
    assert found("c") == []


def test_a_new_storage_is_empty(storage: Storage) -> None:
    assert storage.open_uploads("") == []
    assert storage.size(KEY) is None


@pytest.mark.parametrize(
    "key",
    [
        *("", "/", "/a", "a/", "a//b", "../a", "a/../b", "a..b", ".uploads/a", "a/.b"),
        *("A", "a b", "é", "a+b", "a%2fb", "a\\b", "a\n", "a\x00", "a" * 201),
    ],
)
def test_what_is_not_a_key_is_refused_everywhere(storage: Storage, key: str) -> None:
    for call in (
        lambda: storage.begin_upload(key, CSV),
        lambda: storage.size(key),
        lambda: storage.open(key),
        lambda: storage.delete(key),
        lambda: storage.location(key),
        lambda: storage.abort_upload(key, "0" * 32),
        lambda: link_to(storage, key=key),
    ):
        with pytest.raises(Refused) as refused:
            call()
        assert refused.value.code == "invalid_key"


@pytest.mark.parametrize("prefix", ["..", "a/../", "A", "a+", "%"])
def test_what_no_key_starts_with_is_refused(storage: Storage, prefix: str) -> None:
    with pytest.raises(Refused, match="starts with"):
        storage.open_uploads(prefix)


def test_the_longest_key_works(storage: Storage) -> None:
    key = "/".join(["a" * 49] * 4) + "b"
    assert len(key) == 200
    put(storage, b"x", key=key)
    assert content(storage, key) == b"x"


def test_the_location_names_the_key(storage: Storage) -> None:
    assert storage.location(KEY).endswith(KEY)


@pytest.mark.parametrize("name", [NAME, 'a"b;c,%20+ 2027-01-04.csv', "é" * 98 + ".csv"])
def test_a_link_gives_the_file_under_its_name_and_type(
    storage: Storage, fetch: Fetch, name: str
) -> None:
    put(storage, b"a,b\n")
    assert fetch(link_to(storage, file_name=name), now()) == Fetched(
        b"a,b\n", name, "text/csv; charset=utf-8"
    )


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("A+B plan", "A+B plan"),
        ("50% off", "50% off"),
        ("caf\u00e9", "caf\u00e9"),
        ("cafe\u0301", "caf\u00e9"),
        ("trailing ", "trailing"),
        ("a/../b", "a-..-b"),
        ("n" * 1_100, "n" * 185),
    ],
)
def test_a_file_of_any_title_lies_under_ids_and_is_downloaded_under_its_name(
    storage: Storage, fetch: Fetch, title: str, name: str
) -> None:
    put(storage, b"a,b\n")
    file = file_name(title, day=date(2027, 1, 4), file_format="csv")
    assert fetch(link_to(storage, file_name=file), now()).file_name == f"{name} 2027-01-04.csv"


def test_two_receives_that_race_leave_the_whole_file_of_one(storage: Storage) -> None:
    files = [[letter * len(PART), letter * len(PART), letter] for letter in (b"a", b"b")]
    start = Barrier(2)

    def receive(parts: list[bytes]) -> None:
        upload_id, receipts = begin(storage, *parts)
        start.wait(10)
        storage.complete_upload(KEY, upload_id, receipts)

    with ThreadPoolExecutor() as receives:
        list(receives.map(receive, files))
    assert content(storage) in [b"".join(parts) for parts in files]
    assert storage.open_uploads("") == []


def test_an_open_upload_tells_when_it_was_begun(storage: Storage) -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)
    begin(storage, b"x")
    (upload,) = storage.open_uploads("")
    assert upload.begun_at is not None
    assert upload.begun_at.tzinfo is UTC
    assert before < upload.begun_at < datetime.now(UTC) + timedelta(seconds=2)


def test_a_link_opens_as_often_as_it_is_opened_in_its_time(storage: Storage, fetch: Fetch) -> None:
    put(storage, b"x")
    url = link_to(storage)
    assert fetch(url, now()) == fetch(url, now() + timedelta(minutes=4))


def test_a_link_gives_its_own_file_alone(storage: Storage, fetch: Fetch) -> None:
    put(storage, b"one", key="w/one.csv")
    put(storage, b"two", key="w/two.csv")
    assert fetch(link_to(storage, key="w/two.csv"), now()).content == b"two"


def test_an_ended_link_is_refused(storage: Storage, fetch: Fetch) -> None:
    put(storage, b"x")
    with pytest.raises(LinkRefused):
        fetch(link_to(storage, minutes=-1), now())


@pytest.mark.parametrize(
    "change", [lambda end: end[:-1], lambda end: end + "A", lambda end: end.swapcase()]
)
def test_a_changed_link_is_refused(
    storage: Storage, fetch: Fetch, change: Callable[[str], str]
) -> None:
    put(storage, b"x")
    root, _, end = link_to(storage).rpartition("/")
    with pytest.raises(LinkRefused):
        fetch(f"{root}/{change(end)}", now())


def test_a_link_to_no_file_is_refused(storage: Storage, fetch: Fetch) -> None:
    with pytest.raises(LinkRefused):
        fetch(link_to(storage), now())
    put(storage, b"x")
    url = link_to(storage)
    storage.delete(KEY)
    with pytest.raises(LinkRefused):
        fetch(url, now())
