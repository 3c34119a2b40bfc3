"""A dataset: a table or view of a connection, with its fields, its key and its access rules."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from queries_orchestration.model.access import AccessRule, parse_access_rule
from queries_orchestration.model.fields import SORTABLE, Field, parse_field
from queries_orchestration.model.parts import Part


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What may be asked of one relation.

    The fields of ``key`` together name one row each and are never NULL: paging rests on it.
    Names of relations and columns are exact, as the database spells them.
    """

    name: str
    schema: str | None
    relation: str
    fields: Mapping[str, Field]
    key: tuple[str, ...]
    access: tuple[AccessRule, ...]


def parse_dataset(mapping: Mapping[str, object]) -> Dataset:
    """Read a dataset's definition out of the catalog.

    Args:
        mapping: ``name`` (else the relation's), ``relation`` (with its schema before
            a dot where it has one), ``fields``, ``key`` and ``access``.

    Raises:
        InvalidQuery: the definition is wrong; the message names the piece.
    """
    pieces = Part(mapping).mapping(
        required=["relation", "fields", "key", "access"], optional=["name"]
    )
    *schema, relation = pieces["relation"].text().split(".")
    if len(schema) > 1 or not relation or "" in schema:
        raise pieces["relation"].refuse("must be a name, or a schema and a name with a dot between")
    name = pieces["name"].text() if "name" in pieces else relation
    fields = _parse_fields(pieces["fields"])
    key = _parse_key(pieces["key"], fields)
    fields |= {part: replace(fields[part], nullable=False) for part in key}
    return Dataset(
        name=name,
        schema=schema[0] if schema else None,
        relation=relation,
        fields=fields,
        key=key,
        access=tuple(parse_access_rule(item, fields) for item in pieces["access"].items()),
    )


def _parse_fields(part: Part) -> dict[str, Field]:
    fields: dict[str, Field] = {}
    for item in part.items():
        field = parse_field(item)
        if field.name in fields:
            raise item.refuse(f"there are two fields {field.name}")
        fields[field.name] = field
    return fields


def _parse_key(part: Part, fields: Mapping[str, Field]) -> tuple[str, ...]:
    key: list[str] = []
    for item in part.items():
        name = item.choice(fields)
        if fields[name].type not in SORTABLE:
            raise item.refuse(f"a {fields[name].type} field cannot be part of a key")
        if name in key:
            raise item.refuse(f"{name} is in the key twice")
        key.append(name)
    return tuple(key)
