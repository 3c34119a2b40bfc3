"""``/metrics``: who may read it, that it tells what is so, and what it costs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.model.errors import SourceUnavailable
from queries_orchestration.store import claims, counters, database, vitals
from queries_orchestration.store.database import Database, attempt
from queries_orchestration.store.tables import (
    deliveries,
    exports,
    occurrences,
    offers,
    receives,
    schedules,
)
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.monitoring.scraped import TOKEN, scrape, value
from queries_orchestration_tests.store.test_due_scan import plans
from queries_orchestration_tests.store.valid_rows import SLOT, insert_waiting, set_up
from queries_orchestration_tests.web.site import Site, open_site

BEARER = {"Authorization": f"Bearer {TOKEN}"}


def test_only_the_token_reads_it(site: Site) -> None:
    told = [
        site.client.get("/metrics", headers=headers).status_code
        for headers in (
            {},
            {"Authorization": "Bearer "},
            {"Authorization": f"Bearer {TOKEN}x"},
            {"Authorization": f"Basic {TOKEN}"},
            site.as_("ada"),
            BEARER,
        )
    ]
    assert told == [401] * 5 + [200]


def test_without_a_token_in_the_settings_there_is_no_such_address(house: House) -> None:
    with open_site(house) as site:
        nowhere = site.client.get("/metrics/nowhere", headers=BEARER)
        answers = [site.client.get("/metrics", headers=one) for one in ({}, BEARER)]
    assert [answer.status_code for answer in (nowhere, *answers)] == [404] * 3
    assert {answer.text for answer in answers} == {nowhere.text}


def test_a_delivery_is_counted_as_it_is_settled(site: Site) -> None:
    house = site.house
    before = scrape(site)
    assert house.deliver(MONDAY) == ["delivered"]
    after = scrape(site)

    assert value(before, "queries_receives_started_total", lane="delivery") == 0
    assert value(after, "queries_receives_started_total", lane="delivery") == 1
    settled = "queries_occurrences_settled_total"
    assert value(before, settled, outcome="delivered", code="") is None
    assert value(after, settled, outcome="delivered", code="") == 1
    assert value(after, "queries_exports_settled_total", state="ready", code="") == 1
    told = "queries_deliveries_settled_total"
    assert value(after, told, state="sent", code="") == 2
    assert value(after, told, state="skipped", code="inactive") == 1
    assert value(after, "queries_dispatcher_silence_seconds", dispatcher="deliveries") is not None


def test_failures_and_pauses_are_counted_by_their_codes(site: Site) -> None:
    house = site.house
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO elsewhere"))
    engine.dispose()
    for number in range(5):
        assert house.deliver(MONDAY + number * WEEK) == ["source_broken"]
    after = scrape(site)

    assert value(after, "queries_schedule_run_failed_total", code="source_broken") == 5
    assert value(after, "queries_schedule_auto_paused_total", code="five_failures") == 1
    assert value(after, "queries_receives_failed_total", lane="delivery", code="source_broken") == 5
    assert value(after, "queries_dead_letters_total", lane="delivery") == 0


def test_no_number_goes_back_when_the_history_goes(site: Site) -> None:
    house = site.house
    assert house.deliver(MONDAY) == ["delivered"]
    before = scrape(site)
    with house.backends.database.across.transaction() as connection:
        for table in (deliveries, receives, offers):
            connection.execute(sa.delete(table))
    after = scrape(site)

    assert {
        series: number for series, number in before.items() if series[0].endswith("_total")
    } == {series: number for series, number in after.items() if series[0].endswith("_total")}


def test_work_is_told_by_lane_and_state_with_the_age_of_the_oldest(site: Site) -> None:
    house = site.house
    export = house.ask_export()
    _age(house, export, timedelta(minutes=10))
    waiting = scrape(site)
    (offer,) = house.offer("export")
    offered = scrape(site)
    with house.backends.database.across.transaction() as connection:
        claims.start(
            connection, house.workspace_id, export, offer_number=offer.number, run_id="test"
        )
    running = scrape(site)

    states = [
        [
            value(samples, "queries_work", lane="export", state=state)
            for state in ("waiting", "delayed", "offered", "running")
        ]
        for samples in (waiting, offered, running)
    ]
    assert states == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    ages = [
        value(one, "queries_oldest_waiting_seconds", lane="export") for one in (waiting, running)
    ]
    assert ages[0] is not None
    assert 600 <= ages[0] < 700
    assert ages[1] == 0
    assert value(offered, "queries_oldest_offer_seconds", lane="export") is not None


def test_what_is_due_and_not_admitted_is_told_with_its_lag(site: Site) -> None:
    house = site.house
    house.clock.at = MONDAY + timedelta(minutes=7)
    late = scrape(site)
    house.dispatch(house.clock.at)
    admitted = scrape(site)

    assert value(late, "queries_due_schedules") == 1
    assert value(late, "queries_due_lag_seconds") == 420
    assert (
        value(admitted, "queries_due_schedules") == value(admitted, "queries_due_lag_seconds") == 0
    )


def test_a_store_that_does_not_answer_is_told_and_is_no_error(site: Site) -> None:
    house = site.house
    away = replace(
        house.backends,
        database=Database("postgresql+psycopg2://x@127.0.0.1:1/x"),
        settings=replace(house.backends.settings, metrics_token=TOKEN),
    )
    with open_site(house.with_backends(away)) as unready:
        samples = scrape(unready)
    assert value(samples, "queries_store_unavailable") == 1
    assert value(scrape(site), "queries_store_unavailable") == 0
    assert value(samples, "queries_due_schedules") is None


def test_refused_links_are_counted_and_not_whose(site: Site) -> None:
    assert site.client.get("/d/no-such-token").status_code == 410
    assert site.client.get("/u/no-such-token").status_code == 410
    samples = scrape(site)
    assert value(samples, "queries_link_refusals_total", answer="refused") == 2
    assert value(samples, "queries_link_refusals_total", answer="too_many") == 0


def test_no_label_holds_what_a_workspace_has_named(site: Site) -> None:
    house = site.house
    house.deliver(MONDAY)
    text = site.client.get("/metrics", headers=BEARER).text
    for name in ("acme", "weekly", "ada", "example.org", house.workspace_id, house.schedule().id):
        assert name not in text


def test_what_is_rolled_back_is_not_counted(database: Database) -> None:
    def count_in_vain(within: AbstractContextManager[object], connection: Connection) -> None:
        with within:
            counters.count(connection, counters.DEAD_LETTERS, label="delivery", by=7)
            raise SourceUnavailable("x")

    with pytest.raises(SourceUnavailable), database.across.transaction() as connection:
        count_in_vain(nullcontext(), connection)
    with database.across.transaction() as connection:
        counters.count(connection, counters.DEAD_LETTERS, label="delivery")
        with suppress(SourceUnavailable):
            count_in_vain(attempt(connection), connection)
        counters.count(connection, counters.DEAD_LETTERS, label="delivery", by=2)
    with database.across.transaction() as connection:
        counters.count(connection, counters.DEAD_LETTERS, label="delivery")

    with database.across.read() as connection:
        assert [(one.label, one.value) for one in counters.read(connection)] == [("delivery", 4)]


def test_two_who_count_the_same_in_another_order_lose_nothing_and_wait_for_nobody(
    database: Database,
) -> None:
    def settle(lanes: tuple[str, str]) -> None:
        for _ in range(20):
            with database.across.transaction() as connection:
                for lane in lanes:
                    counters.count(connection, counters.DEAD_LETTERS, label=lane)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(settle, [("delivery", "export"), ("export", "delivery")]))

    with database.across.read() as connection:
        assert [one.value for one in counters.read(connection)] == [40, 40]


def test_a_scrape_reads_no_history(database: Database) -> None:
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        insert_waiting(connection, "acme", 2_000, lane="export", not_before=SLOT)
        connection.execute(sa.text("UPDATE claims SET state = 'done'"))
        insert_waiting(connection, "acme", 5, lane="delivery", not_before=SLOT)

    def ask(connection: Connection) -> None:
        vitals.read(connection, at=SLOT, silence=120)

    for table in (occurrences, receives, deliveries, exports, offers, schedules):
        for plan in plans(database, ask, table):
            whole = (f"SCAN {table.name}\n", f"Seq Scan on {table.name}")
            assert not any(one in f"{plan}\n" for one in whole), plan
    of_what_is_not_done = ("ix_claims_unfinished", "ix_claims_waiting", "ix_claims_offered")
    for plan in plans(database, ask, sa.Table("claims", sa.MetaData())):
        assert any(index in plan for index in of_what_is_not_done), plan
        assert "Seq Scan on claims" not in plan, plan


def _age(house: House, key: str, age: timedelta) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE claims SET not_before = :at WHERE key = :key").bindparams(
                sa.bindparam("at", database.now(connection) - age, type_=_INSTANT), key=key
            )
        )


_INSTANT = offers.c.offered_at.type
