"""Groups: whom one may name as recipients together."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from pydantic import BaseModel, Field

from queries_orchestration.deliveries.name_recipients import groups_for
from queries_orchestration.telling.groups import groups_json
from queries_orchestration.web.asked import BackendsOf, CallerOf
from queries_orchestration.web.cursors import (
    CursorOf,
    LimitOf,
    read_name_cursor,
    write_name_cursor,
)
from queries_orchestration.web.problems import documented
from queries_orchestration.web.routes.examples import GROUP, shown

router = APIRouter(prefix="/groups", tags=["groups"])


class ToldMember(BaseModel):
    """Somebody in a group; who is not active gets no messages."""

    person: str = Field(examples=["bob"])
    title: str = Field(examples=["Bob Buyer"])
    active: bool


class ToldGroup(BaseModel):
    """A group with its members in their order."""

    model_config = shown(GROUP)

    group: str = Field(examples=["dispatch"])
    title: str
    members: list[ToldMember]


class ToldGroups(BaseModel):
    """Some groups, by name."""

    model_config = shown({"groups": [GROUP], "next_cursor": "WyJhbiBleGFtcGxlIl0"})

    groups: list[ToldGroup]
    next_cursor: str | None


@router.get("", response_model=ToldGroups, responses=documented(403))
def listing(
    caller: CallerOf, backends: BackendsOf, limit: LimitOf = 50, cursor: CursorOf = None
) -> dict[str, Any]:
    """List the groups of the workspace and who is in them, to authors and administrators."""
    after = read_name_cursor(cursor)
    with backends.database.read(caller.workspace.id) as connection:
        found = groups_for(connection, caller.workspace.id, person_id=caller.person.id, after=after)
        page, more = found[:limit], found[limit:]
        told = groups_json(connection, caller.workspace.id, page)
    return {"groups": told, "next_cursor": write_name_cursor(page[-1].name) if more else None}
