"""The heartbeat: it keeps a claim alive, ends a receive at its deadline, interrupts statements."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from queries_orchestration.model.errors import (
    ReceiveLost,
    ReceiveTimeout,
    SourceUnavailable,
)
from queries_orchestration.receives.heartbeat import Heartbeat
from queries_orchestration.receives.start import NothingToDo, start
from queries_orchestration.store import claims
from queries_orchestration.store.claims import Receive
from queries_orchestration_tests.house import MONDAY, House, build_house


def test_a_statement_that_runs_beyond_the_deadline_is_interrupted_and_comes_again(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_house(
        tmp_path,
        store_url,
        source_url,
        settings={"QUERIES_DELIVERY_DEADLINE": "1", "QUERIES_RENDER_WAIT": "0.5"},
    )
    _make_endless(source_url)
    began = time.monotonic()

    assert house.deliver(MONDAY) == ["receive_timeout"]

    assert time.monotonic() - began < 10
    (occurrence,) = house.history()
    assert (occurrence.state, occurrence.receive_number) == ("waiting", 1)
    assert house.backends.storage.open_uploads("") == []
    assert house.backends.storage.size(house.export(occurrence.key).storage_key) is None


def test_a_statement_is_interrupted_when_another_receive_takes_the_work(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_house(tmp_path, store_url, source_url)
    _make_endless(source_url)
    (offer,) = house.dispatch(MONDAY).offers
    codes: list[str] = []
    worker = threading.Thread(target=lambda: codes.append(house.take(offer)))
    worker.start()
    _wait(lambda: house.history()[0].export_id is not None)
    first = Receive(house.workspace_id, offer.key, 1)
    with house.backends.database.across.transaction() as connection:
        claims.wait_again(connection, first, code="worker_lost", delay=60)

    worker.join(10)

    assert codes == ["receive_lost"]
    assert house.history()[0].state == "waiting"


def test_the_heartbeat_moves_on_while_the_receive_works(house: House) -> None:
    receive = _started(house)
    before = house.claim(receive.key).heartbeat_at
    with Heartbeat(house.backends.database, receive, interval=0.05, deadline=60) as heartbeat:
        _wait(lambda: house.claim(receive.key).heartbeat_at != before)
        heartbeat.check()
        assert 50 < heartbeat.remaining() <= 60


def test_a_lost_claim_is_told_at_the_next_check_and_as_the_reason_of_an_interruption(
    house: House,
) -> None:
    receive = _started(house)
    interrupted = threading.Event()
    with Heartbeat(house.backends.database, receive, interval=0.05, deadline=60) as heartbeat:

        def lose_the_claim_in_a_statement() -> None:
            with heartbeat.interrupting(interrupted.set):
                with house.backends.database.across.transaction() as connection:
                    claims.wait_again(connection, receive, code="test", delay=60)
                assert interrupted.wait(10)
                raise SourceUnavailable("the statement was interrupted")

        with pytest.raises(ReceiveLost):
            lose_the_claim_in_a_statement()
        with pytest.raises(ReceiveLost):
            heartbeat.check()


def test_after_the_deadline_every_check_raises(house: House) -> None:
    receive = _started(house)
    with Heartbeat(house.backends.database, receive, interval=60, deadline=0.05) as heartbeat:
        time.sleep(0.06)
        assert heartbeat.remaining() == 0
        with pytest.raises(ReceiveTimeout):
            heartbeat.check()


def _started(house: House) -> Receive:
    (offer,) = house.dispatch(MONDAY).offers
    receive = start(
        house.backends, offer.key, lane=offer.lane, offer_number=offer.number, run_id="test"
    )
    assert not isinstance(receive, NothingToDo)
    return receive


def _make_endless(source_url: str) -> None:
    """Put a view in the place of the table whose rows never come."""
    endless = (
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
        " SELECT count(*) AS id, 'r1' AS region, 1.5 AS amount FROM n WHERE i < 0"
    )
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(sa.text("DROP TABLE orders"))
        connection.execute(sa.text(f"CREATE VIEW orders AS {endless}"))
    engine.dispose()


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)
