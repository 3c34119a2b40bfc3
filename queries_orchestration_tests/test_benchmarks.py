"""The benches run, and what they tell is joined to what was told before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.link_server import EMPTY
from benchmarks.links import ask, link_place
from benchmarks.measure import Measure, Result, Run, keep
from benchmarks.place import COLUMNS, Place, export, in_child, sqlite_place
from queries_orchestration_tests.postgres import PostgresServer


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return sqlite_place(tmp_path_factory.mktemp("bench"), 500)


@pytest.mark.parametrize("file_format", ["csv", "xlsx"])
def test_a_worker_of_its_own_makes_the_file_and_tells_what_it_took(
    place: Place, file_format: str
) -> None:
    worked = export(place, file_format)

    assert worked.rows == place.rows
    assert worked.rate == worked.rows / worked.seconds
    assert worked.peak_mb >= worked.idle_mb > 0
    assert not list((place.house.folder / "home" / "files").rglob(f"*.{file_format}"))


@pytest.mark.parametrize("library", ["openpyxl", "xlsxwriter", "pandas"])
def test_what_others_take_is_measured_over_the_same_rows(place: Place, library: str) -> None:
    assert in_child("baselines", {"name": library, "url": place.url, "rows": 100})["seconds"] > 0


def test_the_grouped_result_of_the_bench_has_a_row_a_group(place: Place) -> None:
    assert export(place, "csv", "grouped").rows == 500
    assert len(COLUMNS) == 12


@pytest.mark.parametrize(
    ("less_is_better", "bar", "holds"),
    [(False, 1.5, True), (False, 2.5, False), (True, 1.5, False), (True, 2.0, True)],
)
def test_a_measure_is_the_median_of_its_pairs_and_holds_its_bar(
    less_is_better: bool, bar: float, holds: bool
) -> None:
    def of(*values: float) -> Iterator[Run]:
        yield from (Run(value=value, peak_mb=value) for value in values)

    ours, baseline = of(2, 9, 4), of(1, 3, 2)

    result = Measure(
        name="one",
        ours=lambda: next(ours),
        baseline=lambda: next(baseline),
        bar=bar,
        less_is_better=less_is_better,
        pairs=3,
    ).take()

    assert result == Result(
        name="one", ours=4, baseline=2, ratio=2, peak_mb=9, bar=bar, holds=holds
    )


def test_results_are_joined_by_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def result(name: str, ratio: float) -> Result:
        return Result(
            name=name, ours=1, baseline=1, ratio=ratio, peak_mb=None, bar=1, holds=ratio >= 1
        )

    file = tmp_path / "build" / "results.json"
    keep([result("a", 1), result("b", 1)], file)
    keep([result("a", 0.5), result("c", 2)], file)

    told = json.loads(file.read_text())
    assert {one["name"]: (one["ratio"], one["holds"]) for one in told} == {
        "a": (0.5, False),
        "b": (1, True),
        "c": (2, True),
    }
    assert capsys.readouterr().out.count("MISSED") == 1


def test_link_checks_are_measured_beside_an_empty_route_and_recorded_each(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    with link_place(tmp_path, postgres, recipients=4) as place:
        assert ask(place, (EMPTY,), 200, 0.2).value > 0
        before = place.downloads()
        asked = ask(place, place.paths, 302, 0.2)
        assert asked.value > 0
        # Each answer is a download, and each download a commit of its own.
        assert place.downloads() - before >= asked.value * 0.2
