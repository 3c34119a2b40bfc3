"""Examples of answers, for the OpenAPI document; a test holds them to what the routes answer."""

from __future__ import annotations

from typing import Any, Final

from pydantic import ConfigDict

_AT: Final = "2027-01-04T07:00:00Z"
_KEY: Final = "mfrggzdfmztwq2lknnwg23tpob@20270104T070000Z"
_EXPORT: Final = "nbswy3dpeb3w64tmmqqho33snr"

LISTED_SCHEDULE: Final[dict[str, Any]] = {
    "schedule": "late-departures",
    "workspace": "acme",
    "title": "Late departures",
    "state": "active",
    "pause_code": None,
    "pause_reason": None,
    "paused_at": None,
    "next_slot": _AT,
    "failure_streak": 0,
    "cron": "0 8 * * 1",
    "time_zone": "Europe/Berlin",
    "last_day": False,
    "starts_on": None,
    "ends_on": None,
    "source": "late-departures",
    "kind": "query",
    "version": 1,
    "current_version": 2,
    "values": {"origin": "JFK"},
    "format": "xlsx",
    "owner": "ada",
    "recipients": [
        {"person": "bob", "group": None, "outside": None, "title": "Bob Buyer"},
        {"person": None, "group": "dispatch", "outside": None, "title": None},
    ],
    "unsubscribed": [],
    "skip_empty": False,
    "missed_slots": "latest",
    "lateness_limit": None,
    "written_by": "other",
}
SCHEDULE: Final[dict[str, Any]] = {
    **LISTED_SCHEDULE,
    "definition": {
        "title": "Late departures",
        "query": "late-departures",
        "owner": "ada",
        "cron": "0 8 * * 1",
        "time_zone": "Europe/Berlin",
        "last_day": False,
        "format": "xlsx",
        "values": {"origin": "JFK"},
        "recipients": ["bob", {"group": "dispatch"}],
        "skip_empty": False,
        "missed_slots": "latest",
    },
    "transfers": [{"from": "fay", "to": "ada", "by": "fay", "at": _AT, "reason": "Fay is away."}],
}
OCCURRENCE: Final[dict[str, Any]] = {
    "occurrence": _KEY,
    "workspace": "acme",
    "schedule": "late-departures",
    "slot": _AT,
    "via": "recurrence",
    "purpose": "delivery",
    "resend_of": None,
    "requested_by": None,
    "reason": None,
    "admitted_at": _AT,
    "state": "settled",
    "outcome": "delivered",
    "code": None,
    "message": None,
    "actor": "ada",
    "receives": 1,
    "attempts": [
        {
            "receive": 1,
            "run": "5f4a3c9e-8f1c-4f7e-9d53-6a3f5f0c2b11",
            "started_at": _AT,
            "ended_at": "2027-01-04T07:00:04Z",
            "code": None,
        }
    ],
    "source_changed": False,
    "message_fault": None,
    "late_file": None,
    "settled_at": "2027-01-04T07:00:04Z",
    "file": {
        "export": _EXPORT,
        "format": "xlsx",
        "rows": 1204,
        "size": 48211,
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "expires_at": "2027-01-13T07:00:04Z",
    },
    "deliveries": [
        {
            "person": "bob",
            "outside": None,
            "title": "Bob Buyer",
            "state": "sent",
            "code": None,
            "words": None,
            "resubmitted_at": None,
            "message_id": "<1f2e3d@queries.example.org>",
            "message": {"state": "delivered", "code": None, "at": _AT},
        }
    ],
    "notices": [],
}
SLOTS: Final[dict[str, Any]] = {
    "cron": "30 2 * * *",
    "time_zone": "Europe/Berlin",
    "slots": [
        {
            "slot": "2027-03-28T01:30:00Z",
            "local": "2027-03-28T03:30:00+02:00",
            "named": "2027-03-28T02:30:00",
            "reading": "gap",
        }
    ],
}
SOURCE: Final[dict[str, Any]] = {
    "source": "late-departures",
    "title": "Late departures",
    "kind": "query",
    "version": 2,
    "formats": ["csv", "xlsx"],
    "parameters": [
        {
            "name": "origin",
            "label": "Origin",
            "type": "text",
            "list": False,
            "required": True,
            "expected": "a text",
            "default": "JFK",
            "choices": ["JFK", "LGA"],
        }
    ],
}
GROUP: Final[dict[str, Any]] = {
    "group": "dispatch",
    "title": "Dispatch",
    "members": [{"person": "bob", "title": "Bob Buyer", "active": True}],
}
_NOTHING: Final[dict[str, Any]] = {"created": [], "changed": [], "unchanged": []}
CHANGES: Final[dict[str, Any]] = {
    "workspaces": {**_NOTHING, "unchanged": ["acme"]},
    "people": {**_NOTHING, "created": ["acme/eve"]},
    "groups": _NOTHING,
    "connections": _NOTHING,
    "datasets": _NOTHING,
    "queries": {**_NOTHING, "changed": ["acme/late-departures"]},
    "reports": _NOTHING,
    "schedules": _NOTHING,
    "pruned": [{"kind": "people", "name": "acme/gus", "outcome": "removed"}],
    "new_versions": [{"source": "acme/late-departures", "version": 2}],
    "unset_variables": [],
}
EVENT: Final[dict[str, Any]] = {
    "id": "mfrggzdfmztwq2lknnwg23tpob",
    "at": _AT,
    "via": "api",
    "person": "ada",
    "person_id": "nbswy3dpeb3w64tmmqqho33snr",
    "outside_id": None,
    "action": "run_launched",
    "attempted": None,
    "subject_kind": "schedule",
    "subject": "late-departures",
    "subject_id": "orsxg5baon2hezlbnuqhs33vom",
    "concerns": None,
    "concerns_id": None,
    "code": None,
}


def shown(example: dict[str, Any]) -> ConfigDict:
    """Return the configuration of a model that shows an example."""
    return ConfigDict(json_schema_extra={"examples": [example]})
