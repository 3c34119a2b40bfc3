"""The values that a section of a report gives to its query's parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

from queries_orchestration.model.errors import InvalidRuntimeValue
from queries_orchestration.model.parts import Part
from queries_orchestration.model.runtime_values import Parameter, resolve_values


@dataclass(frozen=True, slots=True)
class OfReport:
    """The value of the report's parameter of this name."""

    name: str


SectionValues: TypeAlias = Mapping[str, object]
"""By the query's parameter: :class:`OfReport`, or a value as the catalog spells it."""

_SOME_DAY: Final = datetime(2000, 1, 1, tzinfo=UTC)


def parse_section_values(
    part: Part | None, wanted: Sequence[Parameter], offered: Mapping[str, Parameter]
) -> dict[str, object]:
    """Read what a section gives to its query.

    Args:
        part: a mapping by the query's parameter; None for none.
        wanted: the query's parameters.
        offered: the report's own, by name.

    Raises:
        InvalidQuery: a value has the wrong form, or the report's parameter is of another
            type, or a list where the query's is none.
    """
    if part is None:
        return {}
    by_name = {parameter.name: parameter for parameter in wanted}
    return {
        name: _parse_value(piece, by_name[name], offered)
        for name, piece in part.mapping(optional=[*by_name]).items()
    }


def check_required(
    part: Part,
    values: SectionValues,
    wanted: Sequence[Parameter],
    offered: Mapping[str, Parameter],
) -> None:
    """Check that the query of a section gets every value that it cannot do without.

    Raises:
        InvalidQuery: one is missing, or the report may have none to give; the message names it.
    """
    for parameter in wanted:
        if not parameter.required or parameter.default is not None:
            continue
        if parameter.name not in values:
            raise part.refuse(f"the query needs a value for its parameter {parameter.name!r}")
        value = values[parameter.name]
        if isinstance(value, OfReport):
            given = offered[value.name]
            if not given.required and given.default is None:
                raise part.refuse(
                    f"the query needs a value for its parameter {parameter.name!r}, and the"
                    f" report's parameter {given.name!r} may have none"
                )


def given_values(values: SectionValues, of_report: Mapping[str, object]) -> dict[str, object]:
    """Return what is given to the query, with the report's exact values in their places.

    A value that the report does not have leaves the query's own default.
    """
    given: dict[str, object] = {}
    for name, value in values.items():
        if not isinstance(value, OfReport):
            given[name] = value
        elif of_report.get(value.name) is not None:
            given[name] = of_report[value.name]
    return given


def _parse_value(piece: Part, wanted: Parameter, offered: Mapping[str, Parameter]) -> object:
    if isinstance(piece.value, Mapping) and "parameter" in piece.value:
        if not offered:
            raise piece.refuse("the report has no parameters")
        name = piece.mapping(required=["parameter"])["parameter"].choice(offered)
        if offered[name].kind != wanted.kind:
            raise piece.refuse(
                f"the report's parameter {name!r} is a {offered[name].kind}, the query's"
                f" {wanted.name!r} a {wanted.kind}"
            )
        return OfReport(name)
    try:
        resolve_values([wanted], {wanted.name: piece.value}, moment=_SOME_DAY, time_zone="UTC")
    except InvalidRuntimeValue as error:
        raise piece.refuse(error.message) from error
    return piece.value
