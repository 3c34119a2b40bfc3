"""A test of a schedule: to who asks alone, without any effect on the schedule."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.model.errors import (
    NotFound,
    Refused,
)
from queries_orchestration.store.tables import schedules
from queries_orchestration_tests.deliveries.test_resend import HOUR, WORKSPACE, _link, _resend
from queries_orchestration_tests.house import MONDAY, House


def test_a_test_goes_to_who_asks_alone_and_changes_nothing_of_the_schedule(house: House) -> None:
    house.clock.at = MONDAY - HOUR
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(schedules).values(failure_streak=3))
    before = house.schedule()
    key = _test(house)

    assert house.deliver(MONDAY - HOUR) == ["delivered"]

    assert house.addressees() == ["ada@example.org"]
    assert house.schedule() == before
    tested = house.occurrence(key)
    assert (tested.purpose, tested.actor_id) == ("test", house.person("ada"))
    assert {name: row.state for name, row in house.deliveries(key).items()} == {"ada": "sent"}
    (message,) = house.messages()
    assert str(message["Subject"]).startswith("Test: Weekly orders")
    # Ada is no recipient, and her link works all the same; nobody else's would.
    link = _link(house, "ada@example.org")
    assert open_public_link(house.backends, link, record=True).file_name.startswith("Weekly")
    with pytest.raises(Refused) as refusal:
        _resend(house, key=key)
    assert refusal.value.code == "nothing_to_resend"


def test_a_failed_test_counts_for_nothing_and_tells_nobody(house: House) -> None:
    key = _test(house)
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE orders"))
    engine.dispose()

    assert house.deliver(MONDAY - HOUR) == ["source_broken"]
    house.dispatch(MONDAY - HOUR)

    assert house.occurrence(key).outcome == "failed"
    assert (house.schedule().failure_streak, house.notices()) == (0, [])


def test_a_test_without_an_address_or_authority(house: House) -> None:
    house.apply(WORKSPACE + "people:\n  ada: {title: Ada Owner, roles: [author]}\n")
    key = _test(house)
    assert house.deliver(MONDAY - HOUR) == ["no_recipients"]
    assert house.deliveries(key)["ada"].code == "no_address"
    with pytest.raises(NotFound):
        _test(house, person="bob")


def test_a_paused_schedule_can_be_tested(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.update(schedules).values(state="paused", pause_code="x", next_slot=None)
        )
    _test(house)

    assert house.deliver(MONDAY - HOUR) == ["delivered"]
    assert house.schedule().state == "paused"


def _test(house: House, *, person: str = "ada") -> str:
    return run_now(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=house.by(person),
        purpose="test",
    )
