"""docs/controls.md has each control of both documents once, and what it names exists."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

import pytest

from queries_orchestration_tests.named import (
    ROOT,
    TEST_NAMED,
    is_file,
    is_function,
    is_test,
    rows_of_table,
)
from queries_orchestration_tests.spec_controls import OF_006, OF_008

CONTROLS: Final = (ROOT / "docs/controls.md").read_text()
STANDINGS: Final = {"ours", "shared", "partly", "outside"}


@dataclass(frozen=True, slots=True)
class Row:
    """A control as the page tells it."""

    id: str
    documents: str
    read_as: str
    we_do: str
    where: tuple[str, ...]
    tests: tuple[str, ...]
    stands: str
    rest: str


def _row(cells: list[str]) -> Row:
    id_, documents, read_as, we_do, where, tests, stands, rest = cells
    return Row(
        id=id_,
        documents=documents,
        read_as=read_as,
        we_do=we_do,
        where=tuple(re.findall(r"`([^`]+)`", where)),
        tests=tuple(re.findall(r"`([^`]+)`", tests)),
        stands=stands.strip("`"),
        rest=rest,
    )


ROWS: Final = [_row(cells) for cells in rows_of_table(CONTROLS, begin="TC-")]
OWNERS: Final = {
    cells[0]
    for cells in rows_of_table(
        CONTROLS.partition("## Whose")[2].partition("## The controls")[0], begin="the "
    )
}
EACH_ROW: Final = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)


def test_every_control_of_both_documents_has_one_row_and_no_other_has() -> None:
    assert [row.id for row in ROWS] == sorted(OF_008 | OF_006)
    assert {row.id for row in ROWS if row.documents == "both"} == OF_008 & OF_006
    assert {row.id for row in ROWS if row.documents == "008"} == OF_008 - OF_006
    assert {row.id for row in ROWS if row.documents == "006"} == OF_006 - OF_008


def test_the_families_of_the_page_are_those_of_the_documents() -> None:
    table = rows_of_table(CONTROLS.partition("## Where it stands")[0], begin="")
    told = [
        (f"TC-{family}-{number:03}", documents)
        for family, _, *columns in table
        if re.fullmatch(r"[A-Z]{2,3}", family)
        for documents, ids in zip(("both", "008"), columns, strict=True)
        for number in _numbers(ids)
    ]
    assert sorted(told) == sorted((row.id, row.documents) for row in ROWS)


def _numbers(ids: str) -> list[int]:
    if " to " in ids:
        first, last = ids.split(" to ")
        return list(range(int(first), int(last) + 1))
    return [int(one) for one in ids.split(",") if one.strip()]


@EACH_ROW
def test_a_row_says_what_we_do_and_where_it_stands(row: Row) -> None:
    assert row.read_as
    assert row.we_do.endswith(".")
    assert row.stands in STANDINGS
    if row.stands != "outside":
        assert row.where
        assert row.tests


@EACH_ROW
def test_what_is_not_ours_says_whose_and_what_is_missing_says_what(row: Row) -> None:
    # Both may be wanting, and only a row that is all ours has neither.
    assert ("not yet: " in row.rest) == (row.stands == "partly")
    if row.stands in ("shared", "outside"):
        assert "outside (" in row.rest
    if row.stands == "ours":
        assert not row.rest
    whose = re.findall(r"outside \(([^)]+)\): \w", row.rest)
    assert len(whose) == len(re.findall(r"(?:^|\. )outside\b", row.rest))
    assert {one for owners in whose for one in owners.split(", ")} <= OWNERS


@EACH_ROW
def test_what_a_row_names_exists(row: Row) -> None:
    assert [one for one in row.where if not (is_file(one) or is_function(one))] == []
    assert [one for one in row.tests if not is_test(one)] == []
    assert len(row.tests) == len(set(row.tests))


def test_every_test_that_the_page_names_is_looked_for() -> None:
    assert set(TEST_NAMED.findall(CONTROLS)) == {one for row in ROWS for one in row.tests}


def test_each_who_has_something() -> None:
    named = {
        one
        for row in ROWS
        for owners in re.findall(r"outside \(([^)]+)\)", row.rest)
        for one in owners.split(", ")
    }
    assert named == OWNERS - {"the keeper of the catalogue of controls"}
