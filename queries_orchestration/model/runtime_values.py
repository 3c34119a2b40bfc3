"""Runtime values: a query's typed parameters, and the values that a person or schedule gives.

Values are data: text is never expanded, and nothing here builds SQL. The rules are in
``docs/runtime-values.md``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Literal, get_args

from queries_orchestration.model.errors import InvalidQuery, InvalidRuntimeValue
from queries_orchestration.model.formats import SourceKind
from queries_orchestration.model.time_zones import instant_of, zone

ParameterType = Literal["text", "integer", "decimal", "boolean", "date", "timestamp", "timestamptz"]
Unit = Literal["day", "week", "month", "quarter", "year"]

_KEYS = ("name", "type", "required", "default", "allowed", "label")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+)")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WALL_TIME = re.compile(_DATE.pattern + r"[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?")
_INSTANT = re.compile(_WALL_TIME.pattern + r"(?:Z|[+-][0-9]{2}:[0-9]{2})")
_START_OF = re.compile(r"start_of:(?P<unit>[a-z]+)(?:, ?shift:(?P<shift>[+-]?[0-9]{1,4}))?")
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1  # what every database's bigint holds
_MOST_DIGITS = 1000
_FARTHEST_SHIFT = 1000


@dataclass(frozen=True, slots=True)
class StartOf:
    """A relative value: the local midnight at which a unit began, ``shift`` units on.

    Weeks begin on Monday. It is counted from the occurrence's slot, not from its execution.
    """

    unit: Unit
    shift: int = 0

    def at(self, moment: datetime, time_zone: str) -> date:
        """The local day of ``time_zone`` that this names, seen from the aware ``moment``."""
        today = moment.astimezone(zone(time_zone)).date()
        if self.unit == "day":
            return today + timedelta(days=self.shift)
        if self.unit == "week":
            return today - timedelta(days=today.weekday()) + timedelta(weeks=self.shift)
        months_a_unit = {"month": 1, "quarter": 3, "year": 12}[self.unit]
        units = (today.year * 12 + today.month - 1) // months_a_unit + self.shift
        year, months = divmod(units * months_a_unit, 12)
        return date(year, months + 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    """One typed parameter of a query, as ``parse_parameter`` made it.

    ``default`` is an exact value, a StartOf, or None for none. ``allowed``, when given, lists the
    only values that are taken. A required parameter always has a value, given or default.
    """

    name: str
    type: ParameterType
    required: bool
    default: object
    allowed: tuple[object, ...] | None
    label: str


def parse_parameter(mapping: Mapping[str, object]) -> Parameter:
    """The parameter that a query's definition describes.

    Keys: ``name``, ``type``, and if wanted ``required`` (else true), ``default``, ``allowed``
    (a list), ``label`` (else the name). Raises InvalidQuery, naming the parameter and the key.
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
    type_ = next((known for known in _FORMS if known == mapping.get("type")), None)
    if type_ is None:
        raise _invalid_query(name, f"its type must be one of {', '.join(_FORMS)}")
    required = mapping.get("required", True)
    if not isinstance(required, bool):
        raise _invalid_query(name, "'required' must be true or false")
    label = mapping.get("label", name)
    if not isinstance(label, str) or not label.strip():
        raise _invalid_query(name, "'label' must be a text")
    allowed = _allowed(name, type_, mapping.get("allowed"))
    default = mapping.get("default")
    if default is not None:
        default = _read(type_, default)
        if default is None:
            raise _invalid_query(name, f"'default' must be {_FORMS[type_].expected}")
        if allowed is not None and not isinstance(default, StartOf) and default not in allowed:
            raise _invalid_query(name, "'default' must be one of the allowed values")
    return Parameter(
        name=name, type=type_, required=required, default=default, allowed=allowed, label=label
    )


def resolve_values(
    parameters: Sequence[Parameter],
    given: Mapping[str, object],
    *,
    moment: datetime,
    time_zone: str,
    of: SourceKind = "query",
) -> dict[str, object]:
    """Every parameter's exact value, in the parameters' order; None where there is no value.

    ``given`` holds values as JSON, YAML or the command line spell them. A name that is left out
    takes the default. Relative values are counted from ``moment`` (aware: the occurrence's slot)
    in the IANA zone ``time_zone``. Instants are returned in UTC. Raises InvalidRuntimeValue,
    naming the parameter and the expected form, never the value; ``of`` says what takes them.
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
    return json.dumps(dict(values), default=_spell, ensure_ascii=False, allow_nan=False)


def load_values(text: str, parameters: Sequence[Parameter]) -> dict[str, object]:
    """The resolved values that ``dump_values`` wrote, for the parameters they were resolved for.

    Raises InvalidRuntimeValue where they do not fit the parameters.
    """
    stored = json.loads(text)
    if set(stored) != {parameter.name for parameter in parameters}:
        raise InvalidRuntimeValue(
            "The stored values do not fit the query's parameters: they belong to another version."
        )
    values: dict[str, object] = {}
    for parameter in parameters:
        value = stored[parameter.name]
        exact = None if value is None else _FORMS[parameter.type].read(value)
        if exact is None and value is not None:
            raise _invalid_value(parameter)
        values[parameter.name] = exact
    return values


def _resolve(parameter: Parameter, given: object, moment: datetime, time_zone: str) -> object:
    if given is None:
        if parameter.required:
            raise InvalidRuntimeValue(
                f"Parameter {parameter.name!r} is required: give {_FORMS[parameter.type].expected}."
            )
        return None
    value = given if isinstance(given, StartOf) else _read(parameter.type, given)
    if isinstance(value, StartOf):
        day = value.at(moment, time_zone)
        midnight = datetime.combine(day, time())
        if parameter.type == "timestamptz":
            value = instant_of(midnight, zone(time_zone))
        else:
            value = midnight if parameter.type == "timestamp" else day
    if value is None:
        raise _invalid_value(parameter)
    if parameter.allowed is not None and value not in parameter.allowed:
        choice = ", ".join(json.dumps(_plain(one)) for one in parameter.allowed[:20])
        more = ", …" if len(parameter.allowed) > 20 else ""
        raise InvalidRuntimeValue(f"Parameter {parameter.name!r}: give one of {choice}{more}.")
    return value


def _allowed(name: str, type_: ParameterType, listed: object) -> tuple[object, ...] | None:
    if listed is None:
        return None
    if not isinstance(listed, list | tuple) or not listed:
        raise _invalid_query(name, "'allowed' must be a list of values")
    values = tuple(_FORMS[type_].read(one) for one in listed)
    if None in values:
        raise _invalid_query(name, f"each allowed value must be {_FORMS[type_].expected}")
    return values


def _invalid_query(name: str, reason: str) -> InvalidQuery:
    return InvalidQuery(f"Parameter {name!r}: {reason}.")


def _invalid_value(parameter: Parameter) -> InvalidRuntimeValue:
    expected = _FORMS[parameter.type].expected
    return InvalidRuntimeValue(f"Parameter {parameter.name!r}: give {expected}.")


def _read(type_: ParameterType, given: object) -> object:
    """The exact value or StartOf that ``given`` spells; None if it has the wrong form."""
    exact = _FORMS[type_].read(given)
    if exact is None and type_ in ("date", "timestamp", "timestamptz"):
        return _read_start_of(given)
    return exact


def _read_start_of(given: object) -> StartOf | None:
    if isinstance(given, str):
        match = _START_OF.fullmatch(given)
        if match is None:
            return None
        unit, shift = match["unit"], int(match["shift"] or 0)
    elif isinstance(given, Mapping) and set(given) <= {"start_of", "shift"}:
        unit, shift = given.get("start_of"), given.get("shift", 0)
    else:
        return None
    known = next((name for name in get_args(Unit) if name == unit), None)
    if known is None or type(shift) is not int or abs(shift) > _FARTHEST_SHIFT:
        return None
    return StartOf(known, shift)


def _read_text(given: object) -> str | None:
    if not isinstance(given, str) or "\0" in given:
        return None
    has_lone_surrogate = any("\ud800" <= character <= "\udfff" for character in given)
    return None if has_lone_surrogate else given


def _read_integer(given: object) -> int | None:
    if isinstance(given, str) and _INTEGER.fullmatch(given):
        given = int(given)
    if type(given) is int and _SMALLEST <= given <= _LARGEST:
        return given
    return None


def _read_decimal(given: object) -> Decimal | None:
    """Never from a float: it has lost digits already."""
    if isinstance(given, str):
        fits = len(given) <= _MOST_DIGITS and _DECIMAL.fullmatch(given)
        return Decimal(given) if fits else None
    if type(given) is int and given.bit_length() <= 3 * _MOST_DIGITS:
        return Decimal(given)
    if isinstance(given, Decimal) and given.is_finite():
        exponent = given.as_tuple().exponent
        near = isinstance(exponent, int) and abs(exponent) + abs(given.adjusted()) < _MOST_DIGITS
        return Decimal(f"{given:f}") if near else None
    return None


def _read_boolean(given: object) -> bool | None:
    if isinstance(given, str):
        return {"true": True, "false": False}.get(given)
    return given if isinstance(given, bool) else None


def _read_date(given: object) -> date | None:
    if isinstance(given, str) and _DATE.fullmatch(given):
        return _calendar_date(given)
    return given if type(given) is date else None


def _read_wall_time(given: object) -> datetime | None:
    if isinstance(given, str) and _WALL_TIME.fullmatch(given):
        given = _calendar_time(given)
    if isinstance(given, datetime) and given.tzinfo is None:
        return given
    return None


def _read_instant(given: object) -> datetime | None:
    if isinstance(given, str) and _INSTANT.fullmatch(given):
        given = _calendar_time(given)
    if not isinstance(given, datetime) or given.tzinfo is None:
        return None
    try:
        return given.astimezone(UTC)
    except OverflowError:  # before year 1 or after 9999 in UTC
        return None


def _calendar_date(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:  # no such day
        return None


def _calendar_time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:  # no such day or time
        return None


def _plain(value: object) -> object:
    return value if isinstance(value, bool | int | str) else _spell(value)


def _spell(value: object) -> object:
    """A value that JSON lacks, as the text that reads back as the same value."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, StartOf):
        return {"start_of": value.unit, "shift": value.shift}
    raise TypeError(f"a {type(value).__name__} is no runtime value")


@dataclass(frozen=True, slots=True)
class _Form:
    """How a type's values are spelt: ``read`` gives the exact value, None for another form."""

    read: Callable[[object], object]
    expected: str


_OR_START = " or a start such as {start_of: month, shift: -1} (day, week, month, quarter, year)"
_FORMS: dict[ParameterType, _Form] = {
    "text": _Form(_read_text, "a text (in YAML, in quotes)"),
    "integer": _Form(_read_integer, "a whole number of at most 64 bits such as 42"),
    "decimal": _Form(_read_decimal, 'a decimal number in quotes such as "12.50"'),
    "boolean": _Form(_read_boolean, "true or false"),
    "date": _Form(_read_date, 'a date such as "2027-01-31",' + _OR_START),
    "timestamp": _Form(
        _read_wall_time, 'a time without offset such as "2027-01-31T08:30:00",' + _OR_START
    ),
    "timestamptz": _Form(
        _read_instant, 'a time with its offset such as "2027-01-31T08:30:00+01:00",' + _OR_START
    ),
}
