"""Workbooks are valid, and other programs read in them what we wrote."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from openxml_audit import (  # type: ignore[import-untyped]
    OpenXmlValidator,
    ValidationSeverity,
)
from python_calamine import load_workbook

from queries_orchestration.model.columns import Column
from queries_orchestration_tests.exports.read_back import calamine_rows, written
from queries_orchestration_tests.reports.workbook.samples import (
    EVERY_TYPE,
    EVERY_VALUE,
    everything,
    opened,
    written_workbook,
)

_CHARTS = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


def errors_of(path: Path) -> list[str]:
    found = OpenXmlValidator().validate(path).errors
    return [str(error) for error in found if error.severity is ValidationSeverity.ERROR]


def test_the_workbook_of_a_report_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "report.xlsx"
    path.write_bytes(written_workbook(everything())[0])
    assert errors_of(path) == []


def test_the_workbook_of_a_query_is_valid(tmp_path: Path) -> None:
    path = tmp_path / "query.xlsx"
    columns = [Column(label, kind) for label, kind in EVERY_TYPE]
    path.write_bytes(written("xlsx", columns, EVERY_VALUE))
    assert errors_of(path) == []


def test_libreoffice_reads_the_values_and_draws_the_charts(
    libreoffice: Callable[[Path, str], Path], tmp_path: Path
) -> None:
    path = tmp_path / "report.xlsx"
    content, _ = written_workbook(everything())
    path.write_bytes(content)
    saved = libreoffice(path, "xlsx")
    names = load_workbook(path).sheet_names
    assert load_workbook(saved).sheet_names == names
    for number, name in enumerate(names, start=1):
        assert _shown(saved.read_bytes(), number) == _shown(content, number), name
    assert _drawn(saved) == [
        (
            "Delays a day",
            {
                "Arrivals": [None if n == 9 else 1200 + 40 * (n % 7) for n in range(31)],
                "Departures": [None if 14 < n < 18 else 1100 + 30 * (n % 5) for n in range(31)],
            },
        ),
        ("Flights a month", {"Flights": [27004, 24951, 28834, 28330]}),
        (
            "Flights a carrier",
            {
                "United": [4637, 4346, 4971, 5047],
                "=JetBlue": [4427, 4103, 4772, None],
                "Delta": [3690, 3444, 4189, 4092],
            },
        ),
        ("Mean delay", {"Mean delay": [12.3333333333333, -0.714285714285714, 4.5]}),
    ]
    links = [row[0].hyperlink for row in opened(saved.read_bytes()).worksheets[0]["B10:B19"]]
    assert all(link and link.location for link in links)


def _shown(content: bytes, number: int) -> list[list[object]]:
    """The values of a sheet, without what no cell holds at its right and lower end."""
    rows = [[*row] for row in calamine_rows(content, number)]
    for row in rows:
        while row and row[-1] == "":
            row.pop()
    while rows and not rows[-1]:
        rows.pop()
    return rows


def _drawn(path: Path) -> list[tuple[str, dict[str, list[float | None]]]]:
    """Title and series of each chart, as the program that saved the file had read them."""
    charts = []
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if re.search(r"charts/chart\d+\.xml", name)]
        for name in sorted(names):
            root = ElementTree.fromstring(archive.read(name))  # noqa: S314  # of our own
            title = root.find(f".//{_CHARTS}title")
            assert title is not None
            charts.append(
                ("".join(title.itertext()), dict(map(_series, root.iter(f"{_CHARTS}ser"))))
            )
    return charts


def _series(series: ElementTree.Element) -> tuple[str, list[float | None]]:
    label = series.findtext(f"{_CHARTS}tx//{_CHARTS}v") or ""
    values = series.find(f"{_CHARTS}val//{_CHARTS}numCache")
    assert values is not None
    count = values.find(f"{_CHARTS}ptCount")
    assert count is not None
    points: list[float | None] = [None] * int(count.attrib["val"])
    for point in values.iter(f"{_CHARTS}pt"):
        points[int(point.attrib["idx"])] = float(point.findtext(f"{_CHARTS}v") or "")
    return label, points
