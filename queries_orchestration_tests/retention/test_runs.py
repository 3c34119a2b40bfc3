"""Runs whose work is done go; those of work that is not stay, however old they are."""

from __future__ import annotations

import pytest

from queries_orchestration.retention import runs
from queries_orchestration.retention.retain import retain
from queries_orchestration.retention.runs import FinishedRun
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.retention.retained import Runs


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_runs_of_unfinished_work_stay(
    house: House, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(runs, "RUNS_A_BATCH", batch)
    (offer,) = house.dispatch(MONDAY).offers
    log = Runs(
        [
            FinishedRun("a", ()),
            FinishedRun("b", (offer.key,)),
            FinishedRun("c", ("another", "one")),
            FinishedRun("d", ("another", offer.key)),
            FinishedRun("e", ()),
        ]
    )

    def count(*, do: bool) -> int:
        found = retain(house.backends, log, do=do)
        return next(one.count for one in found if one.kind == "runs")

    assert count(do=False) == 3
    assert log.removed == []
    assert count(do=True) == 3
    assert log.removed == ["a", "c", "e"]

    assert house.take(offer) == "delivered"
    assert count(do=True) == 2
    assert log.ended == []


def test_a_run_that_had_a_part_in_unfinished_work_stays(house: House) -> None:
    """Also one whose tags were never written."""
    (offer,) = house.dispatch(MONDAY).offers
    house.take(offer)
    log = Runs([FinishedRun("test", ())])
    with house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql("UPDATE claims SET state = 'waiting'")
    retain(house.backends, log, do=True)
    assert log.removed == []
    with house.backends.database.across.transaction() as connection:
        connection.exec_driver_sql("UPDATE claims SET state = 'done'")
    retain(house.backends, log, do=True)
    assert log.removed == ["test"]
