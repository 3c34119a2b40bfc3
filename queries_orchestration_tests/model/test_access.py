"""Access rules: the first that matches a person applies, alone."""

from __future__ import annotations

from typing import Any

import pytest

from queries_orchestration.model.access import Actor, access_of
from queries_orchestration.model.datasets import parse_dataset
from queries_orchestration.model.errors import AccessLost, InvalidQuery
from queries_orchestration.model.filters import Filter
from queries_orchestration_tests.model.definitions import EVERYTHING, a_dataset

FIELDS = {"id": "integer", "carrier": "text", "cost": "decimal"}
ONLY_AA = [{"field": "carrier", "op": "eq", "value": "AA"}]
AUTHORS = {"who": {"roles": ["author"]}, "fields": ["id", "carrier"], "rows": "all"}
ROSA = {"who": {"people": ["Rosa"]}, "fields": "all", "rows": ONLY_AA}


def person(name: str, *roles: str, active: bool = True) -> Actor:
    return Actor(f"id-of-{name}", name, frozenset(roles), active)


def test_a_rule_gives_its_fields_and_its_rows() -> None:
    access = access_of(a_dataset(FIELDS, access=[ROSA]), person("Rosa"))
    assert access.fields == {"id", "carrier", "cost"}
    assert access.row_filters == (Filter(field="carrier", op="eq", constant="AA"),)


def test_the_first_rule_that_matches_applies_and_no_other_adds_to_it() -> None:
    author_rosa = person("Rosa", "author")
    first = access_of(a_dataset(FIELDS, access=[AUTHORS, ROSA]), author_rosa)
    assert first.fields == {"id", "carrier"}
    assert first.row_filters == ()
    second = access_of(a_dataset(FIELDS, access=[ROSA, AUTHORS]), author_rosa)
    assert second.fields == {"id", "carrier", "cost"}
    assert len(second.row_filters) == 1


def test_a_rule_for_roles_or_people_matches_either() -> None:
    rule = {"who": {"roles": ["author"], "people": ["Rosa"]}, "fields": "all", "rows": "all"}
    dataset = a_dataset(FIELDS, access=[rule])
    for actor in (person("Rosa"), person("Otto", "author")):
        assert access_of(dataset, actor).fields == set(FIELDS)
    with pytest.raises(AccessLost):
        access_of(dataset, person("Otto", "reader"))


def test_whom_no_rule_matches_has_no_access_not_even_an_administrator() -> None:
    with pytest.raises(AccessLost, match="dataset things") as caught:
        access_of(a_dataset(FIELDS, access=[AUTHORS]), person("Root", "administrator"))
    assert caught.value.code == "access_lost"


def test_somebody_who_is_not_active_has_no_access_even_where_everyone_has() -> None:
    with pytest.raises(AccessLost, match="is not active") as caught:
        access_of(a_dataset(FIELDS, access=[EVERYTHING]), person("Rosa", active=False))
    assert caught.value.code == "actor_inactive"
    assert "Rosa" not in caught.value.message  # it is kept with history, which names nobody


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"fields": "all", "rows": "all"}, "access[0]: 'who' is missing"),
        ({**EVERYTHING, "who": {}}, "access[0].who: must name roles or people"),
        ({**EVERYTHING, "who": {"everyone": False}}, "access[0].who.everyone: must be true"),
        (
            {**EVERYTHING, "who": {"everyone": True, "roles": ["author"]}},
            "access[0].who.everyone: must be true and stand alone",
        ),
        ({**EVERYTHING, "who": {"role": ["a"]}}, "access[0].who: unknown key 'role'"),
        ({**EVERYTHING, "fields": ["price"]}, "access[0].fields[0]: 'price' is not one of"),
        ({**EVERYTHING, "fields": []}, "access[0].fields: must be a list"),
        ({**EVERYTHING, "rows": []}, "access[0].rows: must be a list"),
        (
            {**EVERYTHING, "rows": [{"field": "id", "op": "eq", "value": {"parameter": "x"}}]},
            "access[0].rows[0].value: must be a constant",
        ),
        (
            {**EVERYTHING, "rows": [{"field": "id", "op": "in", "value": {"parameter": "x"}}]},
            "access[0].rows[0].value: must be a constant",
        ),
        (
            {**EVERYTHING, "rows": [{"field": "id", "op": "in", "value": [1, None]}]},
            "access[0].rows[0].value[1]: nothing equals null",
        ),
    ],
)
def test_a_wrong_rule_is_refused_at_its_place(rule: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        a_dataset(FIELDS, access=[rule])
    assert caught.value.message.startswith(message)


def definition(**changes: Any) -> dict[str, Any]:
    whole = {
        "name": "flights",
        "relation": "air.flights",
        "fields": [
            {"name": "id", "type": "integer", "column": "flight_id"},
            {"name": "day", "type": "date", "label": "Day", "nullable": False},
            {"name": "extra", "type": "json"},
        ],
        "key": ["id"],
        "access": [EVERYTHING],
    }
    return {name: value for name, value in (whole | changes).items() if value is not None}


def test_a_dataset_reads_its_schema_columns_and_labels() -> None:
    dataset = parse_dataset(definition())
    assert (dataset.schema, dataset.relation) == ("air", "flights")
    identity, day, extra = dataset.fields.values()
    assert (identity.column, identity.label, identity.nullable) == ("flight_id", "id", False)
    assert (day.column, day.label, day.nullable) == ("day", "Day", False)
    assert extra.nullable


def test_a_dataset_without_a_name_has_its_relations() -> None:
    assert parse_dataset(definition(name=None)).name == "flights"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relation": None}, "'relation' is missing"),
        ({"relation": "a.b.c"}, "relation: must be a name, or a schema and a name"),
        ({"relation": ".flights"}, "relation: must be a name, or a schema and a name"),
        ({"fields": [{"name": "id", "type": "int"}]}, "fields[0].type: 'int' is not one of text"),
        ({"fields": [{"name": "id", "type": "text"}] * 2}, "fields[1]: there are two fields id"),
        ({"fields": ["id"]}, "fields[0]: must be a mapping"),
        ({"key": ["extra"]}, "key[0]: a json field cannot be part of a key"),
        ({"key": ["nr"]}, "key[0]: 'nr' is not one of id, day, extra"),
        ({"key": ["id", "id"]}, "key[1]: id is in the key twice"),
        ({"key": []}, "key: must be a list with at least one entry"),
        ({"access": None}, "'access' is missing"),
        ({"acess": []}, "unknown key 'acess'"),
    ],
)
def test_a_wrong_dataset_is_refused_at_its_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidQuery) as caught:
        parse_dataset(definition(**changes))
    assert caught.value.message.startswith(message)
