"""Make nodes of a JSON document, so that it is checked as a file is."""

from __future__ import annotations

import math
from typing import Any, Final

from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import MAX_DEPTH, Content, Node

MAX_NODES: Final = 5_000
MAX_DIGITS: Final = 100


def node_of(document: Any, shape: Shape) -> Node:
    """Return the nodes of what ``json.loads`` made, each with its JSON pointer as ``file``.

    What no database can keep (NUL, half of a surrogate pair, a number that is none) is a fault.
    """
    return _Reader(shape).read(document, "", 0)


def is_keepable(text: str) -> bool:
    """Whether a database can keep the text."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


class _Reader:
    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self._left = MAX_NODES

    def read(self, value: Any, pointer: str, depth: int) -> Node:
        self._left -= 1
        if self._left == 0:
            return self._fault(pointer, f"from here on there are more than {MAX_NODES} values")
        if self._left < 0:
            return Node(pointer, 0, None)
        if depth > MAX_DEPTH:
            return self._fault(pointer, f"is nested more than {MAX_DEPTH} levels deep")
        if isinstance(value, dict):
            return Node(pointer, 0, self._mapping(value, pointer, depth))
        if isinstance(value, list):
            items = [
                self.read(item, f"{pointer}/{number}", depth + 1)
                for number, item in enumerate(value)
            ]
            return Node(pointer, 0, items)
        return self._scalar(value, pointer)

    def _mapping(self, value: dict[str, Any], pointer: str, depth: int) -> Content:
        nodes: dict[str, Node] = {}
        for key, item in value.items():
            if not is_keepable(key):
                self._fault(pointer, "has a key that cannot be stored")
                continue
            escaped = key.replace("~", "~0").replace("/", "~1")
            nodes[key] = self.read(item, f"{pointer}/{escaped}", depth + 1)
        return nodes

    def _scalar(self, value: Any, pointer: str) -> Node:
        if isinstance(value, str) and not is_keepable(value):
            return self._fault(pointer, "holds a character that cannot be stored")
        if isinstance(value, float) and not math.isfinite(value):
            return self._fault(pointer, "is no number")
        if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
            return self._fault(pointer, f"has more than {MAX_DIGITS} digits")
        if value is not None and not isinstance(value, str | bool | int | float):
            return self._fault(pointer, "is no JSON: send it as application/json")
        return Node(pointer, 0, value)

    def _fault(self, pointer: str, message: str) -> Node:
        node = Node(pointer, 0, None)
        self._shape.fault(node, message)
        return node
