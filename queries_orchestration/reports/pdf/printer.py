"""From HTML to PDF with WeasyPrint, which gets neither the network nor files.

Loads WeasyPrint and with it Pango: import it only where something is printed.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Mapping
from typing import Any, Final

from weasyprint import HTML  # type: ignore[import-untyped]
from weasyprint.urls import (  # type: ignore[import-untyped]
    FatalURLFetchingError,
    URLFetcher,
    URLFetcherResponse,
)

from queries_orchestration.model.errors import PermanentError


def print_pages(html: str, pictures: Mapping[str, str], *, is_tagged: bool) -> bytes:
    """Return the PDF of an HTML document.

    Args:
        pictures: SVG by the address that the document gives it; everything else it holds itself.
        is_tagged: tell readers for the blind what is a heading, a table, a picture.

    Raises:
        PermanentError: the document asks for something outside of itself.
    """
    try:
        document = _Document(string=html, url_fetcher=_OwnPictures(pictures))
        pages = document.render(pdf_tags=is_tagged)
        # The boxes that the pages were made from hold each other in circles; they are as many
        # as those on the pages.
        gc.collect()
        pdf: bytes = pages.write_pdf(pdf_tags=is_tagged)
    except FatalURLFetchingError as error:
        raise PermanentError(
            "the report asks for something outside of itself, which is never fetched",
            code="pdf_refused",
        ) from error
    return pdf


class _Document(HTML):  # type: ignore[misc]
    """Has no style but that of our own style sheet.

    WeasyPrint's gives each element six markers of footnotes and lists, which would take more
    memory than everything else about a table.
    """

    def _ua_stylesheets(self, forms: bool = False) -> list[object]:  # noqa: ARG002
        return []


class _OwnPictures(URLFetcher):  # type: ignore[misc]
    """Hands out the pictures of the document; refuses the network, files and ``data:``."""

    def __init__(self, pictures: Mapping[str, str]) -> None:
        super().__init__(fail_on_errors=True, allowed_protocols=())
        self._pictures = pictures

    def fetch(self, url: str, *_headers: object) -> Any:
        if url not in self._pictures:
            raise PermanentError("a report is made without network and files", code="pdf_refused")
        return URLFetcherResponse(url, self._pictures[url], {"Content-Type": "image/svg+xml"})


class _WithoutRows(logging.Filter):
    """Lets no text of a report into a log: warnings go, of errors the place in the code stays."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno < logging.ERROR:
            return False
        record.msg = f"printing a report: an error at {record.module}:{record.lineno}"
        record.args, record.exc_info, record.exc_text = (), None, None
        return True


_WITHOUT_ROWS: Final = _WithoutRows()
for _name in ("weasyprint", "weasyprint.progress"):
    logging.getLogger(_name).addFilter(_WITHOUT_ROWS)
logging.getLogger("fontTools").setLevel(logging.ERROR)  # tells which characters a font is cut to
