"""A small organisation to test with: one workspace, a source of orders, a weekly schedule.

It stands in real databases and folders; its settings reach child processes through the
environment, so that a test can kill one.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path
from typing import Final

import sqlalchemy as sa

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.deliveries import receive as deliveries_receive
from queries_orchestration.deliveries.dispatch import Pass, run_pass
from queries_orchestration.exports import receive as exports_receive
from queries_orchestration.exports.admit import admit_export
from queries_orchestration.model.audit import OPERATOR, By
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.model.outcomes import Outcome
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.receives.start import NothingToDo
from queries_orchestration.reports import receive as reports_receive
from queries_orchestration.settings import (
    DELIVERY_LANE,
    EXPORT_LANE,
    REPORT_LANE,
    load_settings,
)
from queries_orchestration.store import (
    claims,
    cross_workspace,
    deliveries,
    exports,
    occurrences,
    people,
    schedules,
)
from queries_orchestration.store.claims import Claim
from queries_orchestration.store.deliveries import Delivery
from queries_orchestration.store.exports import Export
from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration.store.offers import Offer
from queries_orchestration.store.schedules import Schedule
from queries_orchestration_tests.no_runs import NoRuns

MONDAY = datetime(2027, 1, 4, 7, 0, tzinfo=UTC)
"""The first slot: Monday 08:00 in Berlin."""
SET_UP = MONDAY - timedelta(days=3)
WEEK = timedelta(days=7)

CATALOG = """\
workspace:
  name: acme
  title: Acme
  time_zone: Europe/Berlin
people:
  ada: {title: Ada Owner, address: ada@example.org, roles: [author]}
  bob: {title: Bob Buyer, address: bob@example.org, roles: [reader]}
  cyd: {title: Cyd Clerk, address: cyd@example.org, roles: [reader]}
  dan: {title: Dan Gone, address: dan@example.org, roles: [reader], active: false}
connections:
  shop: {url_variable: SHOP_URL}
datasets:
  orders:
    title: Orders
    connection: shop
    relation: orders
    fields:
      id: {type: integer, nullable: false}
      region: {type: text}
      amount: {type: decimal}
    key: [id]
    access:
      - {who: {roles: [author]}, fields: all, rows: all}
queries:
  all-orders:
    title: All orders
    dataset: orders
    fields: [{field: id, label: Order}, {field: region, label: Region}, {field: amount}]
  no-orders:
    title: Orders of nobody
    dataset: orders
    fields: [{field: id}]
    filters: [{field: region, op: eq, value: nowhere}]
schedules:
  weekly:
    title: Weekly orders
    query: all-orders
    owner: ada
    cron: 0 8 * * 1
    time_zone: Europe/Berlin
    format: csv
    recipients: [bob, dan, cyd]
"""


class TestClock:
    """A calendar clock that stands still until it is set."""

    __test__ = False

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        return self.at


WORK: Final[Mapping[str, Callable[..., Export | Outcome | NothingToDo]]] = {
    DELIVERY_LANE: deliveries_receive.work,
    EXPORT_LANE: exports_receive.work,
    REPORT_LANE: reports_receive.work,
}
"""What works one receive, by lane."""


@dataclass(frozen=True, kw_only=True)
class House:
    """The organisation, its backends and where everything lies."""

    backends: Backends
    clock: TestClock
    environment: Mapping[str, str]
    folder: Path
    workspace_id: str

    def schedule(self, name: str = "weekly") -> Schedule:
        with self.backends.database.across.read() as connection:
            found = schedules.by_name(connection, self.workspace_id, name)
        assert found is not None
        return found

    def person(self, name: str) -> str:
        """The id of a person."""
        with self.backends.database.across.read() as connection:
            found = people.by_name(connection, self.workspace_id, name)
        assert found is not None
        return found.id

    def by(self, name: str) -> By:
        """A person who asks at the command line."""
        return By(via="command", person_id=self.person(name))

    def occurrence(self, key: str) -> Occurrence:
        with self.backends.database.across.read() as connection:
            found = occurrences.get(connection, self.workspace_id, key)
        assert found is not None
        return found

    def claim(self, key: str) -> Claim:
        with self.backends.database.across.read() as connection:
            found = claims.get(connection, self.workspace_id, key)
        assert found is not None
        return found

    def history(self, name: str = "weekly") -> list[Occurrence]:
        """All occurrences of a schedule, the oldest slot first."""
        schedule = self.schedule(name)
        with self.backends.database.across.read() as connection:
            found = occurrences.history(connection, self.workspace_id, schedule.id, limit=10_000)
        return sorted(found, key=lambda one: (one.slot or one.admitted_at, one.key))

    def deliveries(self, key: str) -> dict[str, Delivery]:
        """The deliveries of an occurrence by the person's name, or the outside address's."""
        with self.backends.database.across.read() as connection:
            rows = deliveries.of_occurrence(connection, self.workspace_id, key)
            told = connection.execute(
                sa.text(
                    "SELECT id, name FROM people"
                    " UNION ALL SELECT id, COALESCE(title, address) FROM outside_addresses"
                )
            )
            names = {row.id: row.name for row in told}
        return {names[row.recipient_id]: row for row in rows}

    def export(self, key: str) -> Export:
        export_id = self.occurrence(key).export_id
        assert export_id is not None
        with self.backends.database.across.read() as connection:
            found = exports.get(connection, self.workspace_id, export_id)
        assert found is not None
        return found

    def ask_export(
        self, source: str = "all-orders", *, person: str = "ada", file_format: str = "csv"
    ) -> str:
        """Let a person ask for a file of a query or report; returns the export's id."""
        return admit_export(
            self.backends,
            self.workspace_id,
            by=self.by(person),
            source_name=source,
            file_format=file_format,
            given_values={},
        )

    def asked_export(self, export_id: str) -> Export:
        """An export that a person asked for."""
        with self.backends.database.across.read() as connection:
            found = exports.get(connection, self.workspace_id, export_id)
        assert found is not None
        return found

    def file(self, key: str) -> bytes:
        """The bytes of an occurrence's file."""
        with self.backends.storage.open(self.export(key).storage_key) as file:
            return file.read()

    def messages(self) -> list[EmailMessage]:
        """All messages in the mailbox that deliver something."""
        return self._mailbox(notices=False)

    def notices(self) -> list[EmailMessage]:
        """All messages in the mailbox that tell of a failure or a pause."""
        return self._mailbox(notices=True)

    def _mailbox(self, *, notices: bool) -> list[EmailMessage]:
        found = []
        for path in sorted((self.folder / "home" / "mailbox").glob("*.eml")):
            if path.name.startswith("notice.") != notices:
                continue
            message = message_from_bytes(path.read_bytes(), policy=policy.default)
            assert isinstance(message, EmailMessage)
            found.append(message)
        return found

    def told(self) -> list[tuple[str, str]]:
        """Who was told of failures and pauses, each with the subject; sorted."""
        return sorted(
            (address.addr_spec, str(message["Subject"]))
            for message in self.notices()
            for address in message["To"].addresses
        )

    def addressees(self) -> list[str]:
        """To whom the messages in the mailbox go, sorted; one entry a message."""
        return sorted(
            address.addr_spec for message in self.messages() for address in message["To"].addresses
        )

    def dispatch(self, at: datetime) -> Pass:
        """Run one pass with the clock at ``at``."""
        self.clock.at = at
        return run_pass(self.backends, NoRuns(), at=at, offer=True)

    def offer(self, lane: str) -> list[Offer]:
        """Offer what waits in a lane, as its sensor does."""
        return offer_lane(self.backends.database, self.backends.settings, lane)

    def take(self, offer: Offer) -> str:
        """Work one receive; returns how it ended: the outcome, the error's code, or ``nothing``."""
        try:
            result = WORK[offer.lane](
                self.backends, offer.key, offer_number=offer.number, run_id="test"
            )
        except QueriesError as error:
            return error.code
        if isinstance(result, NothingToDo):
            return "nothing"
        return result if isinstance(result, str) else result.state

    def work(self, lane: str) -> list[str]:
        """Offer what waits in a lane and work it."""
        return [self.take(offer) for offer in self.offer(lane)]

    def deliver(self, at: datetime) -> list[str]:
        """Run one pass and work everything it offers."""
        return [self.take(offer) for offer in self.dispatch(at).offers]

    def apply(self, text: str) -> None:
        """Apply one more catalog file."""
        path = self.folder / "more.yaml"
        path.write_text(text)
        apply_catalog(
            self.backends.database,
            [path],
            clock=self.clock,
            by=OPERATOR,
            environment=self.environment,
        )

    def with_backends(self, backends: Backends) -> House:
        return replace(self, backends=backends)

    def unsettled(self) -> int:
        with self.backends.database.across.read() as connection:
            return len(cross_workspace.unfinished(connection, silence=1))


def build_house(
    folder: Path,
    store_url: str,
    source_url: str,
    *,
    catalog: str = CATALOG,
    rows: int = 2_500,
    at: datetime = SET_UP,
    settings: Mapping[str, str] | None = None,
) -> House:
    """Set the organisation up in ``folder`` and the two databases.

    Leases, heartbeats and retries are short, so that a test sees them end.
    """
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "QUERIES_HOME": str(folder / "home"),
        "QUERIES_DATABASE_URL": store_url,
        "QUERIES_LINK_KEYS": f"test:{'s' * 40}",
        "QUERIES_PUBLIC_URL": "https://queries.example.org",
        "QUERIES_OFFER_LEASE": "1",
        "QUERIES_HEARTBEAT_INTERVAL": "0.2",
        "QUERIES_HEARTBEAT_SILENCE": "1",
        "QUERIES_RETRY_DELAY": "0.001",
        "SHOP_URL": source_url,
        **(settings or {}),
    }
    make_orders(source_url, rows)
    clock = TestClock(at)
    # Connections are kept, as a web server has them: to open one takes longer than most of what is
    # tested. The processes that a test starts open one a transaction, as workers do.
    backends = open_backends(load_settings(environment), environment, clock, kept_connections=3)
    path = folder / "catalog.yaml"
    path.write_text(catalog)
    apply_catalog(backends.database, [path], clock=clock, by=OPERATOR, environment=environment)
    with backends.database.across.read() as connection:
        workspace_id = connection.scalar(sa.text("SELECT id FROM workspaces WHERE name='acme'"))
    return House(
        backends=backends,
        clock=clock,
        environment=environment,
        folder=folder,
        workspace_id=str(workspace_id),
    )


def make_orders(source_url: str, rows: int) -> None:
    """Make the source's one table: ids from 1, a region, an exact amount."""
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(
            sa.text(
                "CREATE TABLE orders (id integer PRIMARY KEY, region text, amount numeric(12,2))"
            )
        )
        if rows:
            connection.execute(
                sa.text(
                    "WITH RECURSIVE numbers(n) AS"
                    " (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :rows)"
                    " INSERT INTO orders SELECT n, 'r' || (n % 7), n + 0.25 FROM numbers"
                ),
                {"rows": rows},
            )
    engine.dispose()
