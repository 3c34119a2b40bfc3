"""Runtime values: a query's typed parameters, and the values that a person or schedule gives.

Values are data: text is never expanded, and nothing here builds SQL. The rules are in
``docs/runtime-values.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Final

from queries_orchestration.model.errors import InvalidQuery, InvalidRuntimeValue
from queries_orchestration.model.formats import SourceKind
from queries_orchestration.model.value_forms import (
    FORMS,
    ParameterType,
    StartOf,
    absolute,
    read,
    read_list,
    spell,
)

MOST_ELEMENTS: Final = 10_000
"""How many elements a list of values has at most."""

_KEYS = ("name", "type", "list", "required", "default", "allowed", "label")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One typed parameter of a query, as ``parse_parameter`` made it.

    ``default`` is an exact value, a StartOf, or None for none; of a list it is a tuple of the
    former. ``allowed``, when given, lists the only values, or elements, that are taken. A required
    parameter always has a value, given or default; the empty list is one.
    """

    name: str
    type: ParameterType
    is_list: bool
    required: bool
    default: object
    allowed: tuple[object, ...] | None
    label: str

    @property
    def kind(self) -> str:
        """What it takes, in words: ``text``, or ``list of text``."""
        return f"list of {self.type}" if self.is_list else self.type

    @property
    def expected(self) -> str:
        """The form in which its values are given, for a person."""
        form = FORMS[self.type].expected
        if not self.is_list:
            return form
        return f"a list, on the command line as JSON such as '[…, …]', each element {form}"


def parse_parameter(mapping: Mapping[str, object]) -> Parameter:
    """The parameter that a query's definition describes.

    Keys: ``name``, ``type``, and if wanted ``list`` (else false), ``required`` (else true),
    ``default``, ``allowed`` (a list), ``label`` (else the name). Raises InvalidQuery, naming the
    parameter and the key.
    """
    name = mapping.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise InvalidQuery(
            f"Parameter {str(name)[:80]!r}: its name must be lower-case letters, digits and '_', "
            "such as 'region', at most 63 characters."
        )
    for key in mapping:
        if key not in _KEYS:
            raise _invalid_query(name, f"there is no key {key!r}, only {', '.join(_KEYS)}")
    type_ = next((known for known in FORMS if known == mapping.get("type")), None)
    if type_ is None:
        raise _invalid_query(name, f"its type must be one of {', '.join(FORMS)}")
    label = mapping.get("label", name)
    if not isinstance(label, str) or not label.strip():
        raise _invalid_query(name, "'label' must be a text")
    parameter = Parameter(
        name=name,
        type=type_,
        is_list=_flag(name, mapping, "list", default=False),
        required=_flag(name, mapping, "required", default=True),
        default=None,
        allowed=_allowed(name, type_, mapping.get("allowed")),
        label=label,
    )
    given = mapping.get("default")
    return parameter if given is None else replace(parameter, default=_default(parameter, given))


def resolve_values(
    parameters: Sequence[Parameter],
    given: Mapping[str, object],
    *,
    moment: datetime,
    time_zone: str,
    of: SourceKind = "query",
) -> dict[str, object]:
    """Every parameter's exact value, in the parameters' order; None where there is no value.

    The value of a list is a tuple, in the order given, without duplicates. ``given`` holds values
    as JSON, YAML or the command line spell them. A name that is left out takes the default.
    Relative values are counted from ``moment`` (aware: the occurrence's slot) in the IANA zone
    ``time_zone``. Instants are returned in UTC. Raises InvalidRuntimeValue, naming the parameter,
    the element and the expected form, never the value; ``of`` says what takes them.
    """
    if moment.tzinfo is None:
        raise ValueError("moment must be an aware instant")
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            takes = f"it takes {', '.join(names)}" if names else "it takes none"
            raise InvalidRuntimeValue(f"The {of} has no parameter {str(name)[:80]!r}: {takes}.")
    return {
        parameter.name: _resolve(
            parameter, given.get(parameter.name, parameter.default), moment, time_zone
        )
        for parameter in parameters
    }


def dump_values(values: Mapping[str, object]) -> str:
    """Values as JSON text, exactly: what ``resolve_values`` returned or what a person gave it."""
    return json.dumps(dict(values), default=spell, ensure_ascii=False, allow_nan=False)


def load_values(text: str, parameters: Sequence[Parameter]) -> dict[str, object]:
    """The resolved values that ``dump_values`` wrote, for the parameters they were resolved for.

    Raises InvalidRuntimeValue where they do not fit the parameters.
    """
    stored = json.loads(text)
    if set(stored) != {parameter.name for parameter in parameters}:
        raise InvalidRuntimeValue(
            "The stored values do not fit the query's parameters: they belong to another version."
        )
    return {parameter.name: _load(parameter, stored[parameter.name]) for parameter in parameters}


class _Wrong(ValueError):
    """What is wrong with a value; the text follows the parameter's name and repeats no value."""


def _load(parameter: Parameter, stored: object) -> object:
    if stored is None:
        return None
    try:
        return _each(parameter, stored, partial(_read, parameter, is_exact=True))
    except _Wrong as wrong:
        raise _invalid_value(parameter, wrong) from None


def _resolve(parameter: Parameter, given: object, moment: datetime, time_zone: str) -> object:
    if given is None:
        if parameter.required:
            raise InvalidRuntimeValue(
                f"Parameter {parameter.name!r} is required: give {parameter.expected}."
            )
        return None

    def resolved(one: object) -> object:
        value = absolute(_read(parameter, one), parameter.type, moment, time_zone)
        _check_allowed(parameter, value)
        return value

    try:
        return _each(parameter, given, resolved)
    except _Wrong as wrong:
        raise _invalid_value(parameter, wrong) from None


def _default(parameter: Parameter, given: object) -> object:
    def relative(one: object) -> object:
        value = _read(parameter, one)
        if not isinstance(value, StartOf):
            _check_allowed(parameter, value)
        return value

    try:
        return _each(parameter, given, relative)
    except _Wrong as wrong:
        raise _invalid_query(parameter.name, f"'default': {wrong}") from None


def _each(parameter: Parameter, given: object, one: Callable[[object], object]) -> object:
    """The value that ``one`` makes, or of a list those that it makes of the elements."""
    if not parameter.is_list:
        return one(given)
    elements = read_list(given)
    if elements is None:
        raise _Wrong(f"give {parameter.expected}")
    if len(elements) > MOST_ELEMENTS:
        raise _Wrong(f"the list has {len(elements):,} elements; {MOST_ELEMENTS:,} is the most")
    values: dict[object, None] = {}
    for number, element in enumerate(elements, 1):
        if element is None:
            raise _Wrong(f"element {number} is null, and nothing equals null; leave it out")
        try:
            values[one(element)] = None
        except _Wrong as wrong:
            raise _Wrong(f"element {number}: {wrong}") from None
    return tuple(values)


def _read(parameter: Parameter, given: object, *, is_exact: bool = False) -> object:
    value = FORMS[parameter.type].read(given) if is_exact else read(parameter.type, given)
    if value is None:
        raise _Wrong(f"give {FORMS[parameter.type].expected}")
    return value


def _check_allowed(parameter: Parameter, value: object) -> None:
    if parameter.allowed is not None and value not in parameter.allowed:
        choice = ", ".join(json.dumps(one, default=spell) for one in parameter.allowed[:20])
        more = ", …" if len(parameter.allowed) > 20 else ""
        raise _Wrong(f"give one of {choice}{more}")


def _flag(name: str, mapping: Mapping[str, object], key: str, *, default: bool) -> bool:
    flag = mapping.get(key, default)
    if not isinstance(flag, bool):
        raise _invalid_query(name, f"{key!r} must be true or false")
    return flag


def _allowed(name: str, type_: ParameterType, listed: object) -> tuple[object, ...] | None:
    if listed is None:
        return None
    if not isinstance(listed, list | tuple) or not listed:
        raise _invalid_query(name, "'allowed' must be a list of values")
    values = tuple(FORMS[type_].read(one) for one in listed)
    if None in values:
        raise _invalid_query(name, f"each allowed value must be {FORMS[type_].expected}")
    return values


def _invalid_query(name: str, reason: str) -> InvalidQuery:
    return InvalidQuery(f"Parameter {name!r}: {reason}.")


def _invalid_value(parameter: Parameter, wrong: _Wrong) -> InvalidRuntimeValue:
    return InvalidRuntimeValue(f"Parameter {parameter.name!r}: {wrong}.")
