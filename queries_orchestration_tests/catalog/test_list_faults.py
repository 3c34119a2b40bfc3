"""Lists of values in catalog files: what is taken, and every fault with its line."""

from __future__ import annotations

import pytest

from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import (
    Apply,
    Refuse,
    altered,
    changed,
    line_of,
    schedule_of,
)

LISTS = changed(
    ("          - {field: carrier, op: eq, value: AA}\n",
     "          - field: carrier\n"
     "            op: in\n"
     "            value:\n"
     "              - AA\n"
     "              - BA\n"),
    ("      - {name: since, type: date, default: {start_of: month}}\n",
     "      - {name: since, type: date, default: {start_of: month}}\n"
     "      - name: carriers\n"
     "        type: text\n"
     "        list: true\n"
     "        allowed: [AA, BA, LH]\n"
     "        default: [AA, LH]\n"),
    ("      - {field: day, op: ge, value: {parameter: since}}\n",
     "      - {field: day, op: ge, value: {parameter: since}}\n"
     "      - {field: carrier, op: in, value: {parameter: carriers}}\n"
     "      - field: id\n"
     "        op: not_in\n"
     "        value:\n"
     "          - 7\n"
     "          - 8\n"),
    ("    values: {since: 2027-01-01}\n",
     "    values:\n"
     "      since: 2027-01-01\n"
     "      carriers:\n"
     "        - LH\n"
     "        - BA\n"),
)  # fmt: skip


@pytest.fixture
def database_kind() -> str:
    """The rules do not depend on the kind of database."""
    return "sqlite"


def test_lists_are_applied_and_applying_them_again_changes_nothing(
    apply: Apply, database: Database
) -> None:
    apply(LISTS)
    schedule = schedule_of(database)
    assert schedule.runtime_values == {"since": "2027-01-01", "carriers": ["LH", "BA"]}
    apply(LISTS)
    assert schedule_of(database) == schedule


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("              - BA", "              - null", "access.rows.value: nothing equals null;"),
        ("              - BA", "              - 7", "access.rows.value: does not fit the field"),
        ("              - BA", "              - {parameter: p}", "does not fit the field carrier"),
        ("in, value: {parameter: carriers}", "in, value: {parameter: since}", "since is of type"),
        ("in, value: {parameter: carriers}", "eq, value: {parameter: carriers}",
         "carriers is a list; eq takes one value"),
        ("          - 8", "          - null", "filters.value: nothing equals null; use"),
        ("          - 8", "          - x", "filters.value: does not fit the field id"),
    ],
)  # fmt: skip
def test_a_wrong_element_is_a_fault_on_its_line(
    faults_of: Refuse, old: str, new: str, message: str
) -> None:
    text = altered(LISTS, (f"\n{old}", f"\n{new}") if old[0] == " " else (old, new))
    (fault,) = faults_of(text)
    assert message in fault.message
    assert fault.line == line_of(text, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("        list: true\n", "        list: 1\n", "'list' must be true or false"),
        ("default: [AA, LH]", "default: AA", "'default': give a list"),
        ("default: [AA, LH]", "default: [AA, XX]", "'default': element 2: give one of"),
        ("default: [AA, LH]", "default: [null]", "'default': element 1 is null"),
    ],
)
def test_a_wrong_parameter_is_a_fault_where_it_begins(
    faults_of: Refuse, old: str, new: str, message: str
) -> None:
    text = altered(LISTS, (old, new))
    fault = faults_of(text)[0]
    assert message in fault.message
    assert fault.line == line_of(text, "- name: carriers")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("LH,BA", "give a list"),
        ("[BA, XX]", 'element 2: give one of "AA", "BA", "LH"'),
        ("[BA, null]", "element 2 is null, and nothing equals null; leave it out"),
        ("[BA, 7]", "element 2: give a text"),
    ],
)
def test_a_wrong_list_of_a_schedule_is_a_fault_on_its_line(
    faults_of: Refuse, value: str, message: str
) -> None:
    listed = "      carriers:\n        - LH\n        - BA\n"
    text = altered(LISTS, (listed, f"      carriers: {value}\n"))
    (fault,) = faults_of(text)
    assert f"Parameter 'carriers': {message}" in fault.message
    assert fault.line == line_of(text, f"carriers: {value}")


def test_a_list_that_is_too_long_is_a_fault(faults_of: Refuse) -> None:
    ids = ", ".join(map(str, range(10_001)))
    old = "        value:\n          - 7\n          - 8\n"
    text = altered(LISTS, (old, f"        value: [{ids}]\n"))
    (fault,) = faults_of(text)
    assert "filters.value: has 10,001 elements; 10,000 is the most" in fault.message
    assert fault.line == line_of(text, "value: [0, 1,")
