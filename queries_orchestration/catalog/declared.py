"""What the files declare: one class per kind of catalog row."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import date
from typing import Any

from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.model.formats import SourceKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """One definition; ``nodes`` are its values by key.

    A ``faulty`` one has faults already: its values may be empty, and it gives no row.
    """

    name: str
    title: str
    at: Node
    nodes: dict[str, Node]
    faulty: bool = False

    def node(self, key: str) -> Node:
        """Return where to report a fault of this key."""
        return self.nodes.get(key, self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredPerson(Declared):
    """Somebody; without an address no message reaches them."""

    address: str | None
    roles: frozenset[str]
    active: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredGroup(Declared):
    """Some people; ``members`` are nodes of their names."""

    members: list[Node]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredAddress:
    """An address of nobody in the workspace, with the name that goes with it, if one is said."""

    address: str = field(repr=False)
    title: str | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredRecipient:
    """One recipient of a schedule: the name of a person or of a group, or an outside address.

    ``known`` is the id of an outside address that is there: who changes a schedule is told no
    address, and must be able to keep one.
    """

    at: Node
    person: str = ""
    group: str = ""
    known: str = ""
    outside: DeclaredAddress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredConnection(Declared):
    """``url_variable`` names the environment variable of the URL."""

    url_variable: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredDataset(Declared):
    """``pieces`` are what the model parses, its fields as a list with their names inside;
    ``people_named`` are the nodes of the people whom its access rules name.
    """

    connection: str
    pieces: dict[str, Node]
    people_named: list[Node]

    def definition(self, pieces: dict[str, Node]) -> dict[str, Any]:
        """Return what the model parses, made of these pieces."""
        return {"name": self.name} | {key: node.plain() for key, node in pieces.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredQuery(Declared):
    """``pieces`` are what the model parses."""

    dataset: str
    pieces: dict[str, Node]

    def definition(self, pieces: dict[str, Node]) -> dict[str, Any]:
        """Return what the model parses, made of these pieces."""
        return {"dataset": self.dataset} | {key: node.plain() for key, node in pieces.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredReport(Declared):
    """``pieces`` are what the model parses."""

    pieces: dict[str, Node]

    def definition(self, pieces: dict[str, Node]) -> dict[str, Any]:
        """Return what the model parses, made of these pieces."""
        return {key: node.plain() for key, node in pieces.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredSchedule(Declared):
    """``kind`` is that of its ``source``, and the key that names it; ``time_zone`` is "" for that
    of the workspace.
    """

    source: str
    kind: SourceKind
    owner: str
    cron: str
    time_zone: str
    last_day: bool
    starts_on: date | None
    ends_on: date | None
    format: str
    recipients: list[DeclaredRecipient]
    values: dict[str, Any]
    skip_empty: bool
    missed_slots: str
    lateness_limit: int | None


@dataclass(slots=True, kw_only=True)
class DeclaredWorkspace:
    """All that the files say about one workspace.

    ``limits``, ``allowed_domains`` and ``messages`` are None where they say nothing.
    """

    name: str
    at: Node
    nodes: dict[str, Node] = field(default_factory=dict)
    title: str = ""
    time_zone: str = ""
    limits: dict[str, int | None] | None = None
    allowed_domains: list[str] | None = None
    messages: dict[str, str] | None = None
    people: dict[str, DeclaredPerson] = field(default_factory=dict)
    groups: dict[str, DeclaredGroup] = field(default_factory=dict)
    connections: dict[str, DeclaredConnection] = field(default_factory=dict)
    datasets: dict[str, DeclaredDataset] = field(default_factory=dict)
    queries: dict[str, DeclaredQuery] = field(default_factory=dict)
    reports: dict[str, DeclaredReport] = field(default_factory=dict)
    schedules: dict[str, DeclaredSchedule] = field(default_factory=dict)
