"""A text in Markdown as lines of plain text, for where there is nothing but cells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

_INDENT = "    "
_RULE = "―" * 20
_CELLS_BETWEEN = " | "


@dataclass(frozen=True, slots=True)
class Line:
    """One paragraph, list item, row or heading; ``level`` is 1 to 6 for a heading, else 0."""

    text: str
    level: int = 0


def plain_lines(markdown: str) -> tuple[Line, ...]:
    """Return the lines of a Markdown text; an empty line stands between its blocks.

    Emphasis is left out, a link's address follows its text, HTML is text.
    """
    reader = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    lines: list[Line] = []
    for block in SyntaxTreeNode(reader.parse(markdown)).children:
        if lines:
            lines.append(Line(""))
        lines += _block(block)
    return tuple(lines)


def _block(node: SyntaxTreeNode) -> Iterator[Line]:
    if node.type in ("heading", "paragraph"):
        level = int(node.tag[1:]) if node.type == "heading" else 0
        yield from (Line(text, level) for text in _inline(node.children).split("\n"))
    elif node.type in ("bullet_list", "ordered_list"):
        for item in node.children:
            marker = f"{item.info}{item.markup}" if node.type == "ordered_list" else "•"
            yield from _item(marker, item)
    elif node.type == "tr":
        yield Line(_CELLS_BETWEEN.join(_inline(cell.children) for cell in node.children))
    elif node.type == "hr":
        yield Line(_RULE)
    elif node.children:  # a quotation; a table and its head and body
        indent = _INDENT if node.type == "blockquote" else ""
        for child in node.children:
            yield from _indented(indent, _block(child))
    else:  # code and HTML
        yield from (Line(line) for line in node.content.rstrip("\n").split("\n"))


def _item(marker: str, item: SyntaxTreeNode) -> Iterator[Line]:
    lines = [line for child in item.children for line in _block(child)] or [Line("")]
    yield Line(f"{marker} {lines[0].text}", lines[0].level)
    yield from _indented(_INDENT, lines[1:])


def _indented(indent: str, lines: Iterable[Line]) -> Iterator[Line]:
    return (Line(indent + line.text, line.level) for line in lines)


def _inline(nodes: Iterable[SyntaxTreeNode]) -> str:
    return "".join(map(_piece, nodes))


def _piece(node: SyntaxTreeNode) -> str:
    if node.type == "softbreak":
        return " "
    if node.type == "hardbreak":
        return "\n"
    if node.type == "link":
        text, address = _inline(node.children), str(node.attrGet("href") or "")
        return text if text == address else f"{text} ({address})"
    if node.children:  # emphasis; an image's description
        return _inline(node.children)
    return node.content
