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


@pytest.mark.parametrize("batch", [1, 2, 100])
def test_a_run_that_cannot_be_removed_keeps_no_other_and_is_told(
    house: House, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    class Held(Runs):
        def remove(self, run_id: str) -> None:
            if run_id == "b":
                raise OSError("The test holds its logs.")
            super().remove(run_id)

    monkeypatch.setattr(runs, "RUNS_A_BATCH", batch)
    log = Held([FinishedRun(run_id, ()) for run_id in "abcd"])

    told = {one.kind: one for one in retain(house.backends, log, do=True)}["runs"]

    assert log.removed == ["a", "c", "d"]
    assert (told.count, told.code, told.is_whole) == (3, "unexpected_error", False)


def test_where_none_can_be_removed_it_gives_up(house: House) -> None:
    tried = []

    class Away(Runs):
        def remove(self, run_id: str) -> None:
            tried.append(run_id)
            raise OSError("The test's disk is full.")

    retain(house.backends, Away([FinishedRun(str(n), ()) for n in range(300)]), do=True)
    assert len(tried) == runs.FAULTS
