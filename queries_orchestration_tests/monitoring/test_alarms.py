"""``queries check`` and the alarms of Prometheus tell the same of the same trouble."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, Final, NoReturn

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries import dispatch
from queries_orchestration.deliveries.check import check
from queries_orchestration.deliveries.offer_round import offer_round
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.deliveries.stop_dispatch import stop_dispatch
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import SourceUnavailable, StoreUnavailable
from queries_orchestration.receives.start import start
from queries_orchestration.retention import upkeep
from queries_orchestration.retention.retain import retain
from queries_orchestration.retention.upkeep import sweep
from queries_orchestration.settings import LANE_WIDTHS, RUN_LIMITS
from queries_orchestration.store import database, dispatchers
from queries_orchestration.store.dispatchers import DELIVERY_DISPATCHER, UPKEEP
from queries_orchestration.store.tables import claims, dispatcher_heartbeats
from queries_orchestration_tests.house import MONDAY, SET_UP, House
from queries_orchestration_tests.monitoring.scraped import going_off, scrape
from queries_orchestration_tests.no_runs import NoRuns
from queries_orchestration_tests.retention.retained import Runs
from queries_orchestration_tests.web.site import Site

MINUTE: Final = timedelta(minutes=1)
HOUR: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)
Trouble = Callable[[House], None]


def _change(house: House, table: sa.Table, column: str, age: timedelta) -> None:
    with house.backends.database.across.transaction() as connection:
        then = database.now(connection) - age
        connection.execute(sa.update(table).values({column: then}))


def _passes_age(age: timedelta) -> Trouble:
    def trouble(house: House) -> None:
        offer_round(house.backends, NoRuns(), "export")
        _change(house, dispatcher_heartbeats, "pass_ended_at", age)

    return trouble


def _a_sensor_falls_silent(house: House) -> None:
    offer_round(house.backends, NoRuns(), "report")
    _change(house, dispatcher_heartbeats, "pass_ended_at", 4 * MINUTE)
    house.dispatch(SET_UP)


def _no_pass_ever(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.delete(dispatcher_heartbeats))


def _a_pass_fails(house: House) -> None:
    """The first of its sensor that there ever was."""

    class Failing(NoRuns):
        def of_offer(self, offer: object) -> NoReturn:
            raise StoreUnavailable("away")

    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.delete(dispatcher_heartbeats).where(
                dispatcher_heartbeats.c.dispatcher == "offer_exports"
            )
        )
    house.ask_export()
    assert house.offer("export")
    with pytest.raises(StoreUnavailable):
        offer_round(house.backends, Failing(), "export")


def _dispatching_is_stopped(house: House) -> None:
    stop_dispatch(house.backends, by=OPERATOR, name="root", reason="A test.")


def _a_slot_is_late(age: timedelta) -> Trouble:
    def trouble(house: House) -> None:
        house.clock.at = MONDAY + age

    return trouble


def _work_waits(age: timedelta) -> Trouble:
    def trouble(house: House) -> None:
        house.ask_export()
        _change(house, claims, "not_before", age)

    return trouble


def _a_worker_is_lost(house: House) -> None:
    export = house.ask_export()
    (offer,) = house.offer("export")
    start(house.backends, export, lane="export", offer_number=offer.number, run_id="test")
    _change(house, claims, "heartbeat_at", 4 * MINUTE)


def _it_fails_three_times(house: House) -> None:
    house.ask_export()
    away = {**house.environment, "SHOP_URL": "postgresql+psycopg2://x@127.0.0.1:1/x"}
    cut_off = house.with_backends(replace(house.backends, environment=away))
    for _ in range(3):
        _change(house, claims, "not_before", MINUTE)
        assert cut_off.work("export") == [SourceUnavailable.code]


def _upkeep_age(age: timedelta) -> Trouble:
    def trouble(house: House) -> None:
        retain(house.backends, Runs(), do=True)
        sweep(house.backends)
        _change(house, dispatcher_heartbeats, "pass_ended_at", age)
        house.dispatch(SET_UP)
        offer_round(house.backends, NoRuns(), "export")

    return trouble


def _retention_always_fails(house: House) -> None:
    _upkeep_age(3 * DAY)(house)
    sweep(house.backends)
    files = Path(house.backends.storage.location("any")).parent
    files.parent.mkdir(exist_ok=True)
    files.write_text("no folder")
    retain(house.backends, Runs(), do=True)


def _upkeep_only_counts(house: House) -> None:
    _upkeep_age(3 * DAY)(house)
    sweep(house.backends)
    retain(house.backends, Runs(), do=False)


def _retention_sweeps(house: House) -> None:
    _upkeep_age(3 * DAY)(house)
    retain(house.backends, Runs(), do=True)


def _first_retention_works(house: House) -> None:
    upkeep.begin(house.backends, "retention")


def _just_made(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.delete(dispatcher_heartbeats))
        dispatchers.expect(connection, DELIVERY_DISPATCHER, *UPKEEP)


def _never_started(house: House) -> None:
    _just_made(house)
    _change(house, dispatcher_heartbeats, "pass_ended_at", 3 * DAY)


def _nothing(_house: House) -> None:
    pass


TROUBLES: Final[dict[str, tuple[Trouble, set[str]]]] = {
    "none": (_nothing, set()),
    "a pass a moment ago": (_passes_age(2 * MINUTE), set()),
    "no pass for long": (_passes_age(4 * MINUTE), {"dispatcher_silent"}),
    "no pass ever": (_no_pass_ever, {"dispatcher_silent"}),
    "a sensor is silent": (_a_sensor_falls_silent, {"dispatcher_silent"}),
    "a pass failed": (_a_pass_fails, {"dispatcher_failing"}),
    "dispatching is stopped": (_dispatching_is_stopped, {"dispatch_stopped"}),
    "a slot is due": (_a_slot_is_late(4 * MINUTE), set()),
    "a slot is overdue": (_a_slot_is_late(6 * MINUTE), {"schedules_overdue"}),
    "work waits": (_work_waits(29 * MINUTE), set()),
    "work is stuck": (_work_waits(31 * MINUTE), {"stuck"}),
    "a worker is lost": (_a_worker_is_lost, {"worker_silent"}),
    "the upkeep of yesterday": (_upkeep_age(47 * HOUR), set()),
    "no upkeep for days": (_upkeep_age(49 * HOUR), {"upkeep_silent"}),
    "a retention that fails": (_retention_always_fails, {"upkeep_silent"}),
    "a retention that counts": (_upkeep_only_counts, {"upkeep_silent"}),
    "the first retention works": (_first_retention_works, set()),
    "a retention, and no sweep": (_retention_sweeps, set()),
    "just made": (_just_made, set()),
    "made and never started": (_never_started, {"dispatcher_silent", "upkeep_silent"}),
    "dead letters": (_it_fails_three_times, {"dead_lettered"}),
}


@pytest.mark.parametrize("trouble", TROUBLES)
def test_check_and_the_alarms_tell_the_same(site: Site, trouble: str) -> None:
    house = site.house
    make, codes = TROUBLES[trouble]
    house.dispatch(SET_UP)
    before = scrape(site)
    make(house)

    assert _found(house) == codes
    assert going_off(before, scrape(site)) == codes


def _found(house: House) -> set[str]:
    found = check(
        house.backends.settings,
        house.backends.database,
        lane_limits=RUN_LIMITS,
        communications=house.backends.communications,
        at=house.clock.at,
    )
    return {one.code for one in found}


def test_messages_that_cannot_go_set_off_their_alarm(site: Site) -> None:
    house = site.house
    before = scrape(site)
    mailbox = house.folder / "home" / "mailbox"
    mailbox.parent.mkdir(exist_ok=True)
    mailbox.write_text("in the way")
    run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )
    house.work("delivery")

    assert "communications_unavailable" in going_off(before, scrape(site))
    assert "communications_unavailable" in _found(house)


def test_a_part_of_a_pass_that_fails_is_told_and_the_pass_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def expire_files(_backends: object) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(dispatch, "expire_files", expire_files)
    site.house.dispatch(SET_UP)

    with site.house.backends.database.across.read() as connection:
        (last,) = dispatchers.heartbeats(connection)
    assert last.pass_ended_at is not None
    assert (last.errors, last.failure_code) == (1, "unexpected_error")
    assert _found(site.house) == {"dispatcher_failing"}


def test_each_lane_has_a_dispatcher_that_writes_its_heartbeat(house: House) -> None:
    for lane in LANE_WIDTHS:
        offer_round(house.backends, NoRuns(), lane)
    with house.backends.database.across.read() as connection:
        passes: dict[str, Any] = {
            one.dispatcher: one.pass_ended_at for one in dispatchers.heartbeats(connection)
        }
    assert set(passes) == {"offer_deliveries", "offer_exports", "offer_reports"}
    assert all(passes.values())
