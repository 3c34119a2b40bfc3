"""Old history goes, with all that belongs to it, and a count by month stays."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import date, datetime, timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.backfill import backfill
from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.deliveries.resend import resend
from queries_orchestration.exports.download import download
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import CommunicationsUnavailable, Refused
from queries_orchestration.receives.waiting import RealWaiting
from queries_orchestration.retention import history
from queries_orchestration.settings import DELIVERY_LANE
from queries_orchestration.store import old_occurrences
from queries_orchestration.store.old_occurrences import Age
from queries_orchestration.store.tables import (
    deliveries,
    exports,
    monthly_deliveries,
    notices,
    occurrences,
)
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.deliveries.wider_house import token_to
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.retention.retained import PAST, found, months, retained, rows

WORK = (
    "claims",
    "deliveries",
    "downloads",
    "exports",
    "message_states",
    "notices",
    "occurrences",
    "offers",
    "receives",
    "requests",
    "resends",
)
DELIVERED = {
    "month": date(2027, 1, 1),
    "purpose": "delivery",
    "outcome": "delivered",
    "occurrences": 1,
    "sent": 2,
    "skipped": 1,
    "rows": 2_500,
}


def work_of(house: House) -> dict[str, int]:
    return {name: number for name, number in rows(house).items() if name in WORK}


def without_files(house: House, at: datetime = PAST) -> House:
    """The house later, when the time of its files is over."""
    house.clock.at = at
    expire_files(house.backends)
    return house


def write(house: House, statement: sa.Executable) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(statement)


def test_a_settled_occurrence_goes_with_all_of_it_and_is_counted(house: House) -> None:
    house.deliver(MONDAY)
    size = house.export(house.history()[0].key).size
    open_public_link(house.backends, token_to(house, "bob@example.org"), record=True)
    download(
        house.backends.database,
        house.backends.storage,
        clock=house.clock,
        environment=house.environment,
        workspace_id=house.workspace_id,
        by=house.by("ada"),
        export_id=house.export(house.history()[0].key).id,
    )
    without_files(house)
    before = rows(house)

    assert retained(house, do=False) == {"occurrences": 1}
    assert rows(house) == before
    assert len(house.messages()) == 2

    assert retained(house) == {"occurrences": 1}
    assert work_of(house) == {}
    assert house.messages() == []
    assert months(house) == [DELIVERED | {"downloads": 2, "bytes": size}]
    assert retained(house) == {}


def test_nothing_goes_before_its_age(house: House) -> None:
    house.deliver(MONDAY)
    without_files(house, MONDAY + timedelta(days=400))
    assert retained(house) == {}
    house.clock.at += timedelta(microseconds=1)
    assert retained(house) == {"occurrences": 1}


def test_the_age_is_a_setting(house: House) -> None:
    house.deliver(MONDAY)
    without_files(house, MONDAY + timedelta(days=367))
    settings = replace(house.backends.settings, history_days=366)
    assert retained(house.with_backends(replace(house.backends, settings=settings))) == {
        "occurrences": 1
    }


def test_what_is_not_settled_stays_however_old_it_is(house: House) -> None:
    house.dispatch(MONDAY)
    assert retained(house, at=PAST) == {}
    assert len(house.history()) == 1


def test_what_a_claim_still_holds_stays(house: House) -> None:
    """As after an outcome that somebody wrote by hand."""
    house.dispatch(MONDAY)
    write(house, sa.update(occurrences).values(outcome="failed", code="x", settled_at=MONDAY))
    assert retained(house, at=PAST) == {}


def test_an_occurrence_stays_while_its_file_does(house: House) -> None:
    house.deliver(MONDAY)
    write(house, sa.update(exports).values(expires_at=PAST + WEEK))
    assert retained(house, at=PAST) == {}
    assert retained(house, at=PAST + WEEK) == {"expired_files": 1, "occurrences": 1}


def test_an_occurrence_stays_while_a_link_to_it_works(house: House) -> None:
    house.deliver(MONDAY)
    without_files(house)
    write(house, sa.update(deliveries).values(link_expires_at=PAST + WEEK))
    assert retained(house) == {}
    assert retained(house, at=PAST + WEEK) == {"occurrences": 1}


def test_an_occurrence_stays_while_somebody_is_to_be_told_of_it(house: House) -> None:
    house.apply(BROKEN)
    assert house.deliver(MONDAY) == ["source_broken"]
    without_files(house)
    assert retained(house) == {}
    write(house, sa.update(notices).values(state="sent", concluded_at=PAST))
    assert retained(house) == {"occurrences": 1}
    assert [(one["outcome"], one["code"]) for one in months(house)] == [("failed", "source_broken")]


BROKEN = """\
workspace: {name: acme}
datasets:
  orders:
    title: Orders
    connection: shop
    relation: gone
    fields:
      id: {type: integer, nullable: false}
      region: {type: text}
      amount: {type: decimal}
    key: [id]
    access: [{who: {roles: [author]}, fields: all, rows: all}]
"""


@pytest.fixture
def resent(house: House) -> House:
    """A house whose bob was refused once, and had the file sent again two days later."""
    wall = FaultyCommunications(
        house.backends.communications, refused={"bob@example.org"}, unavailable={}
    )
    (offer,) = house.dispatch(MONDAY).offers
    walled = house.with_backends(replace(house.backends, communications=wall))
    assert walled.take(offer) == "delivered_partly"
    (origin,) = house.history()
    house.clock.at = MONDAY + timedelta(days=2)
    resend(
        house.backends,
        house.workspace_id,
        occurrence_key=origin.key,
        by=house.by("ada"),
        reason="The test asks.",
    )
    assert house.work(DELIVERY_LANE) == ["delivered"]
    return house


def test_a_resend_goes_with_what_it_sends_again(resent: House) -> None:
    without_files(resent, PAST)
    assert retained(resent) == {}  # the resend is two days younger

    assert retained(resent, do=False, at=PAST + timedelta(days=2)) == {"occurrences": 2}
    assert retained(resent) == {"occurrences": 2}
    assert work_of(resent) == {}
    assert [(one["purpose"], one["outcome"], one["sent"]) for one in months(resent)] == [
        ("delivery", "delivered_partly", 1),
        ("resend", "delivered", 1),
    ]
    assert [one.get("rows") for one in months(resent)] == [2_500, None]


def test_what_is_counted_adds_up_however_it_goes(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batch by batch, over two retentions: the months have what the history had."""
    monkeypatch.setattr(history, "ROWS_A_BATCH", 1)
    for week in (0, 1, 3, 4):
        house.deliver(MONDAY + week * WEEK)
    without_files(house, MONDAY + 2 * WEEK + timedelta(days=401))

    assert retained(house) == {"occurrences": 2}
    assert sized(months(house)) == [DELIVERED | {"occurrences": 2, "sent": 4, "skipped": 2}]
    assert retained(house, at=MONDAY + 5 * WEEK + timedelta(days=401)) == {"occurrences": 3}
    missed = [one for one in months(house) if one["outcome"] == "missed"]
    assert [one["occurrences"] for one in missed] == [1]
    assert sized([one for one in months(house) if one not in missed]) == [
        DELIVERED | {"occurrences": 3, "sent": 6, "skipped": 3},
        DELIVERED | {"month": date(2027, 2, 1), "sent": 2, "skipped": 1},
    ]


def sized(told: list[dict[str, object]]) -> list[dict[str, object]]:
    """Without rows and bytes, which are of each file."""
    for one in told:
        assert one["rows"] == 2_500 * int(str(one["occurrences"]))
    return [
        {key: value for key, value in one.items() if key != "bytes"} | {"rows": 2_500}
        for one in told
    ]


def test_a_backfill_finds_nothing_missing_of_what_has_gone(house: House) -> None:
    """It asks about no slot as old as that, though the history has it no more."""
    house.deliver(MONDAY)
    without_files(house)
    retained(house)
    with pytest.raises(Refused) as refused:
        backfill(house.backends, MONDAY.date(), by=OPERATOR)
    assert refused.value.code == "before_history"
    eldest = (PAST - timedelta(days=365)).date()
    assert backfill(house.backends, eldest, by=OPERATOR).admitted <= 1
    assert all(one.slot != MONDAY for one in house.history())


def test_the_recurrence_does_not_come_back_to_a_slot_that_has_gone(house: House) -> None:
    house.deliver(MONDAY)
    without_files(house)
    retained(house)
    house.dispatch(PAST)
    assert MONDAY not in {one.slot for one in house.history()}


def test_an_old_slot_that_is_reopened_meanwhile_is_left_alone(house: House) -> None:
    """What is held is looked at again: between the two somebody may have changed it."""
    house.deliver(MONDAY)
    without_files(house)
    age = Age(PAST - timedelta(days=400), PAST)
    with house.backends.database.across.read() as connection:
        page = old_occurrences.page(connection, house.workspace_id, age, after=None, limit=9)
    keys = [place.key for place, _ in page]
    assert len(keys) == 1
    write(house, sa.update(deliveries).values(link_expires_at=PAST + WEEK))
    with house.backends.database.across.transaction() as connection:
        assert old_occurrences.hold(connection, house.workspace_id, age, keys) == []


def test_two_at_once_count_each_occurrence_once(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "ROWS_A_BATCH", 1)
    for week in range(4):
        house.deliver(MONDAY + week * WEEK)
    without_files(house, MONDAY + 4 * WEEK + timedelta(days=401))

    with ThreadPoolExecutor(2) as threads:
        done = list(threads.map(lambda _: retained(house).get("occurrences", 0), range(2)))

    assert sum(done) + retained(house).get("occurrences", 0) == 4
    assert work_of(house) == {}
    assert sum(int(str(one["occurrences"])) for one in months(house)) == 4


def test_messages_that_cannot_be_removed_keep_their_history(house: House) -> None:
    class Shut(FaultyCommunications):
        def forget(self, communication_keys: object) -> None:
            raise CommunicationsUnavailable("The test's folder is shut.")

    house.deliver(MONDAY)
    without_files(house)
    shut = Shut(house.backends.communications, refused=set(), unavailable={})
    closed = house.with_backends(replace(house.backends, communications=shut))

    told = {one.kind: (one.count, one.code, one.is_whole) for one in found(closed)}

    assert told["occurrences"] == (0, "communications_unavailable", False)
    assert told["exports"] == (0, None, True)
    assert retained(house) == {"occurrences": 1}


def test_time_that_is_over_leaves_the_rest(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    class Slow(RealWaiting):
        seconds = 0.0

        def now(self) -> float:
            self.seconds += 1
            return self.seconds

    monkeypatch.setattr(history, "ROWS_A_BATCH", 1)
    for week in range(3):
        house.deliver(MONDAY + week * WEEK)
    without_files(house, MONDAY + 3 * WEEK + timedelta(days=401))
    slow = house.with_backends(replace(house.backends, waiting=Slow()))

    told = {one.kind: one for one in found(slow, seconds=3.5)}

    assert 0 < told["occurrences"].count < 3
    assert not told["occurrences"].is_whole
    assert told["occurrences"].code is None
    assert retained(house) == {"occurrences": 3 - told["occurrences"].count}


def test_another_workspace_is_counted_for_itself(house: House) -> None:
    house.deliver(MONDAY)
    without_files(house)
    house.apply("workspace: {name: blue, title: Blue, time_zone: UTC}")
    assert retained(house) == {"occurrences": 1}
    with house.backends.database.across.read() as connection:
        of = connection.scalars(sa.select(monthly_deliveries.c.workspace_id))
        assert of.all() == [house.workspace_id]
