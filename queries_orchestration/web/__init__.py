"""The HTTP API, the links people click and the pages they look at: ``web:app`` for uvicorn."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """Build ``app`` from the environment when a server asks for it, not when this is imported."""
    if name != "app":
        raise AttributeError(name)
    from queries_orchestration.web.serving import app_of_environment

    return app_of_environment()
