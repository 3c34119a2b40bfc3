"""``queries check``: what is not well, and what to do about it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.receives.start import start
from queries_orchestration.settings import RUN_LIMITS
from queries_orchestration.store import database, dispatchers
from queries_orchestration.store.database import Database
from queries_orchestration.store.dispatchers import DELIVERY_DISPATCHER
from queries_orchestration.store.tables import claims, dispatcher_heartbeats, offers, receives
from queries_orchestration_tests.cli.conftest import Answer, Call, Place
from queries_orchestration_tests.cli.workers import on_real_clock
from queries_orchestration_tests.communications.smtp_server import running_smtp
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.postgres import as_owner

DAGSTER_YAML = Path(__file__).parents[2] / "dagster.yaml"
HALF_HOUR = timedelta(minutes=30)
SECOND = timedelta(seconds=1)
EXPORT = ("export", "all-orders", "--as", "ada", "--format", "csv", "--no-wait")
RUN_NOW = ("run-now", "weekly", "--as", "ada", "--no-wait")


@pytest.fixture
def house(house: House) -> House:
    """The house where all is well: a Dagster home, and a pass that has just ended."""
    _put_dagster_yaml(house, DAGSTER_YAML.read_text())
    house.dispatch(house.clock.at)
    return house


def test_where_all_is_well_it_says_so_and_ends_with_0(house: House, call: Call) -> None:
    assert house.deliver(MONDAY) == ["delivered"]
    call(house.environment, *EXPORT)

    text = call(house.environment, "check")

    assert (text.status, text.out, text.err) == (0, "All is well.\n", "")
    assert call(house.environment, "check", "--json").json() == {"findings": []}


def test_a_dispatcher_that_has_ended_no_pass_for_three_minutes_is_silent(
    house: House, call: Call
) -> None:
    _age_pass(house, timedelta(minutes=2, seconds=50))
    assert call(house.environment, "check").status == 0
    _age_pass(house, timedelta(minutes=3, seconds=10))
    silent = call(house.environment, "check")
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.delete(dispatcher_heartbeats))
    never = call(house.environment, "check")

    assert (silent.status, never.status) == (1, 1)
    assert silent.out.startswith("dispatcher_silent: No dispatcher pass has ended since 2")
    assert never.out.startswith("dispatcher_silent: No dispatcher pass has ended ever")
    assert silent.out.count("\n") == never.out.count("\n") == 1
    assert "start `dagster dev`" in never.out


def test_passes_that_begin_and_never_end_are_silence_too(house: House, call: Call) -> None:
    _begin_pass(house)
    assert call(house.environment, "check").status == 0
    _age_pass(house, timedelta(minutes=4))
    _begin_pass(house)

    assert [one["code"] for one in _findings(call(house.environment, "check", "--json"))] == [
        "dispatcher_silent"
    ]


def test_what_failed_after_its_third_receive_is_told_for_a_day(house: House, call: Call) -> None:
    key = call(house.environment, *RUN_NOW).out.strip()
    export_id = call(house.environment, *EXPORT).out.strip()
    _work_without_source(house, "delivery", "export")

    findings = _findings(call(house.environment, "check", "--json"))
    text = call(house.environment, "check")
    _change(house, receives, ended_at=_ago(house, timedelta(days=1, minutes=1)))
    later = call(house.environment, "check")

    assert [(one["code"], one["workspace"], one["work"]) for one in findings] == [
        ("dead_lettered", "acme", key),
        ("dead_lettered", "acme", export_id),
    ]
    delivery, export = text.out.splitlines()
    assert delivery.startswith(
        "dead_lettered: acme/weekly: failed with source_unavailable after 3 receives, at "
    )
    assert "`queries history weekly`" in delivery
    assert "`queries run-now weekly --as PERSON`" in delivery
    assert export.startswith("dead_lettered: acme/all-orders: failed with source_unavailable")
    assert export_id in export
    assert later.status == 0


def test_what_was_refused_for_good_or_delivered_at_last_is_no_dead_letter(
    house: House, source_url: str, call: Call
) -> None:
    delivered = call(house.environment, *RUN_NOW).out.strip()
    _work_without_source(house, "delivery", receives_of_each=2)
    assert _work(house, "delivery") == "delivered"
    assert house.claim(delivered).receive_number == 3
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME COLUMN region TO area"))
    engine.dispose()
    call(house.environment, *RUN_NOW)
    assert house.work("delivery") == ["source_broken"]

    assert call(house.environment, "check").status == 0


def test_a_worker_that_is_not_heard_of_is_told_until_somebody_finds_its_work(
    house: House, call: Call
) -> None:
    export_id = _begun(house, call)
    assert call(house.environment, "check").status == 0
    _change(house, claims, heartbeat_at=_ago(house, 2 * SECOND))

    told = call(house.environment, "check")

    assert told.status == 1
    assert told.out.startswith("worker_silent: acme/all-orders: its worker was last heard of at 2")
    house.dispatch(house.clock.at)
    assert call(house.environment, "check").status == 0
    assert house.claim(export_id).state == "waiting"


def test_what_could_have_begun_half_an_hour_ago_is_stuck(house: House, call: Call) -> None:
    key = call(house.environment, *RUN_NOW).out.strip()
    _change(house, claims, not_before=_ago(house, HALF_HOUR - SECOND))
    assert call(house.environment, "check").status == 0
    _change(house, claims, not_before=_ago(house, HALF_HOUR + SECOND))

    told = call(house.environment, "check")

    (finding,) = _findings(call(house.environment, "check", "--json"))
    assert (finding["code"], finding["work"]) == ("stuck", key)
    assert told.out.startswith("stuck: acme/weekly: no run has taken it, which could have begun ")
    assert call(house.environment, "check", "--stuck-after", "60").status == 0


def test_offers_that_no_run_ever_takes_are_stuck_although_each_is_young(
    house: House, call: Call
) -> None:
    call(house.environment, *EXPORT)
    assert len(house.offer("export")) == 1
    assert call(house.environment, "check").status == 0
    _change(house, offers, offered_at=_ago(house, HALF_HOUR + SECOND))

    assert [one["code"] for one in _findings(call(house.environment, "check", "--json"))] == [
        "stuck"
    ]


def test_a_slot_that_waits_for_an_earlier_one_is_not_stuck_itself(house: House, call: Call) -> None:
    (first,) = house.dispatch(MONDAY).offers
    house.dispatch(MONDAY + WEEK)
    _change(house, claims, not_before=_ago(house, 2 * HALF_HOUR))

    (finding,) = _findings(call(house.environment, "check", "--json"))

    assert (finding["code"], finding["work"]) == ("stuck", first.key)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("limit: 2", "limit: 4", "lets 4 runs of lane export go at once, not 2"),
        ("value: report", "value: reports", "lets any number of runs of lane report go at once"),
        ("limit: 3", "limit: {env: LIMIT}", "runs of lane delivery go at once, not 3"),
        ("value: backfill", "value: other", "lets any number of runs of lane backfill go at once"),
    ],
)
def test_lane_limits_of_dagster_that_are_not_those_of_the_settings_are_told(
    before: str, after: str, said: str, small_house: House, call: Call
) -> None:
    small_house.dispatch(small_house.clock.at)
    _put_dagster_yaml(small_house, DAGSTER_YAML.read_text().replace(before, after, 1))

    told = call(small_house.environment, "check")

    assert (told.status, told.out.count("\n")) == (1, 1)
    assert told.out.startswith("lane_limits: dagster.yaml in DAGSTER_HOME ")
    assert said in told.out


@pytest.mark.parametrize("content", ["", "[", "concurrency: {runs: 3}"])
def test_a_dagster_yaml_without_limits_limits_no_lane(
    content: str, small_house: House, call: Call
) -> None:
    small_house.dispatch(small_house.clock.at)
    _put_dagster_yaml(small_house, content)

    assert len(_findings(call(small_house.environment, "check", "--json"))) == len(RUN_LIMITS)


def test_before_init_it_says_what_is_missing_and_makes_nothing(place: Place, call: Call) -> None:
    told = call(place.environment, "check")

    assert (told.status, told.err) == (1, "")
    assert [line.split(":")[0] for line in told.out.splitlines()] == [
        "not_initialised",
        "lane_limits",
    ]
    assert not place.home.exists()


def test_a_database_that_lacks_a_migration_is_told(house: House, call: Call) -> None:
    owned = Database(as_owner(house.backends.database.url))
    with owned.across.transaction() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '0010'"))

    (finding,) = _findings(call(house.environment, "check", "--json"))

    assert finding == {
        "code": "not_initialised",
        "message": "The application database is not there, or lacks migrations: run"
        " `queries init`.",
        "workspace": None,
        "work": None,
    }


def _findings(answer: Answer) -> list[dict[str, Any]]:
    assert (answer.status, answer.err) == (1, "")
    found: list[dict[str, Any]] = json.loads(answer.out)["findings"]
    return found


def _put_dagster_yaml(house: House, content: str) -> None:
    home = Path(house.environment["QUERIES_HOME"]) / "dagster"
    home.mkdir(parents=True, exist_ok=True)
    (home / "dagster.yaml").write_text(content)


def _ago(house: House, age: timedelta) -> datetime:
    with house.backends.database.across.read() as connection:
        return database.now(connection) - age


def _change(house: House, table: sa.Table, **values: Any) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(table).values(**values))


def _age_pass(house: House, age: timedelta) -> None:
    _change(house, dispatcher_heartbeats, pass_ended_at=_ago(house, age))


def _begin_pass(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        dispatchers.begin_pass(connection, DELIVERY_DISPATCHER, "a pass at work")


def _begun(house: House, call: Call) -> str:
    """An export that a run has taken."""
    export_id = call(house.environment, *EXPORT).out.strip()
    (offer,) = house.offer("export")
    start(house.backends, export_id, lane=offer.lane, offer_number=offer.number, run_id="test")
    return export_id


def _work_without_source(house: House, *lanes: str, receives_of_each: int = 3) -> None:
    """Work lanes where the source cannot be reached, each receive in vain."""
    real = on_real_clock(house).backends
    away = {**real.environment, "SHOP_URL": "postgresql+psycopg2://x@127.0.0.1:1/x"}
    cut_off = house.with_backends(replace(real, environment=away))
    for lane in lanes:
        for _ in range(receives_of_each):
            assert _work(cut_off, lane) == "source_unavailable"


def _work(house: House, lane: str) -> str:
    """Work one receive in a lane, as soon as it may start."""
    while not (ended := house.work(lane)):
        time.sleep(0.001)
    return ended[0]


def test_messages_that_could_not_go_are_told_and_none_is_sent(house: House, call: Call) -> None:
    with running_smtp() as server:
        environment = {**house.environment, "QUERIES_COMMUNICATIONS_URL": server.url()}
        well = call(environment, "check")
        server.plan("EHLO", "550 5.7.1 not you")
        refused = call(environment, "check")
    gone = call(environment, "check", "--json")

    assert (well.status, well.out) == (0, "All is well.\n")
    assert not any(one.startswith("MAIL") for one in server.commands)
    assert refused.status == 1
    assert refused.out == (
        "communications_unavailable: the mail server of QUERIES_COMMUNICATIONS_URL said"
        " '550 5.7.1 not you' at EHLO: see that it may take our messages.\n"
    )
    assert [one["code"] for one in _findings(gone)] == ["communications_unavailable"]


def test_a_mailbox_that_cannot_be_written_is_told(house: House, call: Call) -> None:
    (house.folder / "home" / "mailbox").write_text("in the way")

    told = call(house.environment, "check")

    assert told.out.startswith("communications_unavailable: the mailbox folder ")
