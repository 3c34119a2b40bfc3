"""What a person may open now."""

from __future__ import annotations

import pytest

from queries_orchestration.exports.offered import offered_source, offered_sources
from queries_orchestration.model.errors import NotFound
from queries_orchestration_tests.house import House

MORE = """\
workspace: {name: acme}
people:
  eve: {title: Eve Some, address: eve@example.org, roles: [reader]}
datasets:
  orders:
    title: Orders
    connection: shop
    relation: orders
    fields:
      id: {type: integer, nullable: false}
      region: {type: text}
      amount: {type: decimal}
    key: [id]
    access:
      - {who: {people: [eve]}, fields: [id], rows: all}
      - {who: {roles: [author]}, fields: all, rows: all}
queries:
  ids:
    title: Ids
    dataset: orders
    fields: [{field: id}]
    filters: [{field: id, op: ge, value: {parameter: least}}]
    parameters: [{name: least, type: integer}]
reports:
  both:
    title: Both
    sections:
      - {show: table, title: Ids, query: ids, values: {least: 1}}
      - {show: table, title: All, query: all-orders}
  first:
    title: First
    parameters: [{name: least, type: integer}]
    sections:
      - {show: table, title: Ids, query: ids, values: {least: {parameter: least}}}
"""


def names(house: House, person: str) -> list[str]:
    with house.backends.database.read() as connection:
        found = offered_sources(connection, house.workspace_id, person_id=house.person(person))
    return [one.source.name for one in found]


def test_only_what_they_may_open_with_every_field_and_section(house: House) -> None:
    house.apply(MORE)
    assert names(house, "ada") == ["all-orders", "both", "first", "ids", "no-orders"]
    # A required value that is not given hides nothing.
    assert names(house, "eve") == ["first", "ids"]  # a filter uses a field, too
    assert names(house, "bob") == []
    assert names(house, "dan") == []


def test_with_the_parameters_of_each(house: House) -> None:
    house.apply(MORE)
    with house.backends.database.read() as connection:
        for name in ("ids", "first"):
            found = offered_source(
                connection, house.workspace_id, person_id=house.person("eve"), name=name
            )
            assert [one.name for one in found.parameters] == ["least"]


@pytest.mark.parametrize("name", ["all-orders", "no-such", "", "\0"])
def test_forbidden_and_unknown_look_the_same(house: House, name: str) -> None:
    with house.backends.database.read() as connection, pytest.raises(NotFound) as refused:
        offered_source(connection, house.workspace_id, person_id=house.person("bob"), name=name)
    assert refused.value.message == f"There is no query or report {name!r}."
