"""The OpenAPI document that is checked in is that of the routes, and says what they answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi import FastAPI
from pydantic import BaseModel

from queries_orchestration.catalog import sections
from queries_orchestration.catalog.shape import Shape
from queries_orchestration.catalog.yaml_file import Node
from queries_orchestration.web.routes import (
    audit,
    catalog,
    groups,
    occurrences,
    recurrences,
    schedule_history,
    schedules,
    sources,
)
from queries_orchestration.web.routes.schedule_form import DEFINITION, NEW_DEFINITION
from queries_orchestration_tests.web.office import DEFINITION as GIVEN
from queries_orchestration_tests.web.openapi_document import DOCUMENT, openapi_text
from queries_orchestration_tests.web.site import Site

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield f"{method} {path}", operation


def test_the_document_is_that_of_the_routes(site: Site) -> None:
    app = site.client.app
    assert isinstance(app, FastAPI)
    assert DOCUMENT.read_text() == openapi_text(app), (
        "the routes have changed: run `make openapi` and look at what has changed for callers"
    )
    assert site.client.get("/api/v1/openapi.json").json() == json.loads(DOCUMENT.read_text())


def test_every_operation_says_what_it_does_and_how_it_refuses(site: Site) -> None:
    document = json.loads(DOCUMENT.read_text())
    for name, operation in operations(document):
        assert operation.get("description"), name
        if "/api/v1/" not in name:
            continue  # links and webhooks answer in their own way
        if "requestBody" in operation:
            assert {"413", "422"} <= set(operation["responses"]), name
        if "{" in name:
            assert "404" in operation["responses"], name
        for status, answer in operation["responses"].items():
            if int(status) >= 400:
                schema = answer["content"]["application/problem+json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}, (name, status)


def test_the_form_of_a_schedule_has_the_keys_of_the_catalog(site: Site) -> None:
    shape = Shape()
    keys = {key: Node("", 0, None) for key in DEFINITION["properties"]}
    sections.read_schedule("x", Node("", 0, keys), shape)
    assert not [fault for fault in shape.faults if "has no key" in fault.message]
    missing = Shape()
    sections.read_schedule("x", Node("", 0, {}), missing)
    said = [fault.message for fault in missing.faults if "needs the key" in fault.message]
    needed = {message.split("`")[-2] for message in said}
    assert needed - {"owner", "report"} == set(DEFINITION["required"])
    assert set(NEW_DEFINITION["properties"]) == {"name", *DEFINITION["properties"]}
    assert set(GIVEN) <= set(DEFINITION["properties"])


def test_examples_are_such_as_the_routes_answer(site: Site) -> None:
    document = json.loads(DOCUMENT.read_text())
    models = document["components"]["schemas"]
    modules = (
        audit,
        catalog,
        groups,
        occurrences,
        recurrences,
        schedule_history,
        schedules,
        sources,
    )
    checked = 0
    for module in modules:
        for name, model in vars(module).items():
            if not (isinstance(model, type) and issubclass(model, BaseModel)):
                continue
            # In the document, FastAPI leaves out what is null.
            extra = model.model_config.get("json_schema_extra") or {}
            assert not callable(extra)
            examples: Any = extra.get("examples", [])
            for example in examples:
                told = model.model_validate(example)
                assert set(example) == {
                    field.alias or key for key, field in type(told).model_fields.items()
                }, name
                checked += 1
    assert checked >= 12
    for name, operation in operations(document):
        for status, answer in operation["responses"].items():
            schema = answer.get("content", {}).get("application/json", {}).get("schema", {})
            if int(status) < 400 and "$ref" in schema and "exports" not in name:
                told = models[schema["$ref"].rpartition("/")[2]]
                assert told.get("examples"), (name, status)
