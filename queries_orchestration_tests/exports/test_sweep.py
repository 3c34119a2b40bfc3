"""The sweep takes what killed processes left, and nothing that somebody may still work on."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from queries_orchestration.exports import sweep as sweeping
from queries_orchestration.exports.sweep import FAULTS_A_SWEEP, sweep_uploads
from queries_orchestration.model.errors import StorageUnavailable
from queries_orchestration.retention.upkeep import sweep
from queries_orchestration.storage.interface import OpenUpload
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration_tests.exports.admitted import Killed, admit, killed_at
from queries_orchestration_tests.house import MONDAY, House

DAY, MOMENT = timedelta(days=1), timedelta(milliseconds=1)


@pytest.fixture
def house(house: House) -> House:
    house.clock.at = MONDAY
    return house


def begin(house: House, key: str, *, at: datetime) -> str:
    """Begin an upload at a moment, as a process does that is then killed."""
    upload_id = house.backends.storage.begin_upload(key, "text/csv")
    grew(house, upload_id, at=at)
    return upload_id


def grew(house: House, upload_id: str | None, *, at: datetime) -> None:
    root = Path(house.backends.storage.location("any")).parent
    (file,) = (root / ".uploads").glob(f"{upload_id}+*")
    os.utime(file, (at.timestamp(), at.timestamp()))


def left(house: House) -> list[str]:
    return [upload.upload_id for upload in house.backends.storage.open_uploads("")]


def test_an_upload_is_aborted_when_it_is_older_than_a_day_and_not_before(house: House) -> None:
    old = begin(house, "w/old.csv", at=MONDAY - DAY - MOMENT)
    new = begin(house, "w/new.csv", at=MONDAY - DAY)
    assert sorted(left(house)) == sorted([old, new])

    assert sweep_uploads(house.backends) == 1
    assert left(house) == [new]

    house.clock.at = MONDAY + MOMENT
    assert sweep_uploads(house.backends) == 1
    assert left(house) == []
    assert sweep_uploads(house.backends) == 0


def test_the_age_is_a_setting(house: House) -> None:
    begin(house, "w/new.csv", at=MONDAY - timedelta(minutes=2))
    backends = replace(house.backends, settings=replace(house.backends.settings, upload_age=60.0))
    assert sweep_uploads(backends) == 1
    assert left(house) == []


def test_what_an_export_records_stays_however_old_it_is(house: House) -> None:
    export_id = admit(house)
    with pytest.raises(Killed):
        killed_at(house, "upload recorded").work("export")
    (recorded,) = left(house)
    grew(house, recorded, at=MONDAY - 9 * DAY)
    begin(house, f"w/{export_id}.csv", at=MONDAY - 2 * DAY)

    assert sweep_uploads(house.backends) == 1
    assert left(house) == [recorded]


def test_the_oldest_go_first_and_a_sweep_is_bounded(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweeping, "UPLOADS_A_SWEEP", 2)
    ids = [begin(house, f"w/{n}.csv", at=MONDAY - n * DAY) for n in range(2, 7)]

    assert sweep_uploads(house.backends) == 2
    assert sorted(left(house)) == sorted(ids[:3])
    assert [sweep_uploads(house.backends) for _ in range(3)] == [2, 1, 0]


class Elsewhere(LocalStorage):
    """A storage that lists uploads of its own, and does not abort all of them."""

    listed: tuple[OpenUpload, ...] = ()
    stuck: frozenset[str] = frozenset()
    aborted: tuple[str, ...] = ()

    def open_uploads(self, prefix: str) -> list[OpenUpload]:
        if not self.listed:
            raise StorageUnavailable("the store is down")
        return list(self.listed)

    def abort_upload(self, key: str, upload_id: str) -> None:
        if upload_id in self.stuck:
            raise StorageUnavailable("not this one")
        self.aborted += (upload_id,)


@pytest.fixture
def elsewhere(house: House, tmp_path: Path) -> Elsewhere:
    return Elsewhere(
        tmp_path, public_url="https://x.example.org", link_keys=house.backends.link_keys
    )


def test_an_upload_of_unknown_age_stays(house: House, elsewhere: Elsewhere) -> None:
    elsewhere.listed = (
        OpenUpload("w/a.csv", "a", None),
        OpenUpload("w/b.csv", "b", MONDAY - 2 * DAY),
    )
    assert sweep_uploads(replace(house.backends, storage=elsewhere)) == 1
    assert elsewhere.aborted == ("b",)


def test_a_storage_that_fails_stops_neither_the_others_nor_the_caller(
    house: House, elsewhere: Elsewhere, caplog: pytest.LogCaptureFixture
) -> None:
    backends = replace(house.backends, storage=elsewhere)
    with caplog.at_level(logging.WARNING):
        assert sweep(backends) == 0
    assert caplog.messages == ["uploads_not_swept reason=the store is down"]

    elsewhere.listed = tuple(
        OpenUpload(f"w/{n}.csv", str(n), MONDAY - (9 - n) * DAY) for n in range(6)
    )
    elsewhere.stuck = frozenset("0")
    assert sweep_uploads(backends) == 5
    assert elsewhere.aborted == tuple("12345")

    caplog.clear()
    elsewhere.stuck = frozenset("012345")
    with caplog.at_level(logging.WARNING):
        assert sweep_uploads(backends) == 0
    assert len(caplog.messages) == FAULTS_A_SWEEP
