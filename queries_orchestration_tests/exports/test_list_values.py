"""Lists of values from where they are given to the rows of the file (cases P01, P02)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import yaml
from python_calamine import CalamineWorkbook

from queries_orchestration.exports.column_texts import column_texts
from queries_orchestration.exports.copy_formats import csv_options
from queries_orchestration.exports.copy_pages import copy_pages
from queries_orchestration.exports.sources import engine_of, read_snapshot
from queries_orchestration.exports.text_form import TextForm
from queries_orchestration.model.errors import InvalidRuntimeValue
from queries_orchestration.settings import EXPORT_LANE, REPORT_LANE
from queries_orchestration_tests.exports.admitted import admit, everything
from queries_orchestration_tests.house import CATALOG, MONDAY, House
from queries_orchestration_tests.model.definitions import a_dataset, compiled, fill
from queries_orchestration_tests.postgres import PostgresServer

REGIONS = {"name": "regions", "type": "text", "list": True, "label": "Regions"}


@pytest.fixture
def listing(house: House) -> House:
    """The house with a query and a report of some regions; bob sees two of them."""
    catalog = yaml.safe_load(CATALOG)
    rows = [{"field": "region", "op": "in", "value": ["r1", "r3"]}]
    catalog["datasets"]["orders"]["access"].insert(
        0, {"who": {"people": ["bob"]}, "fields": "all", "rows": rows}
    )
    catalog["queries"]["by-regions"] = {
        "title": "Orders of some regions",
        "dataset": "orders",
        "fields": [{"field": "id"}, {"field": "region"}],
        "filters": [
            {"field": "region", "op": "in", "value": {"parameter": "regions"}},
            {"field": "id", "op": "not_in", "value": {"parameter": "but"}},
        ],
        "parameters": [REGIONS, {"name": "but", "type": "integer", "list": True, "default": []}],
    }
    catalog["reports"] = {
        "some-regions": {
            "title": "Some regions",
            "parameters": [REGIONS],
            "sections": [
                {
                    "show": "table",
                    "title": "Orders",
                    "query": "by-regions",
                    "values": {"regions": {"parameter": "regions"}, "but": [1, 2]},
                }
            ],
        }
    }
    catalog["schedules"]["weekly"] |= {
        "query": "by-regions",
        "values": {"regions": ["r2", "O'Neil", "r2"], "but": [9]},
    }
    house.apply(yaml.safe_dump(catalog))
    return house


def expected(regions: set[str], but: set[int]) -> list[str]:
    rows = [(number, f"r{number % 7}") for number in range(1, 2_501)]
    kept = [(n, region) for n, region in rows if region in regions and n not in but]
    return ["id,region", *(f"{number},{region}" for number, region in kept)]


def lines_of(house: House, export_id: str) -> list[str]:
    with house.backends.storage.open(house.asked_export(export_id).storage_key) as file:
        return file.read().decode().splitlines()


def test_a_file_has_the_rows_of_the_list_and_the_export_keeps_it(listing: House) -> None:
    given: list[tuple[dict[str, Any], set[str], set[int]]] = [
        ({"regions": ["r1", "r2", "r1"], "but": [1, 2]}, {"r1", "r2"}, {1, 2}),
        ({"regions": "[\"r3\", \"x' OR '1'='1\"]", "but": "[3]"}, {"r3"}, {3}),
        ({"regions": []}, set(), set()),
    ]
    made = [admit(listing, query="by-regions", values=values) for values, _, _ in given]
    assert listing.work(EXPORT_LANE) == ["ready"] * 3

    for export_id, (_, regions, but) in zip(made, given, strict=True):
        assert lines_of(listing, export_id) == expected(regions, but)
    assert [listing.asked_export(export_id).runtime_values for export_id in made] == [
        {"regions": ["r1", "r2"], "but": [1, 2]},
        {"regions": ["r3", "x' OR '1'='1"], "but": [3]},
        {"regions": [], "but": []},
    ]


def test_a_person_sees_what_is_in_their_list_and_in_that_of_their_rule(listing: House) -> None:
    export_id = admit(listing, "bob", query="by-regions", values={"regions": ["r1", "r2"]})
    assert listing.work(EXPORT_LANE) == ["ready"]
    assert lines_of(listing, export_id) == expected({"r1"}, set())


@pytest.mark.parametrize(
    ("regions", "message"),
    [
        (None, "Parameter 'regions' is required: give a list"),
        ([None], "Parameter 'regions': element 1 is null, and nothing equals null; leave it out."),
        (["r1", None], "Parameter 'regions': element 2 is null"),
        (["r1"] * 70_000, "Parameter 'regions': the list has 70,000 elements; 10,000 is the most."),
        ("r1,r2", "Parameter 'regions': give a list"),
    ],
)
def test_a_wrong_list_is_refused_before_anything_is_written(
    listing: House, regions: object, message: str
) -> None:
    before = everything(listing)
    with pytest.raises(InvalidRuntimeValue) as refused:
        admit(listing, query="by-regions", values={"regions": regions})
    assert refused.value.message.startswith(message)
    assert everything(listing) == before


def test_a_schedule_delivers_the_rows_of_its_list(listing: House) -> None:
    assert listing.deliver(MONDAY) == ["delivered"]

    (occurrence,) = listing.history()
    assert listing.file(occurrence.key).decode().splitlines() == expected({"r2"}, {9})
    assert listing.schedule().runtime_values == {"regions": ["r2", "O'Neil", "r2"], "but": [9]}
    assert listing.export(occurrence.key).runtime_values == {
        "regions": ["r2", "O'Neil"],
        "but": [9],
    }


def test_a_report_gives_its_list_to_its_query_and_tells_it(listing: House) -> None:
    many = [f"r{number}" for number in range(1, 31)]
    asked: tuple[list[str], ...] = (["r1", "r4"], [], many)
    made = [
        admit(listing, query="some-regions", file_format="xlsx", values={"regions": regions})
        for regions in asked
    ]
    assert listing.work(REPORT_LANE) == ["ready"] * 3

    told, ids = zip(*(_workbook(listing, export_id) for export_id in made), strict=True)
    assert told[:2] == ("r1, r4", "none")
    assert told[2] == ", ".join(many[:20]) + ", and 10 more"
    some = [n for n in range(3, 2_501) if n % 7 in (1, 4)]
    assert ids == (some, [], [n for n in range(3, 2_501) if n % 7])


def _workbook(house: House, export_id: str) -> tuple[str, list[int]]:
    """Return how the overview tells the regions, and the ids in the table."""
    with house.backends.storage.open(house.asked_export(export_id).storage_key) as file:
        book = CalamineWorkbook.from_filelike(io.BytesIO(file.read()))
    overview, table = (book.get_sheet_by_name(name).to_python() for name in book.sheet_names[:2])
    (regions,) = [row[1] for row in overview if row[0] == "Regions"]
    return str(regions), [int(row[0]) for row in table if isinstance(row[0], float)]


@pytest.fixture
def postgres_url(postgres: PostgresServer) -> Iterator[str]:
    url = postgres.create_database()
    yield url
    postgres.drop(url)


def test_postgresql_copies_the_rows_of_ten_thousand_elements(postgres_url: str) -> None:
    fill(
        postgres_url,
        "CREATE TABLE t (id integer PRIMARY KEY, v text)",
        r"""INSERT INTO t
        SELECT n, (ARRAY['a,b', 'say "no"', '{}', E'\\', '%s', 'O''Neil', ''])[n % 7 + 1]
        FROM generate_series(0, 20999) AS n""",
    )
    wanted = tuple(range(0, 20_000, 2))
    query = compiled(
        a_dataset({"id": "integer", "v": "text"}, not_null=["id"]),
        "id",
        filters=[
            {"field": "id", "op": "in", "value": {"parameter": "ids"}},
            {"field": "v", "op": "not_in", "value": ['say "no"', "\\", "%s", "O'Neil"]},
        ],
        parameters=[{"name": "ids", "type": "integer", "list": True}],
        values={"ids": wanted},
    )
    kept = [n for n in wanted if n % 7 in (0, 2, 6)]
    for by_key in (True, False):
        pieces: list[bytes] = []
        with read_snapshot(engine_of(postgres_url), 30) as connection:
            copy_pages(
                connection,
                column_texts(connection, query, TextForm(ZoneInfo("UTC"))),
                lambda lines, _rows, to=pieces: to.append(lines),  # type: ignore[misc]
                options=csv_options(","),
                is_guarded=True,
                by_key=by_key,
            )
        assert [int(line) for line in b"".join(pieces).split()] == kept
