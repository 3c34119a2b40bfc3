"""The form of a schedule's definition, for the OpenAPI document.

The catalog's own checks read it (``catalog/sections.py``), so that its faults come all at once; a
test holds the keys to theirs.
"""

from __future__ import annotations

from typing import Any, Final

_NAME: Final = "^[a-z0-9][a-z0-9-]{0,62}$"

_RECIPIENT: Final[dict[str, Any]] = {
    "oneOf": [
        {"type": "string", "description": "A person's name."},
        {
            "type": "object",
            "required": ["group"],
            "additionalProperties": False,
            "properties": {"group": {"type": "string"}},
        },
        {
            "type": "object",
            "required": ["outside"],
            "additionalProperties": False,
            "properties": {
                "outside": {"type": "string", "description": "Of an address that is known here."}
            },
        },
        {
            "type": "object",
            "required": ["address"],
            "additionalProperties": False,
            "properties": {
                "address": {"type": "string", "maxLength": 320},
                "name": {"type": "string", "maxLength": 300},
            },
        },
    ]
}
_PROPERTIES: Final[dict[str, Any]] = {
    "title": {"type": "string", "minLength": 1, "maxLength": 300},
    "query": {"type": "string", "description": "The source, if it is a query."},
    "report": {"type": "string", "description": "The source, if it is a report."},
    "owner": {"type": "string", "description": "As whom it runs; default: as it is."},
    "cron": {"type": "string", "description": "Five fields; see recurrences."},
    "time_zone": {"type": "string", "description": "IANA name; default: the workspace's."},
    "last_day": {"type": "boolean", "default": False},
    "starts_on": {"type": ["string", "null"], "format": "date"},
    "ends_on": {"type": ["string", "null"], "format": "date"},
    "format": {"type": "string", "enum": ["csv", "xlsx", "pdf"]},
    "values": {"type": "object", "description": "Runtime values by parameter."},
    "recipients": {"type": "array", "minItems": 1, "items": _RECIPIENT},
    "skip_empty": {"type": "boolean", "default": False, "description": "Of a query."},
    "missed_slots": {"type": "string", "enum": ["latest", "all", "none"], "default": "latest"},
    "lateness_limit": {
        "type": ["integer", "null"],
        "minimum": 1,
        "maximum": 2**31 - 1,
        "description": "Seconds after which a slot is missed.",
    },
}
_EXAMPLE: Final[dict[str, Any]] = {
    "title": "Late departures",
    "query": "late-departures",
    "cron": "30 7 * * 1-5",
    "time_zone": "Europe/Berlin",
    "format": "xlsx",
    "values": {"origin": "JFK"},
    "recipients": ["bob", {"group": "dispatch"}],
}
_REQUIRED: Final = ["title", "cron", "format", "recipients"]

DEFINITION: Final[dict[str, Any]] = {
    "title": "ScheduleDefinition",
    "description": "A schedule in the keys of a catalog file; the name stands in the address.",
    "type": "object",
    "required": _REQUIRED,
    "additionalProperties": False,
    "properties": _PROPERTIES,
    "examples": [_EXAMPLE],
}
NEW_DEFINITION: Final[dict[str, Any]] = {
    "title": "NewSchedule",
    "description": "A schedule in the keys of a catalog file, with its name.",
    "type": "object",
    "required": ["name", *_REQUIRED],
    "additionalProperties": False,
    "properties": {"name": {"type": "string", "pattern": _NAME}, **_PROPERTIES},
    "examples": [{"name": "late-departures", **_EXAMPLE}],
}
