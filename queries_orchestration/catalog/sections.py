"""Read one definition of each kind: its keys, their types, and what can be told of it alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from queries_orchestration.catalog.declared import (
    Declared,
    DeclaredConnection,
    DeclaredDataset,
    DeclaredPerson,
    DeclaredQuery,
    DeclaredReport,
    DeclaredSchedule,
)
from queries_orchestration.catalog.read_recipients import (
    read_address,
    read_group,
    read_recipients,
)
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node, shown
from queries_orchestration.model.errors import Refused
from queries_orchestration.model.formats import FORMATS_OF, SourceKind
from queries_orchestration.model.time_zones import zone
from queries_orchestration.model.titles import LONGEST_TITLE

LONGEST_TEXT: Final = 200
ROLES: Final = ("reader", "author", "administrator", "service")
MISSED_SLOTS: Final = ("latest", "all", "none")

SectionReader = Callable[[str, Node, Shape], Declared]

_VARIABLE: Final = re.compile(r"[A-Z_][A-Z0-9_]{0,199}")


def _read_person(name: str, at: Node, shape: Shape) -> DeclaredPerson:
    what = f"the person `{name}`"
    nodes = shape.mapping(at, what, required=("title",), optional=("address", "roles", "active"))
    roles = [
        shape.choice(role, f"a role of {what}", ROLES)
        for role in shape.items(nodes.get("roles"), f"`roles` of {what}")
    ]
    return DeclaredPerson(
        name=name,
        title=read_title(nodes.get("title"), what, shape),
        at=at,
        nodes=nodes,
        address=read_address(nodes.get("address"), what, shape),
        roles=frozenset(roles),
        active=shape.boolean(nodes.get("active"), f"`active` of {what}", default=True),
    )


def _read_connection(name: str, at: Node, shape: Shape) -> DeclaredConnection:
    what = f"the connection `{name}`"
    nodes = shape.mapping(at, what, required=("url_variable",), optional=("title",))
    return DeclaredConnection(
        name=name,
        title=read_title(nodes.get("title"), what, shape) or name,
        at=at,
        nodes=nodes,
        url_variable=_url_variable(nodes.get("url_variable"), what, shape),
    )


def _read_dataset(name: str, at: Node, shape: Shape) -> DeclaredDataset:
    what = f"the dataset `{name}`"
    keys = ("relation", "fields", "key", "access")
    nodes = shape.mapping(at, what, required=("connection", *keys), optional=("title",))
    pieces = {key: nodes[key] for key in keys if key in nodes}
    fields = _fields_as_list(pieces.pop("fields", None), what, shape)
    if fields is not None:
        pieces["fields"] = fields
    return DeclaredDataset(
        name=name,
        title=read_title(nodes.get("title"), what, shape) or name,
        at=at,
        nodes=nodes,
        connection=shape.text(
            nodes.get("connection"), f"`connection` of {what}", longest=LONGEST_TEXT
        ),
        pieces=pieces,
        people_named=_check_access(nodes.get("access"), what, shape),
    )


def _read_query(name: str, at: Node, shape: Shape) -> DeclaredQuery:
    what = f"the query `{name}`"
    keys = ("fields", "filters", "sort", "parameters")
    nodes = shape.mapping(at, what, required=("title", "dataset", "fields"), optional=keys[1:])
    return DeclaredQuery(
        name=name,
        title=read_title(nodes.get("title"), what, shape),
        at=at,
        nodes=nodes,
        dataset=shape.text(nodes.get("dataset"), f"`dataset` of {what}", longest=LONGEST_TEXT),
        pieces={key: nodes[key] for key in keys if key in nodes},
    )


def _read_report(name: str, at: Node, shape: Shape) -> DeclaredReport:
    what = f"the report `{name}`"
    nodes = shape.mapping(at, what, required=("title", "sections"), optional=("parameters",))
    return DeclaredReport(
        name=name,
        title=read_title(nodes.get("title"), what, shape),
        at=at,
        nodes=nodes,
        pieces={key: nodes[key] for key in ("sections", "parameters") if key in nodes},
    )


def read_schedule(name: str, at: Node, shape: Shape) -> DeclaredSchedule:
    what = f"the schedule `{name}`"
    nodes = shape.mapping(
        at,
        what,
        required=("title", "owner", "cron", "format", "recipients"),
        optional=(
            *("query", "report", "time_zone", "last_day", "starts_on", "ends_on", "values"),
            *("skip_empty", "missed_slots", "lateness_limit"),
        ),
    )
    kind = _source_kind(nodes, at, what, shape)
    values = nodes.get("values")
    if values is not None and not isinstance(values.content, dict):
        shape.fault(values, f"`values` of {what} must be a mapping from parameters to values")

    skip_empty = shape.boolean(nodes.get("skip_empty"), f"`skip_empty` of {what}", default=False)
    if skip_empty and kind == "report":
        shape.fault(
            nodes["skip_empty"], f"{what}: `skip_empty` is for queries; a report is always sent"
        )

    def text(key: str) -> str:
        return shape.text(nodes.get(key), f"`{key}` of {what}", longest=LONGEST_TEXT)

    return DeclaredSchedule(
        name=name,
        title=read_title(nodes.get("title"), what, shape),
        at=at,
        nodes=nodes,
        source=text(kind),
        kind=kind,
        owner=text("owner"),
        cron=text("cron"),
        time_zone=read_time_zone(nodes.get("time_zone"), shape),
        last_day=shape.boolean(nodes.get("last_day"), f"`last_day` of {what}", default=False),
        starts_on=shape.date(nodes.get("starts_on"), f"`starts_on` of {what}"),
        ends_on=shape.date(nodes.get("ends_on"), f"`ends_on` of {what}"),
        format=shape.choice(nodes.get("format"), f"`format` of {what}", FORMATS_OF[kind]),
        recipients=read_recipients(nodes.get("recipients"), what, shape),
        values=values.plain() if values is not None and isinstance(values.content, dict) else {},
        skip_empty=skip_empty,
        missed_slots=shape.choice(
            nodes.get("missed_slots"), f"`missed_slots` of {what}", MISSED_SLOTS, default="latest"
        ),
        lateness_limit=shape.positive_integer(
            nodes.get("lateness_limit"), f"`lateness_limit` (seconds) of {what}"
        ),
    )


def _source_kind(nodes: dict[str, Node], at: Node, what: str, shape: Shape) -> SourceKind:
    """Return which of the two keys names the source."""
    if "query" in nodes and "report" in nodes:
        shape.fault(nodes["report"], f"{what} has a query already; give either it or a report")
    elif "query" not in nodes and "report" not in nodes:
        shape.fault(at, f"{what} needs the key `query` or the key `report`")
    return "report" if "report" in nodes and "query" not in nodes else "query"


def read_title(node: Node | None, what: str, shape: Shape) -> str:
    """Return the title of a definition; "" for none."""
    return shape.text(node, f"`title` of {what}", longest=LONGEST_TITLE)


def read_time_zone(node: Node | None, shape: Shape) -> str:
    """Return the IANA name of a time zone; "" for none."""
    name = shape.text(node, "`time_zone`", longest=LONGEST_TEXT)
    if node is not None and name:
        try:
            zone(name)
        except Refused as error:
            shape.fault(node, error.message)
            return ""
    return name


def _fields_as_list(node: Node | None, what: str, shape: Shape) -> Node | None:
    """Return the mapping from names to fields as the list that keeps their order in JSON."""
    if node is None:
        return None
    if not isinstance(node.content, dict) or not node.content:
        shape.fault(node, f"`fields` of {what} must be a mapping from names to types")
        return None
    faults_before = len(shape.faults)
    listed: list[Node] = []
    for name, field in node.content.items():
        if not isinstance(field.content, dict):
            shape.fault(field, f"the field {shown(name)} of {what} must be as `{{type: text}}`")
        elif "name" in field.content:
            shape.fault(field.content["name"], f"{what}: the name of a field stands before it")
        else:
            named = {"name": replace(field, content=name), **field.content}
            listed.append(replace(field, content=named))
    return replace(node, content=listed) if len(shape.faults) == faults_before else None


def _check_access(node: Node | None, what: str, shape: Shape) -> list[Node]:
    """Check the roles that access rules name, and return the nodes of the people.

    Everything else in the rules is checked by the model.
    """
    people: list[Node] = []
    for rule in _list(node):
        who = _mapping(_mapping(rule).get("who"))
        for role in _list(who.get("roles")):
            shape.choice(role, f"a role in the access of {what}", ROLES)
        people += _list(who.get("people"))
    return people


def _list(node: Node | None) -> list[Node]:
    return node.content if node is not None and isinstance(node.content, list) else []


def _mapping(node: Node | None) -> dict[str, Node]:
    return node.content if node is not None and isinstance(node.content, dict) else {}


def _url_variable(node: Node | None, what: str, shape: Shape) -> str:
    text = shape.text(node, f"`url_variable` of {what}", longest=2_000)
    if node is None or not text:
        return ""
    if "://" in text:
        shape.fault(
            node,
            f"`url_variable` of {what} is a URL: URLs hold secrets and do not belong in a file."
            " Put it into an environment variable and name that variable here",
        )
    elif not _VARIABLE.fullmatch(text):
        shape.fault(
            node,
            f"`url_variable` of {what} must name an environment variable: capital letters,"
            " digits and underscores, such as SALES_URL",
        )
    elif text.startswith("QUERIES_"):
        shape.fault(
            node,
            f"`url_variable` of {what} begins with QUERIES_, as only our own settings do:"
            " choose another name",
        )
    return text


SECTIONS: Final[dict[str, SectionReader]] = {
    "people": _read_person,
    "groups": read_group,
    "connections": _read_connection,
    "datasets": _read_dataset,
    "queries": _read_query,
    "reports": _read_report,
    "schedules": read_schedule,
}
