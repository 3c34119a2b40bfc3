"""Read groups, and the recipients of a schedule: people, groups and outside addresses."""

from __future__ import annotations

from queries_orchestration.catalog.declared import (
    DeclaredAddress,
    DeclaredGroup,
    DeclaredRecipient,
)
from queries_orchestration.catalog.shape import NAME, Shape
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.model.addresses import clean_address
from queries_orchestration.model.errors import InvalidAddress
from queries_orchestration.model.titles import LONGEST_TITLE

LONGEST_ADDRESS = 320
LONGEST_NAME = 200


def read_group(name: str, at: Node, shape: Shape) -> DeclaredGroup:
    """Return a group of people."""
    what = f"the group `{name}`"
    nodes = shape.mapping(at, what, required=("people",), optional=("title",))
    members = shape.items(nodes.get("people"), f"`people` of {what}")
    for member in members:
        shape.text(member, f"a person of {what}", longest=LONGEST_NAME)
    title = shape.text(nodes.get("title"), f"`title` of {what}", longest=LONGEST_TITLE)
    return DeclaredGroup(name=name, title=title or name, at=at, nodes=nodes, members=members)


def read_recipients(node: Node | None, what: str, shape: Shape) -> list[DeclaredRecipient]:
    """Return the recipients of the schedule ``what``."""
    listed = shape.items(node, f"`recipients` of {what}")
    if node is not None and node.content == []:
        shape.fault(node, f"{what} needs at least one recipient")
    found = (_read_recipient(one, what, shape) for one in listed)
    return [recipient for recipient in found if recipient is not None]


def _read_recipient(node: Node, what: str, shape: Shape) -> DeclaredRecipient | None:
    told = f"a recipient of {what}"
    if not isinstance(node.content, dict):
        name = shape.text(node, told, longest=LONGEST_NAME)
        if name and "@" in name and not NAME.fullmatch(name):
            # The address itself is not repeated.
            shape.fault(
                node,
                f"{told} is a person's name, {{group: …}} or {{address: …, name: …}}:"
                " write an address in the last form",
            )
            return None
        return DeclaredRecipient(at=node, person=name) if name else None
    if "group" in node.content:
        nodes = shape.mapping(node, told, required=("group",), optional=())
        group = shape.text(nodes["group"], f"`group` of {told}", longest=LONGEST_NAME)
        return DeclaredRecipient(at=node, group=group) if group else None
    if "outside" in node.content:
        nodes = shape.mapping(node, told, required=("outside",), optional=())
        known = shape.text(nodes["outside"], f"`outside` of {told}", longest=LONGEST_NAME)
        return DeclaredRecipient(at=node, known=known) if known else None
    nodes = shape.mapping(node, told, required=("address",), optional=("name",))
    title = shape.text(nodes.get("name"), f"`name` of {told}", longest=LONGEST_TITLE)
    at = nodes.get("address")
    if at is not None and at.content is None:
        shape.fault(at, f"{told} needs its `address`")
    address = read_address(at, told, shape)
    if address is None:
        return None
    return DeclaredRecipient(at=node, outside=DeclaredAddress(address=address, title=title or None))


def read_address(node: Node | None, what: str, shape: Shape) -> str | None:
    """Return an e-mail address in the spelling we keep; None for none."""
    if node is None or node.content is None:
        return None
    text = shape.text(node, f"`address` of {what}", longest=LONGEST_ADDRESS)
    if not text:
        return None
    try:
        return clean_address(text)
    except InvalidAddress as error:
        shape.fault(node, f"`address` of {what}: {error.message}")
        return None
