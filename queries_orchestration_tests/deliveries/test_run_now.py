"""Hop 2: a person runs a schedule now; committed together, published after, found again."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.errors import QueriesError, Refused
from queries_orchestration.receives.publish import Answer, Launch, publish
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import tables
from queries_orchestration.store.database import Database
from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.house import MONDAY, House

ADMINISTRATOR = (
    "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
    "people:\n  eve: {title: Eve Admin, address: eve@example.org, roles: [administrator, author]}\n"
    "  pat: {title: Pat Admin, address: pat@example.org, roles: [administrator]}\n"
)


class Interrupted(Exception):
    """The process that clicked dies here."""


def test_a_run_now_request_is_delivered_as_the_clicking_person(house: House) -> None:
    house.apply(ADMINISTRATOR)

    key = _run_now(house, "eve")
    assert house.work(DELIVERY_LANE) == ["delivered"]

    occurrence = house.occurrence(key)
    assert (occurrence.via, occurrence.slot, occurrence.outcome) == ("run-now", None, "delivered")
    assert occurrence.actor_id == house.person("eve")
    assert house.export(key).actor_id == house.person("eve")
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert len(key) <= 63


def test_occurrence_export_request_and_claim_are_one_commit(house: House) -> None:
    def die(step: str) -> None:
        if step == "run now, not committed":
            raise Interrupted

    dying = house.with_backends(replace(house.backends, reached=die))
    with pytest.raises(Interrupted):
        _run_now(dying, "ada")
    assert _rows(house) == {"occurrences": 0, "exports": 0, "requests": 0, "claims": 0}

    _run_now(house, "ada")
    assert _rows(house) == {"occurrences": 1, "exports": 1, "requests": 1, "claims": 1}


def test_a_crash_between_commit_and_publication_leaves_it_for_the_sensor(house: House) -> None:
    def die(step: str) -> None:
        if step == "run now committed, not published":
            raise Interrupted

    with pytest.raises(Interrupted):
        _run_now(house.with_backends(replace(house.backends, reached=die)), "ada")

    assert house.work(DELIVERY_LANE) == ["delivered"]


def test_an_accepted_launch_keeps_the_offer_and_no_other_is_made(house: House) -> None:
    key = _run_now(house, "ada")
    launched: list[Offer] = []

    assert publish(house.backends, house.workspace_id, key, _answer("accepted", launched))

    assert [offer.key for offer in launched] == [key]
    assert house.take(launched[0]) == "delivered"
    assert len(house.messages()) == 2


def test_a_refused_launch_releases_the_offer_at_once(house: House) -> None:
    key = _run_now(house, "ada")

    assert not publish(house.backends, house.workspace_id, key, _answer("refused", []))

    assert house.claim(key).lease_until is None
    assert house.work(DELIVERY_LANE) == ["delivered"]


def test_a_launch_that_is_not_answered_keeps_its_lease_and_is_worked_once(house: House) -> None:
    key = _run_now(house, "ada")
    launched: list[Offer] = []
    assert not publish(house.backends, house.workspace_id, key, _answer("unknown", launched))

    assert house.claim(key).lease_until is not None
    assert house.take(launched[0]) == "delivered"
    assert house.work(DELIVERY_LANE) == []


def test_a_double_click_with_one_key_is_one_occurrence(house: House) -> None:
    first = _run_now(house, "ada", client_key="click-1")
    again = _run_now(house, "ada", client_key="click-1")
    other = _run_now(house, "ada", client_key="click-2")

    assert first == again
    assert other != first
    assert len(house.history()) == 2


@pytest.mark.parametrize("other", [{"purpose": "test"}, {"reason": "Another."}])
def test_a_key_is_of_one_click_and_not_of_another(house: House, other: dict[str, Any]) -> None:
    asked: dict[str, Any] = {
        "schedule_id": house.schedule().id,
        "by": house.by("ada"),
        "client_key": "click",
    }
    key = run_now(house.backends, house.workspace_id, **asked)
    with pytest.raises(Refused) as refusal:
        run_now(house.backends, house.workspace_id, **asked | other)
    assert refusal.value.code == "client_key_reused"
    with pytest.raises(Refused) as refusal:
        run_now(house.backends, house.workspace_id, **asked | {"client_key": "a\nb"})
    assert refusal.value.code == "invalid_client_key"
    assert [one.key for one in house.history()] == [key]


def test_two_processes_with_one_click_make_one_occurrence(house: House) -> None:
    start = threading.Barrier(2)
    keys: list[str] = []

    def click() -> None:
        own = replace(house.backends, database=Database(house.backends.settings.database_url))
        start.wait()
        keys.append(_run_now(house.with_backends(own), "ada", client_key="click"))

    threads = [threading.Thread(target=click) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(set(keys)) == 1
    assert _rows(house) == {"occurrences": 1, "exports": 1, "requests": 1, "claims": 1}


@pytest.mark.parametrize(
    ("person", "code"),
    [
        ("bob", "not_found"),  # a recipient has no authority
        ("dan", "not_found"),  # inactive
        ("pat", "access_lost"),  # an administrator who cannot open the source
    ],
)
def test_who_may_not_run_it_is_refused_and_nothing_is_written(
    house: House, person: str, code: str
) -> None:
    house.apply(ADMINISTRATOR)

    with pytest.raises(QueriesError) as refused:
        _run_now(house, person)

    assert refused.value.code == code
    assert _rows(house) == {"occurrences": 0, "exports": 0, "requests": 0, "claims": 0}


def test_an_unknown_schedule_looks_like_one_without_authority(house: House) -> None:
    def refusal(schedule_id: str, person: str) -> tuple[str, str]:
        with pytest.raises(QueriesError) as refused:
            run_now(
                house.backends,
                house.workspace_id,
                schedule_id=schedule_id,
                by=house.by(person),
            )
        return refused.value.code, refused.value.message

    assert refusal("nobody", "ada") == refusal(house.schedule().id, "bob")


def test_a_manual_access_loss_does_not_pause_the_schedule(house: House) -> None:
    house.apply(ADMINISTRATOR)
    key = _run_now(house, "eve")
    house.apply(ADMINISTRATOR.replace("[administrator, author]", "[administrator]"))

    assert house.work(DELIVERY_LANE) == ["access_lost"]

    assert house.occurrence(key).outcome == "failed"
    schedule = house.schedule()
    assert (schedule.state, schedule.failure_streak) == ("active", 0)


def test_a_manual_success_resets_the_streak_and_a_manual_failure_leaves_it(
    house: House,
) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET failure_streak = 4"))
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO elsewhere"))
    _run_now(house, "ada")
    assert house.work(DELIVERY_LANE) == ["source_broken"]
    assert (house.schedule().failure_streak, house.schedule().state) == (4, "active")

    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE elsewhere RENAME TO orders"))
    engine.dispose()
    _run_now(house, "ada")
    assert house.work(DELIVERY_LANE) == ["delivered"]
    assert house.schedule().failure_streak == 0


def test_a_manual_run_does_not_wait_for_an_automatic_one_nor_hold_it_up(house: House) -> None:
    (automatic,) = house.dispatch(MONDAY).offers
    _run_now(house, "ada")

    assert house.work(DELIVERY_LANE) == ["delivered"]
    assert house.take(automatic) == "delivered"


def test_a_paused_schedule_can_be_run_now_and_an_ended_one_cannot(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET state = 'paused', pause_code = 'x', next_slot = NULL")
        )
    _run_now(house, "ada")
    assert house.work(DELIVERY_LANE) == ["delivered"]

    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET state = 'ended', pause_code = NULL"))
    with pytest.raises(QueriesError) as refused:
        _run_now(house, "ada")
    assert refused.value.code == "schedule_ended"


def test_the_values_and_version_of_the_click_stay_though_the_schedule_changes(
    house: House,
) -> None:
    key = _run_now(house, "ada")
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            tables.source_versions.insert().from_select(
                list(tables.source_versions.c.keys()),
                sa.select(
                    *[
                        sa.literal(2) if column.name == "version" else column
                        for column in tables.source_versions.c
                    ]
                ).where(tables.source_versions.c.source_id == house.schedule().source_id),
            )
        )
        connection.execute(sa.text("UPDATE schedules SET pinned_version = 2"))

    assert house.work(DELIVERY_LANE) == ["delivered"]
    assert house.export(key).version == 1


def _run_now(house: House, person: str, client_key: str | None = None) -> str:
    house.clock.at = MONDAY
    return run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by(person),
        client_key=client_key,
    )


def _answer(answer: Answer, launched: list[Offer]) -> Launch:
    def launch(offer: Offer) -> Answer:
        launched.append(offer)
        return answer

    return launch


def _rows(house: House) -> dict[str, int]:
    counted = (tables.occurrences, tables.exports, tables.requests, tables.claims)
    with house.backends.database.across.read() as connection:
        return {
            table.name: connection.scalar(sa.select(sa.func.count()).select_from(table)) or 0
            for table in counted
        }
