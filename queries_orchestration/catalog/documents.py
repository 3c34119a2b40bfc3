"""Merge the documents of all files into what they declare of each workspace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from queries_orchestration.catalog.declared import Declared, DeclaredWorkspace
from queries_orchestration.catalog.read_workspace import (
    read_allowed_domains,
    read_limits,
    read_messages,
)
from queries_orchestration.catalog.sections import (
    LONGEST_TEXT,
    SECTIONS,
    SectionReader,
    read_time_zone,
    read_title,
)
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node


def read_declared(documents: Iterable[Node], shape: Shape) -> list[DeclaredWorkspace]:
    """Return the workspaces of the documents; the faults go to ``shape``."""
    workspaces: dict[str, DeclaredWorkspace] = {}
    for document in documents:
        nodes = shape.mapping(
            document, "a catalog document", required=("workspace",), optional=SECTIONS
        )
        workspace = _workspace_of(nodes.get("workspace"), document, workspaces, shape)
        for key, read in SECTIONS.items():
            if key in nodes:
                _read_section(key, nodes[key], read, workspace, shape)
    for workspace in workspaces.values():
        _check_source_names(workspace, shape)
    return list(workspaces.values())


def _check_source_names(workspace: DeclaredWorkspace, shape: Shape) -> None:
    for name, report in workspace.reports.items():
        if name in workspace.queries:
            first = workspace.queries[name].at
            shape.fault(
                report.at,
                f"`{name}` of `reports` is a query at {first.place} already:"
                " queries and reports share one space of names",
            )


def _workspace_of(
    node: Node | None, document: Node, workspaces: dict[str, DeclaredWorkspace], shape: Shape
) -> DeclaredWorkspace:
    # Without a good name, its sections are still read for their faults.
    nameless = DeclaredWorkspace(name="", at=document)
    if node is None:
        return nameless
    nodes = shape.mapping(
        node,
        "`workspace`",
        required=("name",),
        optional=("title", "time_zone", "limits", "allowed_domains", "messages"),
    )
    name = shape.text(nodes.get("name"), "`name` of the workspace", longest=LONGEST_TEXT)
    title = read_title(nodes.get("title"), "the workspace", shape)
    time_zone = read_time_zone(nodes.get("time_zone"), shape)
    limits = read_limits(nodes.get("limits"), shape)
    allowed_domains = read_allowed_domains(nodes.get("allowed_domains"), shape)
    messages = read_messages(nodes.get("messages"), shape)
    if not name or not shape.check_name(nodes["name"], name, "`workspace`"):
        return nameless
    workspace = workspaces.setdefault(name, DeclaredWorkspace(name=name, at=node))
    if "title" in nodes and _said_first(workspace, "title", title, nodes, shape):
        workspace.title = title
    if "time_zone" in nodes and _said_first(workspace, "time_zone", time_zone, nodes, shape):
        workspace.time_zone = time_zone
    if "limits" in nodes and _said_first(workspace, "limits", limits, nodes, shape):
        workspace.limits = limits
    if "allowed_domains" in nodes and _said_first(
        workspace, "allowed_domains", allowed_domains, nodes, shape
    ):
        workspace.allowed_domains = allowed_domains
    if "messages" in nodes and _said_first(workspace, "messages", messages, nodes, shape):
        workspace.messages = messages
    return workspace


def _said_first(
    workspace: DeclaredWorkspace, key: str, value: object, nodes: dict[str, Node], shape: Shape
) -> bool:
    """Tell whether no document before said this of the workspace; all must say the same."""
    first = workspace.nodes.setdefault(key, nodes[key])
    if first is nodes[key]:
        return True
    if value not in (None, "") and value != getattr(workspace, key):
        shape.fault(
            nodes[key],
            f"the workspace `{workspace.name}` has another {key} at {first.place}",
        )
    return False


def _read_section(
    key: str,
    node: Node,
    read: SectionReader,
    workspace: DeclaredWorkspace,
    shape: Shape,
) -> None:
    section: dict[str, Declared] = getattr(workspace, key)
    for name, definition in shape.named(node, f"`{key}`").items():
        faults_before = len(shape.faults)
        declared = read(name, definition, shape)
        if len(shape.faults) > faults_before:
            declared = replace(declared, faulty=True)
        first = section.setdefault(name, declared).at
        if first is not definition:
            shape.fault(definition, f"`{name}` of `{key}` is defined at {first.place} already")
