"""The OpenAPI document: `python -m queries_orchestration_tests.web.openapi_document` writes it."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Final

from fastapi import FastAPI

from queries_orchestration.store.migrate import upgrade
from queries_orchestration_tests.house import build_house
from queries_orchestration_tests.web.site import open_site

DOCUMENT: Final = Path(__file__).parents[2] / "docs" / "openapi.json"


def openapi_text(app: FastAPI) -> str:
    """The document that an application makes, as it is checked in."""
    return json.dumps(app.openapi(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the document of an application with all its routes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store = f"sqlite:///{folder / 'store.db'}"
        upgrade(store)
        house = build_house(folder, store, f"sqlite:///{folder / 'source.db'}", rows=0)
        with open_site(house) as site:
            app = site.client.app
            assert isinstance(app, FastAPI)
            DOCUMENT.write_text(openapi_text(app))


if __name__ == "__main__":
    main()
