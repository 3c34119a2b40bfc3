"""What is recorded of a file while it is made, and with its completion."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from queries_orchestration.model.errors import SourceUnavailable
from queries_orchestration.store.exports import Export
from queries_orchestration_tests.downloads import export_of
from queries_orchestration_tests.exports.admitted import admit, at_point
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.report_house import build_report_house

MINUTE = timedelta(minutes=1)
COLUMNS = [
    {"label": "Order", "type": "integer"},
    {"label": "Region", "type": "text"},
    {"label": "amount", "type": "decimal"},
]


@dataclass
class Stopwatch:
    """A stopwatch that a test moves on."""

    seconds: float = 0.0

    def now(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds


def timed(house: House, seconds: float) -> tuple[House, list[Export]]:
    """The house in which a page takes so many seconds, and what is recorded at the end of each."""
    watch = Stopwatch()
    seen: list[Export] = []
    export_id = admit(house)

    def reached(point: str) -> None:
        if point == "page written":
            seen.append(export_of(house, export_id))
            watch.sleep(seconds)

    return house.with_backends(replace(house.backends, waiting=watch, reached=reached)), seen


def test_with_its_completion_a_file_has_columns_snapshot_start_and_duration(house: House) -> None:
    house.clock.at = MONDAY
    export_id = admit(house)
    house.clock.at = MONDAY + MINUTE

    def later() -> None:
        house.clock.at = MONDAY + 5 * MINUTE

    assert at_point(house, "file complete, not recorded", later).work("export") == ["ready"]

    export = export_of(house, export_id)
    assert export.columns == COLUMNS
    assert (export.started_at, export.snapshot_at) == (MONDAY + MINUTE, MONDAY + MINUTE)
    assert (export.created_at, export.completed_at) == (MONDAY, MONDAY + 5 * MINUTE)
    assert export.duration_seconds is not None
    assert 0 < export.duration_seconds < 60
    assert export.rows_per_second == pytest.approx(2_500 / export.duration_seconds)
    assert (export.version, export.runtime_values) == (1, {})
    assert (export.replaced_characters, export.cut_cells) == (0, 0)


def test_the_file_of_a_delivery_has_the_same_record(house: House) -> None:
    assert house.deliver(MONDAY) == ["delivered"]

    export = house.export(house.history()[0].key)

    assert (export.columns, export.snapshot_at, export.started_at) == (COLUMNS, MONDAY, MONDAY)
    assert export.duration_seconds


@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_a_report_has_no_columns_and_was_read_from_its_start_on(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    export_id = house.ask_export("sales", file_format="xlsx")

    assert house.work("report") == ["ready"]

    export = export_of(house, export_id)
    assert export.columns is None
    assert export.started_at == export.snapshot_at == house.clock.at
    assert export.duration_seconds
    with house.backends.database.across.read() as connection:
        kept = connection.exec_driver_sql("SELECT columns IS NULL FROM exports").scalar_one()
    assert kept  # NULL, not JSON's null


def test_progress_is_written_once_a_second_with_rows_bytes_and_rate(house: House) -> None:
    slow, seen = timed(house, 2.0)
    assert slow.work("export") == ["ready"]

    # At each page one sees what the page before has written.
    done = [one.rows_done for one in seen]
    assert done in ([0, 1_000, 2_000], [0, 10, 110, 1_110, 2_110])  # one COPY, or else
    assert [one.duration_seconds for one in seen] == [None, *(2.0 * n for n in range(1, len(seen)))]
    assert seen[0].rows_per_second is None
    assert [one.rows_per_second for one in seen[1:]] == [
        pytest.approx(rows / (2 * n), abs=1) for n, rows in enumerate(done[1:], 1)
    ]
    assert 0 < seen[1].bytes_done < seen[2].bytes_done

    quick, seen = timed(house, 0.2)
    assert quick.work("export") == ["ready"]
    assert {one.rows_done for one in seen} == {0}


def test_a_receive_that_comes_again_starts_anew(house: House) -> None:
    export_id = admit(house)
    house.clock.at = MONDAY

    def fail() -> None:
        raise SourceUnavailable("The test's source is away.")

    assert at_point(house, "page written", fail).work("export") == ["source_unavailable"]
    first = export_of(house, export_id)
    assert (first.started_at, first.duration_seconds, first.columns) == (MONDAY, None, None)
    house.clock.at = MONDAY + MINUTE
    assert house.work("export") == ["ready"]

    again = export_of(house, export_id)
    assert (again.started_at, again.snapshot_at) == (MONDAY + MINUTE, MONDAY + MINUTE)
    assert again.columns == COLUMNS
