"""The OpenAPI document, with the problems that every route may answer."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from queries_orchestration.web.problems import Problem


def install(app: FastAPI) -> None:
    """Let the document describe problems by one schema, of their own media type."""
    made = app.openapi

    def with_problems() -> dict[str, Any]:
        document = made()
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas["Problem"] = Problem.model_json_schema()
        return document

    app.openapi = with_problems  # type: ignore[method-assign] # as FastAPI has it changed
