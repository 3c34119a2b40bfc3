"""The first receive fixes who acts and what is read, whatever is edited before a later one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sa
import yaml

from queries_orchestration.deliveries import receive as receive_step
from queries_orchestration.deliveries.schedule_changes import transfer
from queries_orchestration.deliveries.settle import fail
from queries_orchestration.model.errors import QueriesError
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import sources
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.tables import people
from queries_orchestration_tests.crash.kills import finish, kill_receive_at
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House, build_house
from queries_orchestration_tests.report_house import report_catalog

ROWS = 700
EVES_ROWS = 100  # one region of seven

AUTHORS = "      - {who: {roles: [author]}, fields: all, rows: all}\n"
TWO_OWNERS = CATALOG.replace(
    "people:\n",
    "people:\n"
    "  eve: {title: Eve, address: eve@example.org, roles: [reader]}\n"
    "  root: {title: Root, address: root@example.org, roles: [administrator]}\n",
).replace(
    AUTHORS,
    AUTHORS + "      - {who: {people: [eve]}, fields: all,"
    " rows: [{field: region, op: eq, value: r1}]}\n",
)


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    """A house with another person who may own the schedule, and sees fewer rows."""
    return build_house(tmp_path, store_url, source_url, catalog=TWO_OWNERS, rows=ROWS)


@pytest.mark.parametrize("step", ["resolved", "file recorded", "submitted, not recorded"])
def test_a_transfer_between_two_receives_is_of_the_next_occurrence(house: House, step: str) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, step)
    _transfer(house, by="ada")

    finish(house)
    house.deliver(MONDAY + WEEK)

    assert [_read_as(house, number) for number in (0, 1)] == [("ada", ROWS), ("eve", EVES_ROWS)]
    assert [one.outcome for one in house.history()] == ["delivered", "delivered"]


@pytest.mark.parametrize("step", ["resolved", "file recorded", "submitted, not recorded"])
def test_so_is_a_transfer_within_a_receive(house: House, step: str) -> None:
    (offer,) = house.dispatch(MONDAY).offers

    assert _at(house, step, lambda: _transfer(house, by="ada")).take(offer) == "delivered"

    assert _read_as(house, 0) == ("ada", ROWS)


def test_before_the_first_receive_has_looked_a_transfer_is_of_this_occurrence(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "started")
    _transfer(house, by="ada")

    finish(house)

    assert _read_as(house, 0) == ("eve", EVES_ROWS)


def test_the_access_of_the_first_receives_actor_is_looked_up_in_each(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")
    _transfer(house, by="ada")
    _take_roles(house, "ada")

    finish(house)

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "access_lost")
    assert occurrence.actor_id == house.person("ada")
    assert house.messages() == []


def test_the_access_that_a_former_owner_lost_counts_and_pauses_nothing(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")
    _transfer(house, by="ada")
    _take_roles(house, "ada")

    finish(house)

    schedule = house.schedule()
    assert (schedule.state, schedule.pause_code, schedule.failure_streak) == ("active", None, 1)
    assert house.deliver(MONDAY + WEEK) == ["delivered"]


def test_so_it_is_if_the_transfer_comes_right_before_the_settlement(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    _take_roles(house, "ada")

    def fail_late(backends: Backends, receive: Receive, error: QueriesError) -> None:
        _transfer(house, by="root")
        fail(backends, receive, error)

    monkeypatch.setattr(receive_step, "fail", fail_late)

    assert house.take(offer) == "access_lost"
    assert (house.schedule().state, house.schedule().failure_streak) == ("active", 1)


def test_a_fifth_failure_pauses_whosever_access_it_was(house: House) -> None:
    _set_streak(house, 4)
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")
    _transfer(house, by="ada")
    _take_roles(house, "ada")

    finish(house)

    assert house.schedule().pause_code == "five_failures"


def test_another_source_is_of_the_next_occurrence(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")
    house.apply(TWO_OWNERS.replace("query: all-orders", "query: no-orders"))

    finish(house)
    house.deliver(MONDAY + WEEK)

    first, second = house.history()
    assert [_source_of(house, one.key) for one in (first, second)] == ["all-orders", "no-orders"]
    assert len(house.file(first.key).splitlines()) == ROWS + 1
    assert house.file(first.key).startswith(b"Order,Region")
    assert house.export(second.key).rows == 0


def test_a_report_in_place_of_the_query_is_of_the_next_occurrence(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    """The retry waits for no render that nobody was asked to make."""
    with_report = yaml.safe_load(report_catalog())
    by_query = yaml.safe_load(CATALOG)["schedules"]
    catalog = yaml.safe_dump(with_report | {"schedules": by_query}, sort_keys=False)
    house = build_house(tmp_path, store_url, source_url, catalog=catalog, rows=ROWS)
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")
    house.apply(yaml.safe_dump(with_report, sort_keys=False))

    finish(house)

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.receive_number) == ("delivered", 2)
    assert (house.export(occurrence.key).format, house.export(occurrence.key).rows) == ("csv", ROWS)


def test_another_format_zone_and_values_are_of_the_next_occurrence(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")
    house.apply(
        TWO_OWNERS.replace("format: csv", "format: xlsx").replace(
            "    time_zone: Europe/Berlin\n", "    time_zone: Asia/Tokyo\n"
        )
    )

    finish(house)

    (occurrence,) = house.history()
    export = house.export(occurrence.key)
    assert (occurrence.outcome, export.format, export.time_zone) == (
        "delivered",
        "csv",
        "Europe/Berlin",
    )
    # The slot is told in the zone of the file, too.
    assert {"08:00" in str(message["Subject"]) for message in house.messages()} == {True}


def _at(house: House, step: str, do: Callable[[], object]) -> House:
    """Return the house in which ``do`` happens once when a worker reaches ``step``."""
    left = [do]

    def reached(now: str) -> None:
        if now == step and left:
            left.pop()()

    return house.with_backends(replace(house.backends, reached=reached))


def _transfer(house: House, *, by: str) -> None:
    transfer(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        to_person_id=house.person("eve"),
        by=house.by(by),
    )


def _read_as(house: House, number: int) -> tuple[str, int]:
    """As whom an occurrence was read, by all that tells it, and how many rows its file has."""
    occurrence = house.history()[number]
    export = house.export(occurrence.key)
    assert occurrence.actor_id == export.actor_id
    names = {house.person(name): name for name in ("ada", "eve")}
    rows = len(house.file(occurrence.key).splitlines()) - 1
    assert rows == export.rows
    return names[export.actor_id], rows


def _source_of(house: House, key: str) -> str:
    with house.backends.database.across.read() as connection:
        source = sources.get(connection, house.workspace_id, house.export(key).source_id)
    assert source is not None
    return source.name


def _take_roles(house: House, name: str) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(people).where(people.c.name == name).values(roles=[]))


def _set_streak(house: House, streak: int) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET failure_streak = :streak"), {"streak": streak}
        )
