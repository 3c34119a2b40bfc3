"""A workspace's own words in its messages: small templates, checked before they are kept.

A template is text with ``{{ name }}`` and ``{% if name %} … {% else %} … {% endif %}``. Of Jinja2
that is all that is taken: without loops, calls, attributes and arithmetic no template can run long,
grow large or reach anything but the names it is given. The sandbox stays around it nevertheless.
What it makes is plain text, escaped in HTML as any other.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

from queries_orchestration.communications.interface import clean_header_text
from queries_orchestration.model.errors import Refused

if TYPE_CHECKING:
    from jinja2 import Template, nodes
    from jinja2.sandbox import SandboxedEnvironment

PARTS: Final = ("sender_name", "subject", "greeting", "intro", "footer")
"""What a workspace may word itself; ``intro`` and ``footer`` may have several lines."""
SEVERAL_LINES: Final = frozenset({"intro", "footer"})
VARIABLES: Final = (
    "workspace",
    "schedule",
    "source",
    "recipient",
    "slot",
    "rows",
    "size",
    "format",
    "link_ends",
)
"""What a template may name: texts. Without a value are ``slot`` of a run on request, ``rows`` of a
report and ``recipient`` of an address without a name."""

LONGEST_TEMPLATE: Final = 2_000
LONGEST_LINE: Final = 1_000
_DEEPEST: Final = 20
# What has no value stays without one: the filters of Jinja2 make the word `None` of it.
_FILTERS: Final[Mapping[str, Callable[[object], str | None]]] = {
    "upper": lambda value: None if value is None else str(value).upper(),
    "lower": lambda value: None if value is None else str(value).lower(),
    "trim": lambda value: None if value is None else str(value).strip(),
}
_SAMPLE: Final = dict.fromkeys(VARIABLES, "x")
_ALLOWED: Final = (
    "a template has text, {{ name }} and {% if name %} … {% else %} … {% endif %} only"
)


class InvalidTemplate(Refused):
    """A template of a workspace that cannot be used; ``line`` is that of the template, from 1."""

    code = "invalid_template"

    def __init__(self, message: str, *, line: int = 1) -> None:
        super().__init__(message)
        self.line = line


def check_template(part: str, source: str) -> None:
    """Refuse a template that could not be used for ``part`` of a message.

    Raises:
        InvalidTemplate: with what is wrong, and the line.
    """
    for sample in (_SAMPLE, _SAMPLE | {"slot": None, "rows": None, "recipient": None}):
        render(part, source, sample)


def render(part: str, source: str, values: Mapping[str, str | None]) -> str:
    """Return the text that a template makes of ``values``, which are those of `VARIABLES`.

    Raises:
        InvalidTemplate: it makes none: it is of another release, or what it makes is empty.
    """
    from jinja2 import TemplateError

    template = _compiled(source)
    try:
        made = template.render(values)
    except (TemplateError, TypeError):
        raise InvalidTemplate("it cannot be used: check it with `queries catalog apply`") from None
    lines = [clean_header_text(line, limit=LONGEST_LINE) for line in made.strip().splitlines()]
    if part not in SEVERAL_LINES:
        lines = [" ".join(lines)]
    text = "\n".join(lines).strip()
    if _says_nothing(text) and part in ("subject", "intro"):
        raise InvalidTemplate("it can come out empty: let something stand outside of {% if %}")
    return text


@lru_cache(maxsize=100)
def _compiled(source: str) -> Template:
    from jinja2 import TemplateSyntaxError, nodes

    if len(source) > LONGEST_TEMPLATE:
        raise InvalidTemplate(f"it has {len(source)} characters; {LONGEST_TEMPLATE} is the most")
    try:
        tree = _environment().parse(source)
    except TemplateSyntaxError as error:
        raise InvalidTemplate(f"{_ALLOWED}", line=error.lineno) from None
    except RecursionError:
        raise InvalidTemplate(_ALLOWED) from None
    _check_node(tree, depth=0)
    for name in tree.find_all(nodes.Name):
        if name.name not in VARIABLES:
            raise InvalidTemplate(
                f"there is no {{{{ {clean_header_text(name.name, limit=60)} }}}}; there is"
                f" {', '.join(VARIABLES)}",
                line=name.lineno,
            )
    return _environment().from_string(source)


def _check_node(node: nodes.Node, *, depth: int) -> None:
    from jinja2 import nodes

    plain = (
        *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.Name, nodes.Const),
        *(nodes.If, nodes.CondExpr, nodes.And, nodes.Or, nodes.Not),
    )
    is_taken = isinstance(node, plain) or (
        isinstance(node, nodes.Filter)
        and node.name in _FILTERS
        and not (node.args or node.kwargs or node.dyn_args or node.dyn_kwargs)
    )
    if not is_taken or depth > _DEEPEST:
        raise InvalidTemplate(_ALLOWED, line=node.lineno)
    for child in node.iter_child_nodes():
        _check_node(child, depth=depth + 1)


@cache
def _environment() -> SandboxedEnvironment:
    # Not until something is sent or checked: loading the definitions must stay quick.
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        finalize=lambda value: "" if value is None else value,
    )
    environment.filters = dict(_FILTERS)
    return environment


def _says_nothing(text: str) -> bool:
    """Whether nothing of ``text`` shows: spaces, marks and characters without a width."""
    return all(unicodedata.category(character)[0] in "CZM" for character in text)
