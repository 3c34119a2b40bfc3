"""Read what a file says of a workspace itself: its limits, allowed domains and own messages."""

from __future__ import annotations

from typing import Final

from queries_orchestration.catalog.shape import LARGEST_BIG_INTEGER, LARGEST_INTEGER, Shape
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.communications.own_templates import (
    LONGEST_TEMPLATE,
    PARTS,
    SEVERAL_LINES,
    InvalidTemplate,
    check_template,
)
from queries_orchestration.model.addresses import clean_domain
from queries_orchestration.model.errors import InvalidAddress

LIMITS: Final = {
    "export_bytes": LARGEST_BIG_INTEGER,
    "export_seconds": LARGEST_INTEGER,
    "statement_seconds": LARGEST_INTEGER,
}
"""What a workspace may limit, and the largest number of each."""

LONGEST_DOMAIN: Final = 253


def read_limits(node: Node | None, shape: Shape) -> dict[str, int | None] | None:
    """Return the limits of a workspace, each by its name; None for none of them."""
    if node is None:
        return None
    nodes = shape.mapping(node, "`limits` of the workspace", required=(), optional=tuple(LIMITS))
    return {
        name: shape.positive_integer(
            nodes.get(name), f"`{name}` of the workspace's limits", largest=largest
        )
        for name, largest in LIMITS.items()
    }


def read_allowed_domains(node: Node | None, shape: Shape) -> list[str] | None:
    """Return the domains of outside addresses as A-labels, sorted; None if nothing is said."""
    if node is None:
        return None
    domains: set[str] = set()
    for one in shape.items(node, "`allowed_domains` of the workspace"):
        text = shape.text(one, "a domain of the workspace", longest=LONGEST_DOMAIN)
        if not text:
            continue
        try:
            domain = clean_domain(text)
        except InvalidAddress as error:
            shape.fault(one, f"`allowed_domains` of the workspace: {error.message}")
            continue
        if domain in domains:
            shape.fault(one, f"`allowed_domains` of the workspace: {domain} is there twice")
        domains.add(domain)
    return sorted(domains)


def read_messages(node: Node | None, shape: Shape) -> dict[str, str] | None:
    """Return the workspace's own templates by part; None if nothing is said."""
    if node is None:
        return None
    nodes = shape.mapping(node, "`messages` of the workspace", required=(), optional=PARTS)
    templates: dict[str, str] = {}
    for part, one in nodes.items():
        what = f"`{part}` of the workspace's messages"
        faults_before = len(shape.faults)
        source = (
            shape.lines(one, what, longest=LONGEST_TEMPLATE)
            if part in SEVERAL_LINES
            else shape.text(one, what, longest=LONGEST_TEMPLATE)
        )
        if not source or len(shape.faults) > faults_before:
            continue
        try:
            check_template(part, source)
        except InvalidTemplate as error:
            where = f", line {error.line} of it" if "\n" in source else ""
            shape.fault(one, f"{what}{where}: {error.message}")
        templates[part] = source
    return templates
