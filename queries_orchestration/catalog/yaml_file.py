"""Read a YAML file into nodes that keep their file and line.

The tree is built from the parser's events without recursion, and its size is bounded, so that
deep nesting and aliases of aliases are faults like any other. Plain scalars follow the core schema
of YAML 1.2: ``true`` and ``false``, ``null``, numbers; ``no``, ``on``, ``12:30`` and
``2027-01-31`` are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import yaml

from queries_orchestration.model.errors import CatalogFault

MAX_BYTES: Final = 8 * 1024 * 1024
MAX_DEPTH: Final = 40
MAX_NODES: Final = 500_000
MAX_DIGITS: Final = 100

_STR_TAG: Final = "tag:yaml.org,2002:str"
_NULL: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_INTEGER: Final = re.compile(r"[-+]?[0-9]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)

_STAR: Final = (
    "a text that begins with * must be in quotes"
    " (without them it is an alias, and nothing has that anchor)"
)

Scalar = str | int | float | bool | None
Content = Scalar | list["Node"] | dict[str, "Node"]


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a file; the value of a mapping's key stands on the key's line.

    Of a JSON document, ``file`` is the value's JSON pointer and ``line`` is 0. ``size`` counts it
    and the nodes below, with every alias as often as it is used; ``depth`` is the number of levels
    below.
    """

    file: str
    line: int
    content: Content
    size: int = 1
    depth: int = 0

    @property
    def place(self) -> str:
        """Return where it stands, for a message."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def plain(self) -> Any:
        """Return the value without lines: what JSON can hold."""
        if isinstance(self.content, dict):
            return {key: node.plain() for key, node in self.content.items()}
        if isinstance(self.content, list):
            return [node.plain() for node in self.content]
        return self.content


def read_yaml(path: Path) -> tuple[list[Node], list[CatalogFault]]:
    """Return the documents of the file and everything wrong with its YAML.

    After a fault of syntax the rest of the file is unknown; the documents before it are returned.
    """
    file = str(path)
    try:
        with path.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else None
        return [], [CatalogFault(file, 1, f"cannot be read: {reason or 'not a file name'}")]
    return read_yaml_bytes(raw, file)


def read_yaml_bytes(raw: bytes, file: str) -> tuple[list[Node], list[CatalogFault]]:
    """Return the documents of what a file holds, as :func:`read_yaml`.

    Args:
        file: what faults call it.
    """
    if len(raw) > MAX_BYTES:
        return [], [CatalogFault(file, 1, f"is larger than {MAX_BYTES} bytes: split it")]
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        return [], [CatalogFault(file, line, "is not UTF-8: save the file in that encoding")]
    builder = _Builder(file)
    try:
        for event in _events(text):
            builder.take(event)
    except yaml.YAMLError as error:
        builder.faults.append(CatalogFault(file, _line_of(error, text), _explain(error)))
    except _Stop as stop:
        builder.faults.append(stop.fault)
    else:
        if not builder.documents:
            builder.faults.append(CatalogFault(file, 1, "is empty: begin with `workspace:`"))
    return builder.documents, builder.faults


def _events(text: str) -> Iterator[yaml.Event]:
    yield from yaml.parse(text, Loader=yaml.CSafeLoader)


class _Stop(Exception):
    """What follows in the file cannot be understood."""

    def __init__(self, fault: CatalogFault) -> None:
        super().__init__(fault.message)
        self.fault = fault


class _OpenList:
    """A list whose end has not come yet."""

    def __init__(self, line: int, anchor: str | None) -> None:
        self.line = line
        self.anchor = anchor
        self.content: list[Node] = []
        self.size = 1
        self.depth = 1

    def add(self, node: Node) -> None:
        self.content.append(node)


class _OpenMapping:
    """A mapping whose end has not come yet; ``key`` waits for its value."""

    def __init__(self, line: int, anchor: str | None) -> None:
        self.line = line
        self.anchor = anchor
        self.content: dict[str, Node] = {}
        self.size = 1
        self.depth = 1
        self.key: str | None = None
        self.key_line = line

    def add(self, node: Node) -> None:
        if self.key is not None and self.key not in self.content:
            self.content[self.key] = replace(node, line=self.key_line)
        self.key = None


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.documents: list[Node] = []
        self.faults: list[CatalogFault] = []
        self._open: list[_OpenList | _OpenMapping] = []
        self._anchors: dict[str, Node] = {}

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.DocumentStartEvent):
            self._anchors = {}
        elif isinstance(event, yaml.ScalarEvent):
            self._take_scalar(event)
        elif isinstance(event, yaml.AliasEvent):
            self._take_alias(event)
        elif isinstance(event, yaml.CollectionStartEvent):
            self._begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            self._end()

    def _take_scalar(self, event: yaml.ScalarEvent) -> None:
        line = _line(event)
        if "\0" in event.value:
            raise self._stop(line, "holds the character NUL, which cannot be stored")
        self._check_tag(event.tag, line, text=True)
        mapping = self._mapping_that_expects_a_key()
        if mapping is not None:
            self._take_key(mapping, event.value, line)
            return
        plain = event.implicit[0] and event.tag is None
        content = self._resolve(event.value, line) if plain else event.value
        self._add(Node(self.file, line, content), event.anchor)

    def _take_key(self, mapping: _OpenMapping, key: str, line: int) -> None:
        mapping.key, mapping.key_line = key, line
        if key in mapping.content:
            first = mapping.content[key].line
            self._fault(line, f"the key {shown(key)} is here twice: line {first} has it already")

    def _take_alias(self, event: yaml.AliasEvent) -> None:
        line = _line(event)
        node = self._anchors.get(event.anchor or "")
        if self._mapping_that_expects_a_key() is not None:
            raise self._stop(line, "an alias cannot be a key: write the name")
        if node is None:
            raise self._stop(line, _STAR)
        self._add(replace(node, line=line), None)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        line = _line(event)
        if self._mapping_that_expects_a_key() is not None:
            raise self._stop(line, "a key must be a name, not a list or mapping")
        self._check_depth(len(self._open) + 1, line)
        self._check_tag(event.tag, line, text=False)
        opened = _OpenMapping if isinstance(event, yaml.MappingStartEvent) else _OpenList
        self._open.append(opened(line, event.anchor))

    def _end(self) -> None:
        ended = self._open.pop()
        node = Node(self.file, ended.line, ended.content, ended.size, ended.depth)
        self._add(node, ended.anchor)

    def _add(self, node: Node, anchor: str | None) -> None:
        if anchor is not None:
            self._anchors[anchor] = node
        if not self._open:
            self.documents.append(node)
            return
        parent = self._open[-1]
        parent.size += node.size
        parent.depth = max(parent.depth, node.depth + 1)
        # Aliases can make a tree deeper than the text is.
        self._check_depth(len(self._open) + node.depth, node.line)
        if parent.size > MAX_NODES:
            raise self._stop(
                node.line, f"has more than {MAX_NODES} values, aliases counted: split the file"
            )
        parent.add(node)

    def _mapping_that_expects_a_key(self) -> _OpenMapping | None:
        innermost = self._open[-1] if self._open else None
        if isinstance(innermost, _OpenMapping) and innermost.key is None:
            return innermost
        return None

    def _resolve(self, text: str, line: int) -> Scalar:
        if text in _NULL:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if not _FLOAT.fullmatch(text):
            return text
        if len(text) <= MAX_DIGITS:
            if _INTEGER.fullmatch(text):
                return int(text)
            number = float(text)
            if Decimal(repr(number)) == Decimal(text):
                return number
        self._fault(line, "a number that cannot be kept exactly: put it in quotes")
        return text

    def _check_tag(self, tag: str | None, line: int, *, text: bool) -> None:
        if tag is not None and not (text and tag in (_STR_TAG, "!")):
            self._fault(line, "a tag (!…) has no meaning in a catalog: leave it out")

    def _check_depth(self, depth: int, line: int) -> None:
        if depth > MAX_DEPTH:
            raise self._stop(line, f"is nested more than {MAX_DEPTH} levels deep")

    def _fault(self, line: int, message: str) -> None:
        self.faults.append(CatalogFault(self.file, line, message))

    def _stop(self, line: int, message: str) -> _Stop:
        return _Stop(CatalogFault(self.file, line, message))


def shown(text: str) -> str:
    """Return a name for a message; what may be an address or a secret is not repeated."""
    return f"`{text}`" if re.fullmatch(r"[\w .\-]{1,63}", text) else "(not shown)"


def _line(event: yaml.Event) -> int:
    return 1 if event.start_mark is None else event.start_mark.line + 1


def _line_of(error: yaml.YAMLError, text: str) -> int:
    if isinstance(error, yaml.reader.ReaderError):
        return text.encode().count(b"\n", 0, error.position) + 1
    mark = getattr(error, "problem_mark", None)
    return 1 if mark is None else int(mark.line) + 1


def _explain(error: yaml.YAMLError) -> str:
    if isinstance(error, yaml.reader.ReaderError):
        return "is not YAML: it holds a control character"
    if getattr(error, "context", None) == "while scanning an alias":
        return _STAR
    return f"is not YAML: {getattr(error, 'problem', None) or 'it cannot be read'}"
