"""What a report of ten sections costs as PDF and as workbook, beside its rows as CSV.

Each file is made in a process of its own, three times; the best counts. Seconds depend on the
machine, ratios hardly do: compare those.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from queries_orchestration_tests.house import House
from queries_orchestration_tests.reports.ten_sections import (
    QUERY,
    REPORT,
    Made,
    build_sales_house,
    make_in_child,
)

TIMES: Final = 3
FILES: Final = {
    "20,000 rows as CSV (baseline)": (QUERY, "csv"),
    "report as PDF, 2,000 rows printed": (REPORT, "pdf"),
    "report as workbook, 20,000 rows": (REPORT, "xlsx"),
}
"""By name: of what source a file is made, and in which format; the first is the baseline."""


def main() -> None:
    """Print the table."""
    with TemporaryDirectory() as folder:
        house = build_sales_house(Path(folder))
        best = {name: _best(house, *wanted) for name, wanted in FILES.items()}
    baseline = next(iter(best.values()))
    print(f"{'':36}{'seconds':>9}{'ratio':>8}{'memory':>10}{'ratio':>8}{'file':>10}")
    for name, made in best.items():
        print(
            f"{name:36}{made.seconds:9.2f}{made.seconds / baseline.seconds:8.1f}"
            f"{made.megabytes:7.0f} MB{made.megabytes / baseline.megabytes:8.1f}"
            f"{len(made.content) / 1e6:7.1f} MB"
        )


def _best(house: House, source: str, file_format: str) -> Made:
    """Return what it took at best."""
    made = [make_in_child(house, source, file_format) for _ in range(TIMES)]
    return Made(
        content=made[0].content,
        seconds=min(one.seconds for one in made),
        megabytes=min(one.megabytes for one in made),
    )


if __name__ == "__main__":
    main()
