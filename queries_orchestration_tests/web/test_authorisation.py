"""The authorisation matrix: role x route x own, another's, another workspace's, unknown, gone.

Complete by construction: a route without its row fails.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from queries_orchestration.model.form_tokens import sign_form
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE
from queries_orchestration.web.rate_limits import RateLimits
from queries_orchestration_tests.web.matrix import ROLES, ROWS, Row
from queries_orchestration_tests.web.office import SCHEDULES, ask, create
from queries_orchestration_tests.web.site import PUBLIC_URL, Site


def routes(app: FastAPI) -> Iterator[str]:
    """Every method and path that the application answers."""
    for route in app.routes:
        contexts = getattr(route, "effective_route_contexts", None)
        answering: list[Any] = list(contexts()) if contexts else [route]
        for one in answering:
            for method in one.methods:
                if method != "HEAD" or one.methods == {"HEAD"}:
                    path = re.sub(r":\w+}", "}", one.path)
                    yield f"{method} {path}"


def test_every_route_has_its_row_and_every_row_its_route(site: Site) -> None:
    assert isinstance(site.client.app, FastAPI)
    assert sorted(routes(site.client.app)) == sorted(row.name for row in ROWS)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_each_role_gets_what_it_may_and_nothing_else(office: Site) -> None:
    office.house.apply(
        "workspace: {name: acme}\npeople: {sam: {title: Sam Service, roles: [service]}}\n"
    )
    _let_sign_ins_fail(office)
    things = Things(office)
    wrong = []
    for row in ROWS:
        names = things.made(row.target)
        # Those who may not come first: they change nothing, so that one thing serves them all.
        for role in sorted(row.statuses, key=lambda role: row.statuses[role] < 400):
            status = row.statuses[role]
            answer = things.ask(row, role, names)
            if answer.status_code != status:
                wrong.append((row.name, role, status, answer.status_code, answer.text[:150]))
            if answer.status_code < 400 and row.method != "GET":
                names = things.made(row.target)
    assert not wrong, "\n".join(map(str, wrong))


# PostgreSQL refuses texts that SQLite takes.
@pytest.mark.parametrize("database_kind", ["postgresql"], indirect=True)
def test_anothers_foreign_unknown_and_gone_things_look_the_same(office: Site) -> None:
    things = Things(office)
    different = []
    for row in ROWS:
        if row.target == "nothing":
            continue
        theirs = things.made(row.target)
        for role in ("author", "foreigner"):
            if row.statuses[role] != 404:
                continue
            told = {
                kind: _told(things.ask(row, role, names), names)
                for kind, names in {
                    "theirs": theirs,
                    "gone": things.gone(row.target),
                    "unknown": dict.fromkeys(theirs, "no-such"),
                    "no name": dict.fromkeys(theirs, "\0"),
                }.items()
            }
            if len(set(told.values())) != 1:
                different.append((row.name, role, told))
    assert different == []


def _let_sign_ins_fail(office: Site) -> None:
    """Who is not signed in is answered as often as they ask."""
    assert isinstance(office.client.app, FastAPI)
    state = office.client.app.state
    settings = replace(office.house.backends.settings, failed_sign_ins_per_address=100_000)
    state.web = replace(state.web, limits=RateLimits(settings))


def _told(answer: httpx2.Response, names: dict[str, str]) -> tuple[int, str]:
    text = answer.text
    for name in sorted(names.values(), key=len, reverse=True):
        for shown in ("\\\\x00", "\\x00", "\\u0000", "\ufffd", name):
            text = text.replace(shown, "*")
    return answer.status_code, re.sub(r'(?<=name="form" value=")[^"]+', "*", text)


@dataclass
class Things:
    """What ada has: made afresh whenever it is asked for."""

    site: Site
    numbers: Iterator[int] = field(default_factory=count)

    def ask(self, row: Row, role: str, names: dict[str, str]) -> httpx2.Response:
        """Ask a route about a thing, as a role."""
        path = re.sub(r"{(\w+)}", lambda match: _quoted(names.get(match[1], "no-such")), row.path)
        how: dict[str, Any] = {
            key: _filled(value, names | {"new": f"new-{next(self.numbers)}"})
            for key, value in row.ask.items()
        }
        headers = dict(how.pop("headers", {}))
        who = ROLES[role]
        if who is not None:
            headers |= self.site.as_(who[0], workspace=who[1])
        if row.method in ("PUT", "DELETE"):
            tag = ask(self.site, "GET", path).headers.get("etag")
            headers["If-Match"] = tag or '"none"'
        if row.method == "POST" and not path.startswith(("/api/", "/webhooks/")):
            headers["Origin"] = PUBLIC_URL
            how["data"] = how.get("data", {}) | {"form": self._form(role)}
        return self.site.client.request(row.method, path, headers=headers, **how)

    def made(self, target: str) -> dict[str, str]:
        """Make a thing that a route can be asked about, and return its names."""
        house = self.site.house
        if target == "nothing":
            return {}
        house.work(EXPORT_LANE)  # a person may have a few unfinished ones at once
        if target == "source":
            return {"name": "all-orders", "source": "all-orders"}
        if target in ("export", "file"):
            export = house.ask_export()
            if target == "file":
                house.work(EXPORT_LANE)
            return {"export_id": export}
        name = f"s-{next(self.numbers)}"
        assert create(self.site, name, query="all-orders", values={}).status_code == 201
        if target == "paused":
            paused = ask(self.site, "POST", f"{SCHEDULES}/{name}/pause", json={"reason": "Why"})
            assert paused.status_code == 200
        names = {"name": name}
        if target == "delivery":
            run = ask(self.site, "POST", f"{SCHEDULES}/{name}/run-now")
            house.work(DELIVERY_LANE)
            names["key"] = run.json()["occurrence"]
        return names

    def gone(self, target: str) -> dict[str, str]:
        """Return the names of a thing that was there once."""
        names = self.made(target)
        if target in ("schedule", "paused"):
            tag = ask(self.site, "GET", f"{SCHEDULES}/{names['name']}").headers["etag"]
            path = f"{SCHEDULES}/{names['name']}"
            gone = ask(self.site, "DELETE", path, headers={"If-Match": tag})
            assert gone.status_code == 204
        return names

    def _form(self, role: str) -> str:
        who = ROLES[role]
        house = self.site.house
        session = "nobody"
        if who is not None and who[1] == "acme":
            session = _session(house.workspace_id, house.person(who[0]))
        elif who is not None:
            session = _session(*self._globex(who[0]))
        return sign_form(house.backends.link_keys, session, now=house.clock.at)

    def _globex(self, name: str) -> tuple[str, str]:
        from queries_orchestration.store import people, workspaces

        with self.site.house.backends.database.across.read() as connection:
            workspace = workspaces.by_name(connection, "globex")
            assert workspace is not None
            person = people.by_name(connection, workspace.id, name)
            assert person is not None
        return workspace.id, person.id


def _session(workspace_id: str, person_id: str) -> str:
    import hashlib

    return hashlib.sha256(f"{workspace_id}/{person_id}".encode()).hexdigest()


def _quoted(name: str) -> str:
    return "%00" if name == "\0" else name


def _filled(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, str):
        return re.sub(r"{(\w+)}", lambda match: names.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: _filled(item, names) for key, item in value.items()}
    return value
