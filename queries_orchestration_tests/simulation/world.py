"""The product under the simulation: its own functions, its real stores, and clocks of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.recover import recover_silent, tend_offers
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import InvalidCatalog, QueriesError
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.settings import load_settings
from queries_orchestration.store import database, people, schedules
from queries_orchestration.store.offers import Offer
from queries_orchestration.store.schedules import Schedule
from queries_orchestration.store.tables import occurrences
from queries_orchestration_tests.house import WORK, TestClock, make_orders
from queries_orchestration_tests.no_runs import NoRuns
from queries_orchestration_tests.report_house import FakeWaiting
from queries_orchestration_tests.simulation.fates import Fate
from queries_orchestration_tests.simulation.mortal import Killed, process
from queries_orchestration_tests.simulation.organisation import START, WORKSPACES, Organisation
from queries_orchestration_tests.simulation.receives import KILLED


@dataclass(frozen=True, slots=True, kw_only=True)
class Passed:
    """What came of one dispatcher pass: its offers, or the step at which it was killed."""

    offers: tuple[Offer, ...] = ()
    killed_at: str | None = None


@dataclass(frozen=True, kw_only=True)
class World:
    """The product's functions over one store, each call a process with a fate."""

    backends: Backends
    clock: TestClock
    folder: Path
    workspace_ids: dict[str, str]

    def dispatch(self, fate: Fate) -> Passed:
        """Run a dispatcher pass."""
        backends = self.process(fate)
        try:
            done = run_pass(backends, NoRuns(), at=self.clock.at, offer=True)
        except Killed as killed:
            return Passed(killed_at=str(killed))
        assert done.held_by is None
        return Passed(offers=done.offers)

    def look(self, lane: str) -> list[Offer]:
        """Do what a lane's sensor does."""
        recover_silent(self.backends, NoRuns())
        tend_offers(self.backends, NoRuns(), lane)
        return offer_lane(self.backends.database, self.backends.settings, lane)

    def take(
        self,
        offer: Offer,
        fate: Fate,
        *,
        refuses: Callable[[str], bool] = lambda _address: False,
        meanwhile: Callable[[], object] = lambda: None,
    ) -> str:
        """Work one receive; returns its outcome, the code it ended with, or ``killed``."""
        backends = replace(self.process(fate, refuses), waiting=FakeWaiting(meanwhile))
        try:
            result = WORK[offer.lane](
                backends, offer.key, offer_number=offer.number, run_id="simulated"
            )
        except Killed:
            return KILLED
        except QueriesError as error:
            return error.code
        assert not isinstance(result, NothingToDo), result
        return result if isinstance(result, str) else result.state

    def process(
        self, fate: Fate, refuses: Callable[[str], bool] = lambda _address: False
    ) -> Backends:
        """Return the backends of a process that meets ``fate``."""
        return process(self.backends, fate, folder=self.folder, refuses=refuses)

    def apply(self, workspace: str, **sections: object) -> bool:
        """Apply a catalog file with these sections; False if it is refused."""
        heading = {"name": workspace, "title": workspace.title(), "time_zone": "Europe/Berlin"}
        path = self.folder / "edit.yaml"
        path.write_text(yaml.safe_dump({"workspace": heading, **sections}))
        try:
            apply_catalog(
                self.backends.database,
                [path],
                clock=self.clock,
                by=OPERATOR,
                environment=self.backends.environment,
                take_over=True,
            )
        except InvalidCatalog:
            return False
        return True

    def schedule(self, workspace: str, name: str) -> Schedule:
        with self.backends.database.across.read() as connection:
            found = schedules.by_name(connection, self.workspace_ids[workspace], name)
        assert found is not None
        return found

    def occurrence_of_render(self, export_id: str) -> str:
        """Return the occurrence that waits for a render."""
        with self.backends.database.across.read() as connection:
            key = connection.scalar(
                sa.select(occurrences.c.key).where(occurrences.c.export_id == export_id)
            )
        assert key is not None
        return str(key)

    def person(self, workspace: str, name: str) -> str:
        """Return the id of a person."""
        with self.backends.database.across.read() as connection:
            found = people.by_name(connection, self.workspace_ids[workspace], name)
        assert found is not None
        return found.id


@contextmanager
def no_waiting_for_disks(monkeypatch: pytest.MonkeyPatch, backends: Backends) -> Iterator[None]:
    """Let nothing wait for a disk: a kill is no power cut, and this is most of the time."""
    monkeypatch.setattr("os.fsync", lambda _descriptor: None)
    engine = backends.database._engine
    if not backends.database.is_sqlite:
        yield
        return

    def set_up(connection: sa.engine.interfaces.DBAPIConnection, _record: object) -> None:
        connection.cursor().execute("PRAGMA synchronous=OFF")

    sa.event.listen(engine, "connect", set_up)
    # While somebody is connected, no other one that closes writes the log back.
    with engine.connect():
        yield
    sa.event.remove(engine, "connect", set_up)


def build_world(
    folder: Path, store_url: str, organisation: Organisation, monkeypatch: pytest.MonkeyPatch
) -> World:
    """Set the organisation up, with leases, delays and policies as they are in production.

    Calendar and lease clock show the same, and go on only when the simulation says so.
    """
    environment = {
        "QUERIES_HOME": str(folder / "home"),
        "QUERIES_DATABASE_URL": store_url,
        "QUERIES_LINK_KEYS": f"test:{'s' * 40}",
        "QUERIES_PUBLIC_URL": "https://queries.example.org",
        "SHOP_URL": f"sqlite:///{folder / 'shop.db'}",
    }
    make_orders(environment["SHOP_URL"], 3)
    with sa.create_engine(f"sqlite:///{folder / 'broken.db'}").begin() as connection:
        connection.execute(sa.text("CREATE TABLE elsewhere (id integer PRIMARY KEY)"))
    clock = TestClock(START - timedelta(minutes=1))
    monkeypatch.setattr(database, "now", lambda _connection: clock.at)
    backends = open_backends(load_settings(environment), environment, clock)
    files = []
    for workspace in WORKSPACES:
        files.append(folder / f"{workspace}.yaml")
        files[-1].write_text(yaml.safe_dump(organisation.catalog(workspace)))
    apply_catalog(backends.database, files, clock=clock, by=OPERATOR, environment=environment)
    with backends.database.across.read() as connection:
        rows = connection.execute(sa.text("SELECT name, id FROM workspaces"))
        workspace_ids = {row.name: row.id for row in rows}
    return World(backends=backends, clock=clock, folder=folder, workspace_ids=workspace_ids)
