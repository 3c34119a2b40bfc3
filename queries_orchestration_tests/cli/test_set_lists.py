"""``--set`` with a parameter that takes a list: its value is JSON."""

from __future__ import annotations

from pathlib import Path

import pytest

from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.cli.workers import at_work
from queries_orchestration_tests.house import House

BY_REGIONS = """\
workspace: {name: acme}
queries:
  by-regions:
    title: Orders of some regions
    dataset: orders
    fields: [{field: id}, {field: region}]
    filters: [{field: region, op: in, value: {parameter: regions}}]
    parameters: [{name: regions, type: text, list: true}]
"""
ASKED = ("export", "by-regions", "--as", "ada", "--format", "csv")


def test_a_list_is_given_as_json(house: House, call: Call, tmp_path: Path) -> None:
    house.apply(BY_REGIONS)
    out = tmp_path / "orders.csv"

    with at_work(house, "export"):
        told = call(
            house.environment, *ASKED, "--set", 'regions=["r1", "r2"]', "--out", out, "--json"
        ).json()

    assert told["values"] == {"regions": ["r1", "r2"]}
    assert out.read_text().splitlines()[1:] == [
        f"{number},r{number % 7}" for number in range(1, 2_501) if number % 7 in (1, 2)
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--set", "regions=r1"), "invalid_value", "give a list, on the command line as JSON"),
        (("--set", "regions=r1,r2"), "invalid_value", "give a list, on the command line as JSON"),
        (("--set", "regions=[r1,r2]"), "invalid_value", "give a list, on the command line as JSON"),
        (("--set", 'regions=["r1", null]'), "invalid_value", "element 2 is null"),
        (
            ("--set", "regions=r1", "--set", "regions=r2"),
            "usage",
            "'regions' is set twice. A list is one value, in JSON: regions='[…, …]'.",
        ),
    ],
)
def test_anything_else_is_refused_with_the_form(
    house: House, call: Call, tmp_path: Path, words: tuple[str, ...], code: str, message: str
) -> None:
    house.apply(BY_REGIONS)
    told = call(house.environment, *ASKED, *words, "--out", tmp_path / "o.csv", "--json").refusal()
    assert told["code"] == code
    assert message in told["message"]
