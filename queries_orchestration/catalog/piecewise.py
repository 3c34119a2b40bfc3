"""Parse a definition with the model, and find all of its faults with their lines.

The model stops at the first fault and names its place, as in ``filters[1].op: …``. That entry is
reported on its line and left out, and the rest is parsed again.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final, TypeVar

from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.model.errors import Refused

Parsed = TypeVar("Parsed")
Pieces = dict[str, Node]

_PLACE: Final = re.compile(
    r"(?P<path>[a-z_]+(?:\.[a-z][a-z0-9_]*|\[[0-9]+\])*): (?P<message>.*)", re.S
)
_STEP: Final = re.compile(r"[a-z_][a-z0-9_]*|[0-9]+")
# Faults of later sections may only follow from entries of these that were left out.
_FOUNDATIONS: Final = frozenset({"fields", "parameters"})
_MOST_FAULTS: Final = 50


def parse_piecewise(
    parse: Callable[[Pieces], Parsed], pieces: Pieces, *, at: Node, what: str, shape: Shape
) -> Parsed | None:
    """Return what ``parse`` makes of the pieces, or None and the faults in ``shape``.

    Args:
        parse: raises ``Refused`` with the path of the fault before its message.
        pieces: the definition by key.
        at: where a fault without a path is reported.
        what: names the definition for a person.
    """
    left_out_of: set[str] = set()
    for _ in range(_MOST_FAULTS):
        try:
            parsed = parse(pieces)
        except Refused as error:
            place = _PLACE.fullmatch(error.message)
            steps = _STEP.findall(place["path"]) if place else []
            section = steps[0] if steps else ""
            if left_out_of & _FOUNDATIONS and section not in left_out_of:
                return None
            message = error.message
            if place:
                # The indices count what is left; the line tells which entry it is.
                message = re.sub(r"\[[0-9]+\]", "", place["path"]) + ": " + place["message"]
            shape.fault(_node_at(pieces, steps, at), f"{what}, {message}" if place else message)
            remaining = _without(pieces, steps)
            if remaining is None:
                return None
            pieces = remaining
            left_out_of.add(section)
        else:
            return None if left_out_of else parsed
    return None


def _node_at(pieces: Pieces, steps: list[str], at: Node) -> Node:
    node = at
    content: object = pieces
    for step in steps:
        if isinstance(content, dict) and step in content:
            node = content[step]
        elif isinstance(content, list) and step.isdigit() and int(step) < len(content):
            node = content[int(step)]
        else:
            break
        content = node.content
    return node


def _without(pieces: Pieces, steps: list[str]) -> Pieces | None:
    """Return the pieces without the entry of a list that the steps lead to; None if to none."""
    section = pieces.get(steps[0]) if len(steps) > 1 else None
    if section is None or not isinstance(section.content, list) or not steps[1].isdigit():
        return None
    index = int(steps[1])
    remaining = [node for n, node in enumerate(section.content) if n != index]
    if not remaining:
        return None
    return pieces | {steps[0]: replace(section, content=remaining)}
