"""How a run ends in Dagster, for every way that its work can end: red only for what is final."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa
from dagster import DagsterRunStatus as Status

from queries_orchestration.communications.interface import Communications
from queries_orchestration.deliveries import make_file as make_file_step, recover
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.model.errors import SourceUnavailable
from queries_orchestration.orchestration import resources
from queries_orchestration.orchestration.dagster_runs import DagsterRuns
from queries_orchestration.orchestration.run_requests import run_request_of
from queries_orchestration.receives.backends import communications_of
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.orchestration.launches import execute

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"])

LATER = MONDAY + timedelta(days=2)


@dataclass(frozen=True)
class Case:
    """A house in which a run is to be executed."""

    house: House
    instance: dg.DagsterInstance
    patch: pytest.MonkeyPatch

    def offer(self) -> Offer:
        (offer,) = self.house.dispatch(MONDAY).offers
        return offer

    def run(self, offer: Offer) -> None:
        execute(self.instance, run_request_of(offer, self.house.backends.settings))

    def change(self, statement: str) -> None:
        """Change the application database."""
        with self.house.backends.database.across.transaction() as connection:
            connection.execute(sa.text(statement))

    def change_source(self, statement: str) -> None:
        """Change the database that is read from."""
        engine = sa.create_engine(self.house.environment["SHOP_URL"])
        with engine.begin() as connection:
            connection.execute(sa.text(statement))
        engine.dispose()

    def refuse(self, *addresses: str) -> None:
        """Let the mail server refuse some addresses for good."""

        def walled(*arguments: Any, **named: Any) -> Communications:
            inner = communications_of(*arguments, **named)
            return FaultyCommunications(inner, refused=set(addresses), unavailable={})

        self.patch.setattr(resources, "communications_of", walled)

    def meanwhile(self, happens: Callable[[], object]) -> None:
        """Let something happen in the step that makes the file."""
        make = make_file_step.make_file

        def interrupted(*arguments: Any) -> Any:
            happens()
            return make(*arguments)

        self.patch.setattr(make_file_step, "make_file", interrupted)


def _delivered(case: Case) -> None:
    case.run(case.offer())


def _delivered_partly(case: Case) -> None:
    case.refuse("bob@example.org")
    case.run(case.offer())


def _refused_by_all(case: Case) -> None:
    case.refuse("bob@example.org", "cyd@example.org")
    case.run(case.offer())


def _empty(case: Case) -> None:
    case.change("UPDATE schedules SET skip_empty = true")
    case.change_source("DELETE FROM orders")
    case.run(case.offer())


def _for_nobody(case: Case) -> None:
    case.change("UPDATE people SET active = false WHERE name <> 'ada'")
    case.run(case.offer())


def _too_late(case: Case) -> None:
    case.change("UPDATE schedules SET lateness_limit = 3600")
    offer = case.offer()
    case.patch.setattr(resources, "system_clock", lambda: LATER)
    case.run(offer)


def _away(*_arguments: object) -> None:
    raise SourceUnavailable("The source is away.")


def _away_once(case: Case) -> None:
    case.patch.setattr(make_file_step, "make_file", _away)
    case.run(case.offer())


def _away_thrice(case: Case) -> None:
    _away_once(case)
    for _ in range(2):
        case.change("UPDATE claims SET not_before = '2000-01-01 00:00:00.000000'")
        (again,) = case.house.offer(DELIVERY_LANE)
        case.run(again)


def _broken(case: Case) -> None:
    case.change_source("ALTER TABLE orders RENAME COLUMN region TO elsewhere")
    case.run(case.offer())


def _access_lost(case: Case) -> None:
    case.change("UPDATE people SET roles = '[\"reader\"]' WHERE name = 'ada'")
    case.run(case.offer())


def _settled_before(case: Case) -> None:
    offer = case.offer()
    case.house.take(offer)
    case.run(offer)


def _gone(case: Case) -> None:
    offer = case.offer()
    case.change("DELETE FROM offers")
    case.change("DELETE FROM claims")
    case.change("DELETE FROM occurrences")
    case.run(offer)


def _taken_by_another(case: Case) -> None:
    offer = case.offer()
    case.meanwhile(
        lambda: case.change("UPDATE claims SET receive_number = receive_number + 1"),
    )
    case.run(offer)


def _cancelled_meanwhile(case: Case) -> None:
    offer = case.offer()
    case.meanwhile(
        lambda: recover.cancel(
            case.house.backends, DELIVERY_LANE, case.house.workspace_id, offer.key
        )
    )
    case.run(offer)


def _exported(case: Case) -> None:
    case.house.ask_export()
    (offer,) = case.house.offer(EXPORT_LANE)
    case.run(offer)


def _export_broken(case: Case) -> None:
    case.change_source("ALTER TABLE orders RENAME COLUMN region TO elsewhere")
    _exported(case)


def _export_cancelled(case: Case) -> None:
    export_id = case.house.ask_export()
    (offer,) = case.house.offer(EXPORT_LANE)
    cancel_export(
        case.house.backends,
        case.house.workspace_id,
        by=case.house.by("ada"),
        export_id=export_id,
    )
    case.run(offer)


def test_a_run_that_was_reported_lost_stays_red_when_its_worker_comes_back(
    job_house: House, instance: dg.DagsterInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = Case(job_house, instance, monkeypatch)
    offer = case.offer()

    def lost() -> None:
        DagsterRuns(instance).report_lost(instance.get_runs(limit=1)[0].run_id)
        case.change("UPDATE claims SET receive_number = receive_number + 1")

    case.meanwhile(lost)
    case.run(offer)

    assert instance.get_runs(limit=1)[0].status == Status.FAILURE


@pytest.mark.parametrize(
    ("happens", "status", "told"),
    [
        (_delivered, Status.SUCCESS, "delivered"),
        (_delivered_partly, Status.SUCCESS, "delivered_partly"),
        (_empty, Status.SUCCESS, "skipped_empty"),
        (_for_nobody, Status.SUCCESS, "no_recipients"),
        (_too_late, Status.SUCCESS, "missed"),
        (_away_once, Status.SUCCESS, "tried_again"),
        (_settled_before, Status.SUCCESS, "nothing_to_do"),
        (_gone, Status.SUCCESS, "nothing_to_do"),
        (_taken_by_another, Status.SUCCESS, "superseded"),
        (_cancelled_meanwhile, Status.SUCCESS, "superseded"),
        (_exported, Status.SUCCESS, "ready"),
        (_export_cancelled, Status.SUCCESS, "nothing_to_do"),
        (_refused_by_all, Status.FAILURE, "failed"),
        (_away_thrice, Status.FAILURE, "failed"),
        (_broken, Status.FAILURE, "failed"),
        (_access_lost, Status.FAILURE, "failed"),
        (_export_broken, Status.FAILURE, "failed"),
    ],
)
def test_a_run_is_red_only_if_somebody_is_needed(
    job_house: House,
    instance: dg.DagsterInstance,
    monkeypatch: pytest.MonkeyPatch,
    happens: Callable[[Case], None],
    status: Status,
    told: str,
) -> None:
    happens(Case(job_house, instance, monkeypatch))

    newest = instance.get_runs(limit=1)[0]
    assert (newest.status, newest.tags["queries/outcome"]) == (status, told)
    red = [run for run in instance.get_runs() if run.status == Status.FAILURE]
    assert len(red) == (1 if status == Status.FAILURE else 0)
    settled = {one.outcome for one in job_house.history()}
    if told in ("failed", "delivered", "missed", "skipped_empty", "no_recipients"):
        assert settled in ({told}, set())
