"""A text in Markdown as HTML that is safe to print, whoever wrote the text.

HTML in it is shown as text. A picture is the text that stands for it. A link leads to the web or
to a mail address; every other is shown as it was written.
"""

from __future__ import annotations

from typing import Final

LINKED: Final = ("http://", "https://", "mailto:")
_DEEPEST_HEADING = 6
_ABOVE = 2
"""A report's title and a section's title stand above the headings of a text."""


def markdown_html(text: str) -> str:
    """Return a Markdown text as HTML blocks, its headings from ``h3`` on."""
    # Not until a text is printed: loading the definitions must stay quick.
    from markdown_it import MarkdownIt
    from markdown_it.renderer import RendererHTML

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": 100}).enable(
        ["table", "strikethrough"]
    )
    reader.validateLink = lambda url: url.lower().startswith(LINKED)  # type: ignore[method-assign]
    renderer = RendererHTML()
    tokens = reader.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1:]) + _ABOVE, _DEEPEST_HEADING)}"
        if token.type == "inline":
            for child in token.children or ():
                if child.type == "image":
                    child.type, child.tag, child.attrs = "text", "", {}
                    child.content = renderer.renderInlineAsText(child.children, reader.options, {})
    return renderer.render(tokens, reader.options, {})
