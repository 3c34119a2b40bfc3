"""A filter: one condition on one field, in a query and in an access rule alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from queries_orchestration.model.columns import VALUE_TYPES
from queries_orchestration.model.fields import COMPARABLE, MEASURED, Field
from queries_orchestration.model.parts import Part
from queries_orchestration.model.runtime_values import MOST_ELEMENTS, Parameter
from queries_orchestration.model.values import UnfitValue, constant

OPERATORS: Final[dict[str, frozenset[str]]] = {
    "eq": COMPARABLE,
    "ne": COMPARABLE,
    "lt": MEASURED,
    "le": MEASURED,
    "gt": MEASURED,
    "ge": MEASURED,
    "in": COMPARABLE,
    "not_in": COMPARABLE,
    "is_null": frozenset(VALUE_TYPES),
    "not_null": frozenset(VALUE_TYPES),
    "contains": frozenset({"text"}),
    "starts_with": frozenset({"text"}),
}
"""Each operator with the types of field that it fits."""

VALUELESS: Final = frozenset({"is_null", "not_null"})
_LISTED: Final = frozenset({"in", "not_in"})
_FITTING_FIELDS: Final[dict[str, frozenset[str]]] = {
    "text": frozenset({"text", "uuid"}),
    "integer": frozenset({"integer", "decimal", "float"}),
    "decimal": frozenset({"decimal", "float"}),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """A condition; its value is a constant of the field's type, or a parameter's name.

    Of ``in`` and ``not_in`` the constant is a tuple of those.
    """

    field: str
    op: str
    constant: object = None
    parameter: str | None = None


def parse_filter(
    part: Part, fields: Mapping[str, Field], parameters: Mapping[str, Parameter]
) -> Filter:
    """Read one filter; an access rule has no ``parameters``, so only constants fit there.

    Raises:
        InvalidQuery: the definition is wrong; the message names the piece.
    """
    pieces = part.mapping(required=["field", "op"], optional=["value"])
    field = fields[pieces["field"].choice(fields)]
    op = pieces["op"].choice(OPERATORS)
    if field.type not in OPERATORS[op]:
        raise pieces["op"].refuse(f"{op} does not fit the field {field.name}, a {field.type}")
    if op in VALUELESS:
        if "value" in pieces:
            raise pieces["value"].refuse(f"{op} takes no value")
        return Filter(field=field.name, op=op)
    if "value" not in pieces:
        raise part.refuse(f"'value' is missing; {op} needs one")
    given = pieces["value"]
    if isinstance(given.value, Mapping):
        name = _parameter_name(given, field, op, parameters)
        return Filter(field=field.name, op=op, parameter=name)
    constant_ = _constants(given, field, op) if op in _LISTED else _constant(given, field)
    return Filter(field=field.name, op=op, constant=constant_)


def _constant(part: Part, field: Field) -> object:
    if part.value is None:
        raise part.refuse("nothing equals null; use the operators is_null and not_null")
    try:
        return constant(part.value, field.type)
    except UnfitValue as error:
        raise part.refuse(f"does not fit the field {field.name}: {error}") from error


def _constants(part: Part, field: Field, op: str) -> tuple[object, ...]:
    if not isinstance(part.value, list | tuple):
        raise part.refuse(f"{op} takes a list such as [a, b], or a parameter that is a list")
    if len(part.value) > MOST_ELEMENTS:
        raise part.refuse(f"has {len(part.value):,} elements; {MOST_ELEMENTS:,} is the most")
    elements = part.items() if part.value else []
    return tuple(dict.fromkeys(_constant(element, field) for element in elements))


def _parameter_name(part: Part, field: Field, op: str, parameters: Mapping[str, Parameter]) -> str:
    if not parameters:
        raise part.refuse("must be a constant; there are no parameters here")
    name = part.mapping(required=["parameter"])["parameter"]
    parameter = parameters[name.choice(parameters)]
    if field.type not in _FITTING_FIELDS.get(parameter.type, frozenset({parameter.type})):
        raise name.refuse(
            f"{parameter.name} is of type {parameter.type} and does not fit"
            f" the field {field.name}, a {field.type}"
        )
    if parameter.is_list and op not in _LISTED:
        raise name.refuse(f"{parameter.name} is a list; {op} takes one value, in and not_in a list")
    if op in _LISTED and not parameter.is_list:
        raise name.refuse(f"{op} takes a list; give the parameter {parameter.name} `list: true`")
    return parameter.name
