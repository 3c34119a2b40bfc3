"""What waits too long after it was admitted is missed, unless something was sent already."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration_tests.crash.kills import finish, kill_receive_at
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House, build_house

LIMITED = CATALOG.replace("    format: csv\n", "    format: csv\n    lateness_limit: 600\n")
LIMIT = timedelta(seconds=600)
SECOND = timedelta(seconds=1)


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    """A house whose schedule delivers nothing that is later than ten minutes."""
    return build_house(tmp_path, store_url, source_url, catalog=LIMITED, rows=10)


def test_what_no_worker_took_in_time_is_missed_with_its_own_code(house: House) -> None:
    house.dispatch(MONDAY)
    house.clock.at = MONDAY + timedelta(days=5)
    house.work(DELIVERY_LANE)
    _let_the_offer_end(house)

    assert house.work(DELIVERY_LANE) == ["missed"]

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("missed", "too_late")
    assert "lateness limit" in (occurrence.message or "")
    assert (house.messages(), house.schedule().failure_streak) == ([], 0)


@pytest.mark.parametrize(("late", "ends"), [(LIMIT, "delivered"), (LIMIT + SECOND, "missed")])
def test_the_limit_itself_is_in_time(house: House, late: timedelta, ends: str) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    house.clock.at = MONDAY + late

    assert house.take(offer) == ends


def test_a_later_receive_is_too_late_as_well(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "file recorded")

    finish(house, at=MONDAY + 2 * LIMIT)

    assert [(one.outcome, one.code) for one in house.history()] == [("missed", "too_late")]
    assert house.messages() == []


def test_an_unfinished_export_ends_with_it(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, "resolved")

    finish(house, at=MONDAY + 2 * LIMIT)

    export = house.export(house.history()[0].key)
    assert (export.state, export.code) == ("failed", "too_late")


@pytest.mark.parametrize("step", ["sending recorded", "submitted, not recorded"])
def test_once_anything_may_have_been_sent_the_others_get_theirs(house: House, step: str) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    kill_receive_at(house, offer, step)

    finish(house, at=MONDAY + 2 * LIMIT)

    assert [one.outcome for one in house.history()] == ["delivered"]
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_what_a_person_asks_for_has_no_limit(house: House) -> None:
    house.clock.at = MONDAY - WEEK
    run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by("ada"),
    )
    house.clock.at = MONDAY - timedelta(hours=1)

    assert house.work(DELIVERY_LANE) == ["delivered"]


def _let_the_offer_end(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE claims SET lease_until = NULL"))
