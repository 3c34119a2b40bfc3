"""Who may do what: one row a route, with the status that each role is answered.

Roles: a ``stranger`` has no token; ``inactive`` is a person who is no longer active; a ``reader``,
``service`` and ``author`` have nothing to do with what is asked for; its ``owner`` asked for it or
owns its schedule; the ``administrator`` is of the same workspace, the ``foreigner`` one of another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Target = Literal["export", "file", "schedule", "paused", "delivery", "source", "nothing"]
"""What a route is asked about: made afresh for each request that may change it."""

ROLES: Final[Mapping[str, tuple[str, str] | None]] = {
    "stranger": None,
    "inactive": ("dan", "acme"),
    "reader": ("bob", "acme"),
    "service": ("sam", "acme"),
    "author": ("fay", "acme"),
    "owner": ("ada", "acme"),
    "administrator": ("eve", "acme"),
    "foreigner": ("ada", "globex"),
}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One route: what it is asked, and the status for each role."""

    method: str
    path: str
    target: Target
    statuses: Mapping[str, int]
    ask: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def _by_role(
    signed_out: int,
    *,
    reader: int,
    author: int,
    owner: int,
    administrator: int,
    foreigner: int,
    service: int | None = None,
) -> Mapping[str, int]:
    return {
        "stranger": signed_out,
        "inactive": signed_out,
        "reader": reader,
        "service": reader if service is None else service,
        "author": author,
        "owner": owner,
        "administrator": administrator,
        "foreigner": foreigner,
    }


def _everybody(status: int) -> Mapping[str, int]:
    return dict.fromkeys(ROLES, status)


def _signed_in(status: int, signed_out: int = 401) -> Mapping[str, int]:
    return {**_everybody(status), "stranger": signed_out, "inactive": signed_out}


def _governed(status: int, signed_out: int = 401, administrator: int | None = None) -> Any:
    return _by_role(
        signed_out,
        reader=404,
        author=404,
        owner=status,
        administrator=status if administrator is None else administrator,
        foreigner=404,
    )


def _api(method: str, path: str, target: Target, statuses: Mapping[str, int], **ask: Any) -> Row:
    return Row(method=method, path=f"/api/v1{path}", target=target, statuses=statuses, ask=ask)


def _page(
    method: str, path: str, target: Target, status: int, administrator: int | None = None
) -> Row:
    return Row(
        method=method,
        path=path,
        target=target,
        statuses=_governed(status, 303, administrator),
    )


OPENED: Final = _by_role(401, reader=404, author=200, owner=200, administrator=404, foreigner=404)
"""The source that authors may open."""
STARTED: Final = {role: 202 if status == 200 else status for role, status in OPENED.items()}
DEFINITION: Final = {
    "title": "Another",
    "query": "all-orders",
    "cron": "0 9 * * 1",
    "format": "csv",
    "recipients": ["bob"],
}
CATALOG: Final = "workspace: {name: acme}\n"

API_ROWS: Final = (
    _api("GET", "/openapi.json", "nothing", _everybody(200)),
    _api("POST", "/exports", "source", STARTED, json={"source": "{name}", "format": "csv"}),
    _api("GET", "/exports", "nothing", _signed_in(200)),
    _api("GET", "/exports/{export_id}", "export", _governed(200)),
    _api("POST", "/exports/{export_id}/cancel", "export", _governed(200)),
    # The file is of the requester alone, as they may open its source now.
    _api("GET", "/exports/{export_id}/file", "file", _governed(302, administrator=404)),
    _api("GET", "/schedules", "nothing", _signed_in(200)),
    _api(
        "POST",
        "/schedules",
        "nothing",
        _by_role(401, reader=403, author=201, owner=201, administrator=422, foreigner=422),
        json=DEFINITION | {"name": "{new}"},
    ),
    _api("GET", "/schedules/{name}", "schedule", _governed(200)),
    _api("PUT", "/schedules/{name}", "schedule", _governed(200), json=DEFINITION),
    _api("DELETE", "/schedules/{name}", "schedule", _governed(204)),
    _api("POST", "/schedules/{name}/pause", "schedule", _governed(200), json={"reason": "Why"}),
    _api("POST", "/schedules/{name}/resume", "paused", _governed(200)),
    _api("POST", "/schedules/{name}/repin", "schedule", _governed(200), json={}),
    _api("POST", "/schedules/{name}/transfer", "schedule", _governed(204), json={"to": "fay"}),
    _api("POST", "/schedules/{name}/run-now", "schedule", _governed(202, administrator=403)),
    _api("POST", "/schedules/{name}/test", "schedule", _governed(202, administrator=403)),
    _api("GET", "/schedules/{name}/history", "schedule", _governed(200)),
    _api("GET", "/schedules/{name}/preview", "schedule", _governed(200)),
    _api("GET", "/schedules/{name}/recipients", "schedule", _governed(200)),
    # An administrator's alone; nobody had unsubscribed.
    _api(
        "POST",
        "/schedules/{name}/resubscribe",
        "schedule",
        _governed(403, administrator=409),
        json={"recipient": "bob"},
    ),
    _api(
        "GET",
        "/recurrences/preview",
        "nothing",
        _signed_in(200),
        params={"cron": "0 8 * * 1", "time_zone": "Europe/Berlin"},
    ),
    _api("GET", "/occurrences/{key}", "delivery", _governed(200)),
    _api("POST", "/occurrences/{key}/resend", "delivery", _governed(409, administrator=403)),
    _api("GET", "/sources", "nothing", _signed_in(200)),
    _api("GET", "/sources/{name}", "source", OPENED),
    _api(
        "GET",
        "/groups",
        "nothing",
        _by_role(401, reader=403, author=200, owner=200, administrator=200, foreigner=200),
    ),
    _api(
        "GET",
        "/audit",
        "nothing",
        _by_role(401, reader=403, author=403, owner=403, administrator=200, foreigner=200),
    ),
    _api(
        "POST",
        "/catalog/apply",
        "nothing",
        _by_role(401, reader=403, author=403, owner=403, administrator=200, foreigner=422),
        content=CATALOG,
        headers={"Content-Type": "application/yaml"},
    ),
)
OPEN_ROWS: Final = (
    Row(method="GET", path="/healthz", target="nothing", statuses=_everybody(200)),
    Row(method="GET", path="/readyz", target="nothing", statuses=_everybody(200)),
    Row(method="GET", path="/metrics", target="nothing", statuses=_everybody(404)),
    # Who holds the token is served, whoever else they are; here nobody holds one.
    *(
        Row(method=method, path=f"/{kind}/{{token}}", target="nothing", statuses=_everybody(410))
        for kind in ("d", "u", "files")
        for method in ("GET", "HEAD")
    ),
    Row(method="POST", path="/u/{token}", target="nothing", statuses=_everybody(410)),
    Row(method="POST", path="/webhooks/ses", target="nothing", statuses=_everybody(422)),
    Row(method="POST", path="/webhooks/messages", target="nothing", statuses=_everybody(422)),
)
PAGE_ROWS: Final = (
    Row(method="GET", path="/", target="nothing", statuses=_everybody(303)),
    Row(method="GET", path="/sign-in", target="nothing", statuses=_signed_in(303)),
    Row(method="POST", path="/sign-in", target="nothing", statuses=_everybody(401)),
    Row(method="POST", path="/sign-out", target="nothing", statuses=_everybody(303)),
    Row(method="GET", path="/exports", target="nothing", statuses=_signed_in(200, 303)),
    _page("GET", "/exports/{export_id}", "export", 200),
    _page("POST", "/exports/{export_id}/cancel", "export", 303),
    Row(
        method="GET",
        path="/exports/{export_id}/file",
        target="file",
        statuses=_governed(302, 303, administrator=404),
    ),
    Row(method="GET", path="/export", target="nothing", statuses=_signed_in(200, 303)),
    *(
        Row(
            method=method,
            path="/export/{source}",
            target="source",
            statuses={
                role: 303 if status == 401 else done if status == 200 else status
                for role, status in OPENED.items()
            },
            ask={"data": {"format": "csv"}} if method == "POST" else {},
        )
        for method, done in (("GET", 200), ("POST", 303))
    ),
    Row(method="GET", path="/schedules", target="nothing", statuses=_signed_in(200, 303)),
    _page("GET", "/schedules/{name}", "schedule", 200),
    _page("GET", "/schedules/{name}/occurrences/{key}", "delivery", 200),
    _page("POST", "/schedules/{name}/occurrences/{key}/resend", "delivery", 409, 403),
    _page("POST", "/schedules/{name}/run", "schedule", 303, 403),
    _page("POST", "/schedules/{name}/test", "schedule", 303, 403),
    _page("POST", "/schedules/{name}/pause", "schedule", 303),
    _page("POST", "/schedules/{name}/resume", "paused", 303),
    _page("POST", "/schedules/{name}/repin", "schedule", 303),
    # Everybody's messages: in development mode alone, which this is not.
    *(
        Row(method="GET", path=f"/mailbox{rest}", target="nothing", statuses=_signed_in(404, 303))
        for rest in ("", "/{key}", "/{key}/body")
    ),
    Row(method="GET", path="/static/{version}/{name}", target="nothing", statuses=_everybody(404)),
)
ROWS: Final = (*API_ROWS, *OPEN_ROWS, *PAGE_ROWS)
