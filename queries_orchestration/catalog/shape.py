"""Read nodes as the types that are expected of them, and keep every fault with its line.

After a fault a reader returns an empty value, so that reading goes on and finds the next one;
whoever uses the values asks first whether the definition had faults.
"""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Collection, Iterable
from typing import Final

from queries_orchestration.catalog.yaml_file import Node, shown
from queries_orchestration.model.errors import CatalogFault
from queries_orchestration.model.titles import is_one_line

NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,62}")
NAME_RULE: Final = (
    "a name is 1 to 63 lower-case letters, digits and hyphens, and does not begin with a hyphen"
)
LARGEST_INTEGER: Final = 2**31 - 1
LARGEST_BIG_INTEGER: Final = 2**63 - 1


class Shape:
    """Readers of nodes; ``what`` in their arguments names the value for a person."""

    def __init__(self, faults: Iterable[CatalogFault] = ()) -> None:
        self.faults = list(faults)

    def fault(self, at: Node, message: str) -> None:
        """Keep what is wrong with the value ``at``."""
        self.faults.append(CatalogFault(at.file, at.line, message))

    def mapping(
        self, node: Node, what: str, *, required: Collection[str], optional: Collection[str]
    ) -> dict[str, Node]:
        """Return the values of a mapping whose keys are known."""
        if not isinstance(node.content, dict):
            self.fault(node, f"{what} must be a mapping (`key: value`), not {_kind(node)}")
            return {}
        known = [*required, *optional]
        for key, value in node.content.items():
            if key not in known:
                self.fault(value, f"{what} has no key {shown(key)}{suggestion(key, known)}")
        for key in required:
            if key not in node.content:
                self.fault(node, f"{what} needs the key `{key}`")
        return {key: value for key, value in node.content.items() if key in known}

    def named(self, node: Node, what: str) -> dict[str, Node]:
        """Return the definitions of a mapping from names to definitions."""
        if not isinstance(node.content, dict):
            self.fault(node, f"{what} must be a mapping from names, not {_kind(node)}")
            return {}
        return {
            name: definition
            for name, definition in node.content.items()
            if self.check_name(definition, name, what)
        }

    def check_name(self, at: Node, name: str, what: str) -> bool:
        """Tell whether ``name`` is one for the catalog, and keep a fault if not."""
        if NAME.fullmatch(name):
            return True
        self.fault(at, f"{what}: {shown(name)} is not a name: {NAME_RULE}")
        return False

    def text(self, node: Node | None, what: str, *, longest: int) -> str:
        """Return a text of one line, not empty; "" for an absent one."""
        if node is None:
            return ""
        if not isinstance(node.content, str):
            quoted = "" if isinstance(node.content, (dict, list)) else ": put it in quotes"
            self.fault(node, f"{what} must be a text, not {_kind(node)}{quoted}")
            return ""
        content = node.content.strip()
        if not content:
            self.fault(node, f"{what} must not be empty")
        elif len(content) > longest:
            self.fault(node, f"{what} has {len(content)} characters; {longest} is the most")
        elif not is_one_line(content):
            self.fault(node, f"{what} must be one line without control characters")
        return content

    def lines(self, node: Node | None, what: str, *, longest: int) -> str:
        """Return a text of one or several lines, not empty; "" for an absent one."""
        if node is None or not isinstance(node.content, str) or "\n" not in node.content.strip():
            return self.text(node, what, longest=longest)
        content = node.content.strip()
        if len(content) > longest:
            self.fault(node, f"{what} has {len(content)} characters; {longest} is the most")
        elif not all(is_one_line(line) for line in content.split("\n")):
            self.fault(node, f"{what} must not have control characters")
        return content

    def boolean(self, node: Node | None, what: str, *, default: bool) -> bool:
        """Return true or false."""
        if node is None:
            return default
        if not isinstance(node.content, bool):
            self.fault(node, f"{what} must be true or false, not {_kind(node)}")
            return default
        return node.content

    def date(self, node: Node | None, what: str) -> datetime.date | None:
        """Return a date of the calendar, written as 2027-01-31."""
        if node is None or node.content is None:
            return None
        written = str(node.content)
        try:
            found = datetime.date.fromisoformat(written)
        except ValueError:
            found = None
        if found is None or found.isoformat() != written:
            self.fault(node, f"{what} must be a date such as 2027-01-31")
            return None
        return found

    def positive_integer(
        self, node: Node | None, what: str, *, largest: int = LARGEST_INTEGER
    ) -> int | None:
        """Return a whole number that a column of the database holds, at least 1."""
        if node is None or node.content is None:
            return None
        if isinstance(node.content, bool) or not isinstance(node.content, int):
            self.fault(node, f"{what} must be a whole number, not {_kind(node)}")
            return None
        if not 1 <= node.content <= largest:
            self.fault(node, f"{what} must be from 1 to {largest}")
        return node.content

    def choice(
        self, node: Node | None, what: str, choices: Collection[str], *, default: str = ""
    ) -> str:
        """Return one of some words."""
        if node is None:
            return default
        if not isinstance(node.content, str) or node.content not in choices:
            self.fault(node, f"{what} must be one of {', '.join(choices)}")
            return default
        return node.content

    def items(self, node: Node | None, what: str) -> list[Node]:
        """Return the nodes of a list."""
        if node is None:
            return []
        if not isinstance(node.content, list):
            self.fault(node, f"{what} must be a list, not {_kind(node)}")
            return []
        return node.content


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return a question for the nearest known name, or the known names, or nothing."""
    names = sorted(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f": did you mean `{close[0]}`?"
    if names and len(names) <= _LISTED_NAMES:
        return f"; there is {', '.join(names)}"
    return ""


_LISTED_NAMES: Final = 12


def _kind(node: Node) -> str:
    content = node.content
    if content is None:
        return "empty"
    if isinstance(content, dict):
        return "a mapping"
    if isinstance(content, list):
        return "a list"
    if isinstance(content, bool):
        return "true or false"
    return "a text" if isinstance(content, str) else "a number"
