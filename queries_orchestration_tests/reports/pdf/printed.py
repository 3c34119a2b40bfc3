"""Reports as PDF, read back by another program than wrote them."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any, cast

from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject

from queries_orchestration.reports.content import Content, Head
from queries_orchestration.reports.pdf.document import write_pdf
from queries_orchestration_tests.reports.pdf.samples import head


def print_report(
    contents: Iterable[Content], its_head: Head | None = None
) -> tuple[PdfReader, int]:
    """Return a report as another program reads it, and how many characters were replaced."""
    sink = io.BytesIO()
    contents = list(contents)
    replaced = write_pdf(its_head or head(contents), contents, sink)
    return PdfReader(sink), replaced


def text_of(reader: PdfReader) -> str:
    """Return all text, with one space between the words."""
    return " ".join("\n".join(page.extract_text() for page in reader.pages).split())


def links_of(reader: PdfReader) -> list[str]:
    found = []
    for page in reader.pages:
        for annotation in page.annotations or ():
            action = annotation.get_object().get("/A")
            if action is not None:
                found.append(str(action["/URI"]) if action["/S"] == "/URI" else str(action))
    return found


def names_of(reader: PdfReader) -> set[str]:
    """Return every key and name that the file's objects have."""
    found: set[str] = set()
    for place in range(1, cast(int, reader.trailer["/Size"])):
        item = reader.get_object(place)
        if isinstance(item, DictionaryObject):
            found |= {str(key) for key in item} | {str(value) for value in item.values()}
    return found


def right_edge_of(page: PageObject) -> float:
    """Return how far right text starts, in points."""
    edges: list[float] = []

    def visit(text: str, cm: list[float], tm: list[float], _font: Any, _size: float) -> None:
        if text.strip():
            edges.append(tm[4] * cm[0] + cm[4])

    page.extract_text(visitor_text=visit)
    return max(edges)
