"""What only the surroundings made fail comes again, each time later: storage, source, store."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.deliveries.recover import recover_silent
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.store import database as store_database, tables
from queries_orchestration.store.database import Database
from queries_orchestration_tests.downloads import export_of
from queries_orchestration_tests.exports.admitted import admit, at_point
from queries_orchestration_tests.house import House
from queries_orchestration_tests.no_runs import NoRuns

NOWHERE = "postgresql+psycopg2://nobody@127.0.0.1:1/nothing"


@dataclass(frozen=True)
class Ended:
    """How a receive ended: its code, and the seconds until the work may be offered again."""

    code: str | None
    delay: float | None


def last_receive(house: House, export_id: str) -> Ended:
    receives, claims = tables.receives, tables.claims
    with house.backends.database.across.read() as connection:
        row = connection.execute(
            sa.select(receives.c.code, receives.c.ended_at, claims.c.not_before, claims.c.state)
            .join(claims, claims.c.key == receives.c.key)
            .where(receives.c.key == export_id)
            .order_by(receives.c.number.desc())
            .limit(1)
        ).one()
    if row.state == "done":
        return Ended(row.code, None)
    return Ended(row.code, round((row.not_before - row.ended_at).total_seconds()))


def let_time_pass(house: House) -> None:
    """Let what waits for another receive be offered now."""
    with house.backends.database.across.transaction() as connection:
        at = store_database.now(connection)
        connection.execute(
            sa.update(tables.claims)
            .where(tables.claims.c.state == "waiting")
            .values(not_before=at - timedelta(seconds=1))
        )


def patient(house: House) -> House:
    """The house with the delays that production has."""
    settings = replace(house.backends.settings, retry_delay=60.0)
    return house.with_backends(replace(house.backends, settings=settings))


def work_again(house: House) -> list[str]:
    assert house.work("export") == []  # not yet
    let_time_pass(house)
    return house.work("export")


def files_of(house: House) -> Path:
    return house.folder / "home" / "files"


def without_storage(house: House) -> Callable[[], object]:
    """Take the folder of the files away; returns what brings it back."""
    folder = files_of(house)
    kept = folder.with_name("kept")
    if folder.exists():
        folder.rename(kept)
    else:
        kept.mkdir(parents=True)
    folder.write_text("no folder")

    def back() -> None:
        folder.unlink()
        kept.rename(folder)

    return back


def without_source(house: House) -> Callable[[], object]:
    """Let the source's database be elsewhere; returns what brings it back."""
    environment = dict(house.environment)
    changed: dict[str, str] = house.backends.environment  # type: ignore[assignment]
    changed["SHOP_URL"] = NOWHERE
    return lambda: changed.update(environment)


@pytest.mark.parametrize(
    ("take_away", "code"),
    [(without_storage, "storage_unavailable"), (without_source, "source_unavailable")],
)
def test_storage_or_source_away_comes_again_ever_later_and_then_makes_the_file(
    house: House, take_away: Callable[[House], Callable[[], object]], code: str
) -> None:
    house = patient(house)
    house = house.with_backends(
        replace(house.backends, environment=dict(house.backends.environment))
    )
    export_id = admit(house)

    bring_back = take_away(house)
    assert house.work("export") == [code]
    assert last_receive(house, export_id) == Ended(code, 60)
    assert work_again(house) == [code]
    assert last_receive(house, export_id) == Ended(code, 240)
    bring_back()

    assert work_again(house) == ["ready"]
    assert last_receive(house, export_id) == Ended(None, None)
    assert export_of(house, export_id).rows == 2_500


@pytest.mark.parametrize(
    ("take_away", "code"),
    [(without_storage, "storage_unavailable"), (without_source, "source_unavailable")],
)
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_what_stays_away_fails_the_export_after_the_third_receive(
    house: House, take_away: Callable[[House], Callable[[], object]], code: str
) -> None:
    house = patient(house)
    house = house.with_backends(
        replace(house.backends, environment=dict(house.backends.environment))
    )
    export_id = admit(house)
    take_away(house)

    assert [house.work("export"), work_again(house), work_again(house)] == [[code]] * 3

    export = export_of(house, export_id)
    assert (export.state, export.code) == ("failed", code)
    assert house.unsettled() == 0
    shutil.rmtree(files_of(house).with_name("kept"), ignore_errors=True)


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_an_upload_that_somebody_removed_comes_again(house: House) -> None:
    """The receive still holds its work: nothing is lost but the upload."""
    house = patient(house)
    export_id = admit(house)

    def remove() -> None:
        for upload in (files_of(house) / ".uploads").iterdir():
            upload.unlink()

    assert at_point(house, "written, not complete", remove).work("export") == [
        "storage_unavailable"
    ]
    assert last_receive(house, export_id) == Ended("storage_unavailable", 60)
    assert work_again(house) == ["ready"]


class Unplugged(Database):
    """A store that a worker reaches until it is unplugged."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._nowhere = Database(NOWHERE)
        self.is_away = False

    @contextmanager
    def transaction(self, workspace_id: str) -> Iterator[Connection]:
        opens = self._nowhere.transaction if self.is_away else super().transaction
        with opens(workspace_id) as opened:
            yield opened

    @contextmanager
    def read(self, workspace_id: str) -> Iterator[Connection]:
        opens = self._nowhere.read if self.is_away else super().read
        with opens(workspace_id) as opened:
            yield opened


def unplugged_at(house: House, point: str, first: Callable[[], None] = lambda: None) -> House:
    """Return the house whose store is away from ``point`` on; ``first`` is called before."""
    store = Unplugged(house.backends.database.url)

    def unplug() -> None:
        first()
        store.is_away = True

    return at_point(house.with_backends(replace(house.backends, database=store)), point, unplug)


def test_a_store_that_is_away_for_a_moment_lets_the_receive_come_again(house: House) -> None:
    house = patient(house)
    export_id = admit(house)

    def fail() -> None:
        raise StoreUnavailable("away")

    assert at_point(house, "page written", fail).work("export") == ["store_unavailable"]
    assert last_receive(house, export_id) == Ended("store_unavailable", 60)
    assert work_again(house) == ["ready"]


def test_a_store_that_stays_away_leaves_the_receive_to_recovery(house: House) -> None:
    house = patient(house)
    export_id = admit(house)
    (offer,) = house.offer("export")

    # Not even the failure can be written: the worker says so, and its heartbeat falls silent.
    unplugged = unplugged_at(house, "file complete, not recorded")
    assert unplugged.take(offer) == "store_unavailable"
    assert house.claim(export_id).state == "running"
    with house.backends.database.across.transaction() as connection:
        long_ago = store_database.now(connection) - timedelta(hours=1)
        connection.execute(sa.update(tables.claims).values(heartbeat_at=long_ago))
    assert recover_silent(house.backends, NoRuns()) == 1
    assert last_receive(house, export_id) == Ended("worker_lost", 60)

    assert work_again(house) == ["ready"]
    assert export_of(house, export_id).rows == 2_500
    assert house.backends.storage.open_uploads("") == []


def test_an_upload_that_cannot_be_recorded_does_not_stay_open(house: House) -> None:
    house = patient(house)
    export_id = admit(house)
    (offer,) = house.offer("export")

    def is_open() -> None:
        assert len(house.backends.storage.open_uploads("")) == 1

    unplugged = unplugged_at(house, "upload begun, not recorded", first=is_open)
    assert unplugged.take(offer) == "store_unavailable"

    assert house.backends.storage.open_uploads("") == []
    assert export_of(house, export_id).upload_id is None
