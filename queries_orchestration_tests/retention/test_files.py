"""Files without a row, rows without a file: found, told, and removed only when it is certain."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from queries_orchestration.exports.expire import FAULTS_A_PASS, expire_files
from queries_orchestration.exports.sweep import FAULTS_A_SWEEP
from queries_orchestration.model.errors import StorageUnavailable
from queries_orchestration.model.ids import new_id
from queries_orchestration.retention import files
from queries_orchestration.storage.interface import Storage
from queries_orchestration_tests.downloads import change_export, export_of, request_file
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.retention.retained import found, retained

DAY = timedelta(days=1)
MOMENT = timedelta(milliseconds=1)


@pytest.fixture
def house(house: House) -> House:
    house.clock.at = MONDAY
    return house


def put(house: House, key: str, *, at: datetime) -> str:
    """Leave a file that no row knows."""
    storage = house.backends.storage
    upload_id = storage.begin_upload(key, "text/csv")
    storage.complete_upload(key, upload_id, [storage.upload_part(key, upload_id, 1, b"x")])
    os.utime(Path(storage.location(key)), (at.timestamp(), at.timestamp()))
    return key


def stray(house: House, *, at: datetime) -> str:
    return put(house, f"{house.workspace_id}/{new_id()}.csv", at=at)


def shown(house: House, kind: str, *, do: bool = False) -> list[str]:
    (told,) = [one for one in found(house, do=do) if one.kind == kind]
    assert told.count == len(told.shown)
    return told.shown


def is_there(house: House, key: str) -> bool:
    return house.backends.storage.size(key) is not None


def test_a_file_without_a_row_is_told_after_a_day_and_removed_after_a_week(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    new = stray(house, at=MONDAY - DAY)
    old = stray(house, at=MONDAY - DAY - MOMENT)
    gone = stray(house, at=MONDAY - 7 * DAY - MOMENT)

    assert sorted(shown(house, "files_without_row")) == sorted([old, gone])
    assert is_there(house, gone)

    with caplog.at_level(logging.WARNING):
        assert shown(house, "files_without_row", do=True) == [gone]
    assert f"file_without_row workspace={house.workspace_id} files=1" in caplog.messages
    assert [is_there(house, key) for key in (new, old, gone)] == [True, True, False]


def test_a_file_that_has_a_row_stays_whatever_its_age(house: House) -> None:
    export = export_of(house, request_file(house, "ada"))
    os.utime(house.backends.storage.location(export.storage_key), (0, 0))
    assert retained(house) == {}
    assert is_there(house, export.storage_key)


def test_a_file_that_came_back_after_it_was_removed_goes(house: House) -> None:
    export = export_of(house, request_file(house, "ada"))
    change_export(house, export.id, state="expired", removed_at=MONDAY)
    os.utime(house.backends.storage.location(export.storage_key), (0, 0))
    assert retained(house) == {"files_without_row": 1}
    assert not is_there(house, export.storage_key)


def test_what_is_not_of_our_workspaces_or_not_of_our_form_is_nobodys_business(
    house: House,
) -> None:
    long_ago = MONDAY - 99 * DAY
    keys = [
        put(house, f"{new_id()}/{new_id()}.csv", at=long_ago),
        put(house, f"{house.workspace_id}/readme.txt", at=long_ago),
        put(house, f"{house.workspace_id}/{new_id()}", at=long_ago),
        put(house, "other.csv", at=long_ago),
    ]
    assert retained(house) == {}
    assert all(is_there(house, key) for key in keys)


def test_a_file_that_is_gone_is_told_and_its_row_stays(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    lost, kept = (export_of(house, request_file(house, "ada")) for _ in range(2))
    house.backends.storage.delete(lost.storage_key)

    with caplog.at_level(logging.ERROR):
        assert shown(house, "rows_without_file", do=True) == [lost.id]
    assert f"file_missing workspace={house.workspace_id} export={lost.id}" in caplog.messages
    assert export_of(house, lost.id).state == "ready"
    assert is_there(house, kept.storage_key)


def test_a_file_whose_time_is_over_is_not_looked_for(house: House) -> None:
    export = export_of(house, request_file(house, "ada"))
    house.backends.storage.delete(export.storage_key)
    house.clock.at = MONDAY + 7 * DAY
    assert retained(house, do=False) == {"expired_files": 1}


def test_all_pages_of_a_listing_are_compared(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "FILES_A_BATCH", 2)
    for _ in range(5):
        stray(house, at=MONDAY - 8 * DAY)
        request_file(house, "ada")
    assert retained(house) == {"files_without_row": 5}


def test_stale_uploads_are_counted_then_aborted(house: House) -> None:
    house.backends.storage.begin_upload("w/old.csv", "text/csv")
    root = Path(house.backends.storage.location("any")).parent
    (file,) = (root / ".uploads").iterdir()
    os.utime(file, (0, 0))

    assert retained(house, do=False) == {"stale_uploads": 1}
    assert file.exists()
    assert retained(house) == {"stale_uploads": 1}
    assert not file.exists()


def test_a_storage_that_does_not_answer_keeps_nothing_else(house: House, tmp_path: Path) -> None:
    root = Path(house.backends.storage.location("any")).parent
    root.mkdir(parents=True, exist_ok=True)
    root.rename(tmp_path / "elsewhere")
    root.write_text("no folder")

    told = {one.kind: one.code for one in found(house)}

    assert told["files_without_row"] == "storage_unavailable"
    assert told["occurrences"] is None


def in_the_way(path: Path) -> Path:
    """Put something in the place of a file that storage cannot remove."""
    path.unlink()
    path.mkdir()
    return path


def test_files_that_the_storage_does_not_remove_keep_no_other_and_are_told(house: House) -> None:
    """More of them than make a pass of the dispatcher give up."""
    place = house.backends.storage.location
    stuck = [request_file(house, "ada") for _ in range(FAULTS_A_PASS + 1)]
    good = request_file(house, "ada")
    for export_id in stuck:
        in_the_way(Path(place(export_of(house, export_id).storage_key)))
        change_export(house, export_id, expires_at=MONDAY + DAY)
    house.clock.at = MONDAY + 8 * DAY
    assert expire_files(house.backends) == 0

    told = {one.kind: one for one in found(house)}["expired_files"]

    assert (told.count, told.code, told.is_whole) == (1, "storage_unavailable", False)
    assert all(export_id in (told.message or "") for export_id in stuck)
    assert not is_there(house, export_of(house, good).storage_key)
    for export_id in stuck:
        Path(place(export_of(house, export_id).storage_key)).rmdir()
    assert retained(house) == {"expired_files": len(stuck)}


def test_uploads_that_the_storage_does_not_abort_keep_no_other_and_are_told(house: House) -> None:
    storage = house.backends.storage
    root = Path(storage.location("any")).parent
    for number in range(FAULTS_A_SWEEP + 2):
        upload_id = storage.begin_upload(f"w/{number}.csv", "text/csv")
        (file,) = (root / ".uploads").glob(f"{upload_id}+*")
        if number <= FAULTS_A_SWEEP:
            in_the_way(file)
        os.utime(file, (number, number))

    told = {one.kind: one for one in found(house)}["stale_uploads"]

    assert (told.count, told.code) == (1, "storage_unavailable")
    assert "w/0.csv" in (told.message or "")
    assert len(storage.open_uploads("")) == FAULTS_A_SWEEP + 1


def test_a_file_without_a_row_that_is_not_removed_keeps_no_other(house: House) -> None:
    strays = [stray(house, at=MONDAY - 8 * DAY) for _ in range(3)]
    storage, delete = house.backends.storage, house.backends.storage.delete

    class Shut:
        def __getattr__(self, name: str) -> object:
            return getattr(storage, name)

        def delete(self, key: str) -> None:
            if key == min(strays):
                raise StorageUnavailable("The test's file is locked.")
            delete(key)

    shut = house.with_backends(replace(house.backends, storage=cast(Storage, Shut())))
    told = {one.kind: one for one in found(shut)}["files_without_row"]

    assert (told.count, told.code) == (2, "storage_unavailable")
    assert [key for key in strays if is_there(house, key)] == [min(strays)]
