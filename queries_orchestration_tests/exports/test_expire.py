"""Expiry: files go when their time is over, not before, and a fault stops neither others nor us."""

from __future__ import annotations

import logging
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest

from queries_orchestration.exports import expire
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.exports.download import download
from queries_orchestration.exports.download_link import DownloadLink
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.exports.settle import fail
from queries_orchestration.model.errors import Refused, SourceUnavailable
from queries_orchestration.store import exports
from queries_orchestration.store.claims import Receive
from queries_orchestration_tests.downloads import (
    CONTENT,
    INTERACTIVE_LIFETIME,
    change_export,
    click,
    export_of,
    put_file,
    request_file,
)
from queries_orchestration_tests.exports.admitted import Killed, admit, killed_at
from queries_orchestration_tests.house import MONDAY, House

MINUTE, MOMENT = timedelta(minutes=1), timedelta(microseconds=1)
LINK_AND_TWO_DAYS = timedelta(days=2, minutes=5)
OVER = MONDAY + INTERACTIVE_LIFETIME


@pytest.fixture
def house(house: House) -> House:
    """The house at its first slot, which nobody has dispatched."""
    house.clock.at = MONDAY
    return house


def is_there(house: House, export_id: str) -> bool:
    return house.backends.storage.size(export_of(house, export_id).storage_key) is not None


def get(house: House, export_id: str) -> DownloadLink:
    return download(
        house.backends.database,
        house.backends.storage,
        clock=house.clock,
        environment=house.environment,
        workspace_id=house.workspace_id,
        by=house.by("ada"),
        export_id=export_id,
    )


def spoil(house: House, export_id: str) -> Path:
    """Put something in a file's place that storage cannot remove."""
    path = Path(house.backends.storage.location(export_of(house, export_id).storage_key))
    path.unlink()
    path.mkdir()
    return path


def test_a_file_is_marked_and_removed_when_its_time_is_over_and_not_before(house: House) -> None:
    export_id = request_file(house, "ada")
    house.clock.at = OVER - MOMENT
    assert expire_files(house.backends) == 0
    assert (export_of(house, export_id).state, is_there(house, export_id)) == ("ready", True)

    house.clock.at = OVER
    assert expire_files(house.backends) == 1

    export = export_of(house, export_id)
    assert (export.state, export.removed_at, export.expires_at) == ("expired", OVER, OVER)
    assert (export.size, export.rows) == (len(CONTENT), 1)  # the record stays
    assert not is_there(house, export_id)
    house.clock.at = OVER + MINUTE
    assert expire_files(house.backends) == 0
    assert export_of(house, export_id) == export


def test_a_delivery_s_file_goes_nine_days_after_by_the_dispatchers_pass(house: House) -> None:
    assert house.deliver(MONDAY) == ["delivered"]
    (occurrence,) = house.history()
    export_id = house.export(occurrence.key).id

    house.dispatch(MONDAY + timedelta(days=9) - MOMENT)
    assert is_there(house, export_id)
    house.dispatch(MONDAY + timedelta(days=9))

    assert not is_there(house, export_id)
    assert export_of(house, export_id).state == "expired"
    assert house.occurrence(occurrence.key) == occurrence


def test_killed_between_mark_and_removal_it_is_finished_by_the_next_pass(house: House) -> None:
    export_id = request_file(house, "ada")
    house.clock.at = OVER

    with pytest.raises(Killed):
        expire_files(killed_at(house, "marked expired, not removed").backends)

    export = export_of(house, export_id)
    assert (export.state, export.removed_at, is_there(house, export_id)) == ("expired", None, True)
    with pytest.raises(Refused) as refused:
        get(house, export_id)
    assert refused.value.code == "file_expired"
    house.clock.at = OVER + MINUTE
    assert expire_files(house.backends) == 1
    assert not is_there(house, export_id)
    assert export_of(house, export_id).removed_at == OVER + MINUTE


def test_a_link_made_just_before_keeps_the_file_two_days_longer_than_itself(house: House) -> None:
    export_id = request_file(house, "ada")
    house.clock.at = made_at = OVER - MINUTE
    link = get(house, export_id)

    house.clock.at = OVER
    assert expire_files(house.backends) == 0
    assert click(house, link)[0] == CONTENT
    house.clock.at = made_at + LINK_AND_TWO_DAYS - MOMENT
    assert expire_files(house.backends) == 0
    house.clock.at = made_at + LINK_AND_TWO_DAYS
    assert expire_files(house.backends) == 1
    assert not is_there(house, export_id)


def test_a_link_and_expiry_at_the_same_moment_never_leave_a_link_without_its_file(
    house: House,
) -> None:
    """The pass looks while the link's transaction is not committed yet, then the other way."""
    export_id, late = request_file(house, "ada"), request_file(house, "ada")
    house.clock.at = OVER
    until = OVER + LINK_AND_TWO_DAYS

    with ThreadPoolExecutor(1) as thread:
        with house.backends.database.across.transaction() as connection:
            assert exports.keep_until(connection, house.workspace_id, export_id, until=until)
            passing = thread.submit(expire_files, house.backends)
            time.sleep(0.2)
        assert passing.result(10) == 1

    assert (export_of(house, export_id).state, is_there(house, export_id)) == ("ready", True)
    assert (export_of(house, late).state, is_there(house, late)) == ("expired", False)
    with house.backends.database.across.transaction() as connection:
        assert not exports.keep_until(connection, house.workspace_id, late, until=until)


def test_a_pass_removes_a_bounded_number_the_longest_over_first(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(expire, "FILES_A_PASS", 2)
    files = []
    for _ in range(3):
        files.append(request_file(house, "ada"))
        house.clock.at += MINUTE
    house.clock.at = OVER + timedelta(days=1)

    assert expire_files(house.backends) == 2
    assert [is_there(house, one) for one in files] == [False, False, True]
    assert export_of(house, files[2]).state == "ready"
    assert expire_files(house.backends) == 1
    assert not is_there(house, files[2])


def test_a_file_that_storage_does_not_remove_stops_neither_the_others_nor_the_pass(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    bad, good = request_file(house, "ada"), request_file(house, "ada")
    change_export(house, bad, expires_at=OVER - MINUTE)
    in_the_way = spoil(house, bad)

    with caplog.at_level(logging.WARNING):
        done = house.dispatch(OVER)

    assert len(done.offers) == 1  # deliveries go on
    assert not is_there(house, good)
    assert (export_of(house, bad).state, export_of(house, bad).removed_at) == ("expired", None)
    (told,) = [text for text in caplog.messages if text.startswith("file_not_removed")]
    assert f"export={bad}" in told
    in_the_way.rmdir()
    assert expire_files(house.backends) == 1
    assert export_of(house, bad).removed_at == OVER


def test_when_storage_removes_nothing_the_rest_is_left_to_the_next_pass(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    files = [request_file(house, "ada") for _ in range(5)]
    house.clock.at = OVER
    in_the_way = [spoil(house, one) for one in files]

    with caplog.at_level(logging.WARNING):
        assert expire_files(house.backends) == 0

    assert len([text for text in caplog.messages if text.startswith("file_not_removed")]) == 3
    for path in in_the_way:
        path.rmdir()
    assert expire_files(house.backends) == 5


def test_what_failed_and_cancelled_exports_left_is_removed_and_nothing_else(house: House) -> None:
    """Killed workers leave open uploads, and files that were complete and not recorded."""
    storage = house.backends.storage
    lost = []
    for _ in range(3):
        lost.append(admit(house))
        with pytest.raises(Killed):
            killed_at(house, "upload recorded").work("export")
    failed, cancelled, running = lost
    ready = request_file(house, "ada")
    put_file(house, failed, CONTENT)
    fail(house.backends, Receive(house.workspace_id, failed, 1), SourceUnavailable("Away."))
    cancel_export(
        house.backends,
        house.workspace_id,
        by=house.by("ada"),
        export_id=cancelled,
    )
    assert len(storage.open_uploads("")) == 3

    assert expire_files(house.backends) == 2

    assert [is_there(house, one) for one in (failed, cancelled, ready)] == [False, False, True]
    assert [one.upload_id for one in storage.open_uploads("")] == [
        export_of(house, running).upload_id
    ]
    for export_id, state in ((failed, "failed"), (cancelled, "cancelled")):
        export = export_of(house, export_id)
        assert (export.state, export.upload_id, export.removed_at) == (state, None, MONDAY)
    assert expire_files(house.backends) == 0
