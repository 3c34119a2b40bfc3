"""A storage lists its files, and only those."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from queries_orchestration.model.errors import Refused, StorageUnavailable
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration.storage.s3 import S3Storage
from queries_orchestration_tests.storage.test_conformance import begin, put

KEYS = {"a/1.csv", "a/2.csv", "ab/3.csv", "b.csv"}


def listed(storage: Storage, prefix: str = "") -> set[str]:
    found = [file.key for file in storage.files(prefix)]
    assert len(found) == len(set(found))
    return set(found)


def test_files_are_listed_by_the_start_of_their_key(storage: Storage) -> None:
    assert listed(storage) == set()
    for key in KEYS:
        put(storage, b"content", key=key)

    assert listed(storage) == KEYS
    assert listed(storage, "a/") == {"a/1.csv", "a/2.csv"}
    assert listed(storage, "a") == {"a/1.csv", "a/2.csv", "ab/3.csv"}
    assert listed(storage, "a/2") == {"a/2.csv"}
    assert listed(storage, "nothing/") == set()


def test_what_is_begun_or_removed_is_no_file(storage: Storage) -> None:
    put(storage, b"content", key="a/1.csv")
    begin(storage, b"content", key="a/2.csv")
    put(storage, b"content", key="a/3.csv")
    storage.delete("a/3.csv")

    assert listed(storage) == {"a/1.csv"}


def test_a_file_tells_when_it_was_written(storage: Storage) -> None:
    put(storage, b"content", key="a/1.csv")

    (file,) = storage.files("a/")

    assert file.changed_at.tzinfo == UTC
    assert abs(datetime.now(UTC) - file.changed_at) < timedelta(minutes=2)


def test_what_no_key_starts_with_is_refused(storage: Storage) -> None:
    with pytest.raises(Refused):
        list(storage.files("../"))


def test_more_files_than_a_page_are_all_listed(
    s3_storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for key in KEYS:
        put(s3_storage, b"content", key=key)
    client = s3_storage._client
    asked = []
    whole = client.get_paginator

    def small(name: str) -> object:
        paginator = whole(name)
        paginate = paginator.paginate

        def pages(**options: object) -> object:
            asked.append(name)
            return paginate(**options, PaginationConfig={"PageSize": 1})

        paginator.paginate = pages
        return paginator

    monkeypatch.setattr(client, "get_paginator", small)

    assert listed(s3_storage) == KEYS
    assert asked == ["list_objects_v2"]


def test_what_is_not_ours_in_the_folder_is_left_out(
    local_storage: LocalStorage, tmp_path: Path
) -> None:
    put(local_storage, b"content", key="a/1.csv")
    for name in ("A.csv", ".hidden", "a/Übung.csv"):
        (tmp_path / "files" / name).write_text("somebody else's")

    assert listed(local_storage) == {"a/1.csv"}


def test_a_root_that_is_no_folder_is_told(local_storage: LocalStorage, tmp_path: Path) -> None:
    (tmp_path / "files").write_text("a file")
    with pytest.raises(StorageUnavailable):
        list(local_storage.files(""))
