"""Sources: the queries and reports that the caller can open, and what values they take."""

from __future__ import annotations

from itertools import islice
from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from queries_orchestration.exports.openable import openable_source, openable_sources
from queries_orchestration.telling.sources import source_json
from queries_orchestration.web.asked import BackendsOf, CallerOf
from queries_orchestration.web.cursors import (
    CursorOf,
    LimitOf,
    read_name_cursor,
    write_name_cursor,
)
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.examples import SOURCE, shown

router = APIRouter(prefix="/sources", tags=["sources"])


class ToldParameter(BaseModel):
    """One runtime value that a source takes."""

    name: str = Field(examples=["origin"])
    label: str = Field(examples=["Origin"])
    type: str = Field(examples=["text"])
    list: bool
    required: bool
    expected: str = Field(description="The form of a value, for people.", examples=["a text"])
    default: Any = Field(description="As it is given; null for none.", examples=["JFK"])
    choices: Any = Field(
        description="The only values, or elements, that are taken; null for any.",
        examples=[["JFK", "LGA"]],
    )


class ToldSource(BaseModel):
    """A query or report in its current version."""

    model_config = shown(SOURCE)

    source: str = Field(examples=["late-departures"])
    title: str
    kind: str = Field(examples=["query"])
    version: int
    formats: list[str] = Field(examples=[["csv", "xlsx"]])
    parameters: list[ToldParameter]


class ToldSources(BaseModel):
    """Some sources, by name."""

    model_config = shown({"sources": [SOURCE], "next_cursor": "WyJhbiBleGFtcGxlIl0"})

    sources: list[ToldSource]
    next_cursor: str | None


@router.get("", response_model=ToldSources)
def listing(
    caller: CallerOf, backends: BackendsOf, limit: LimitOf = 50, cursor: CursorOf = None
) -> dict[str, Any]:
    """List the queries and reports that the caller can open now, by name."""
    after = read_name_cursor(cursor)
    with backends.database.read(caller.workspace.id) as connection:
        openable = openable_sources(
            connection, caller.workspace.id, person_id=caller.person.id, after=after
        )
        found = list(islice(openable, limit + 1))
    page, more = found[:limit], found[limit:]
    return {
        "sources": [source_json(one) for one in page],
        "next_cursor": write_name_cursor(page[-1].source.name) if more else None,
    }


@router.get("/{name}", response_model=ToldSource, responses=documented(404))
def show(name: str, caller: CallerOf, backends: BackendsOf) -> dict[str, Any]:
    """Tell a query or report that the caller can open now."""
    with backends.database.read(caller.workspace.id) as connection:
        found = openable_source(
            connection, caller.workspace.id, person_id=caller.person.id, name=name
        )
    return source_json(found)
