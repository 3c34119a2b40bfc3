"""What came of the demo, gathered from `queries history`, `queries mailbox` and the messages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from email.parser import BytesHeaderParser
from pathlib import Path
from typing import Any, Final

Summary = dict[str, Any]

SLOT: Final = "recurrence"
RUN_NOW: Final = "run-now"
"""How an occurrence came to be, as the history tells it."""


def summarize(history: Mapping[str, Any], mailbox: Mapping[str, Any]) -> Summary:
    """Return the counts, then each occurrence, each recipient and each paused schedule.

    In each workspace what was asked for comes after all slots.

    Args:
        history: the answer of ``queries history --json``.
        mailbox: the answer of ``queries mailbox --json``.
    """
    occurrences = sorted(
        history["occurrences"],
        key=lambda one: (one["workspace"], one["slot"] is None, one["slot"]),
    )
    files = [message["file"] for message in mailbox["messages"]]
    # What tells of a pause delivers nothing.
    notices = [file for file in files if Path(file).name.startswith("notice.")]
    message_files = _files_by_message_id(file for file in files if file not in notices)
    recipients = [
        {
            "workspace": one["workspace"],
            "schedule": one["schedule"],
            "slot": one["slot"],
            "via": one["via"],
            "person": delivery["person"],
            "name": delivery["person"] or delivery["title"] or delivery["outside"],
            "state": delivery["state"],
            "code": delivery["code"],
            "message_file": message_files.get(delivery["message_id"]),
        }
        for one in occurrences
        for delivery in one["deliveries"]
    ]
    told = (
        *("occurrence", "workspace", "schedule", "slot", "via"),
        *("outcome", "code", "message", "actor"),
    )
    return {
        "outcomes": dict(Counter(one["outcome"] or one["state"] for one in occurrences)),
        # An empty result that was skipped has a file too, which nobody got.
        "files": sum(one["outcome"] == "delivered" for one in occurrences),
        "messages": len(files) - len(notices),
        "notices": len(notices),
        "recipients_by_state": dict(Counter(one["state"] for one in recipients)),
        "occurrences": [{key: one[key] for key in (*told, "file")} for one in occurrences],
        "recipients": recipients,
        "paused_schedules": [
            {key: one[key] for key in ("workspace", "schedule", "pause_code", "pause_reason")}
            for one in history["schedules"]
            if one["state"] == "paused"
        ],
    }


def occurrence_of(
    summary: Summary, workspace: str, schedule: str, *, via: str = SLOT
) -> dict[str, Any]:
    """Return the occurrence of a schedule's slot, or of a request; an empty one without any."""
    for one in summary["occurrences"]:
        if (one["workspace"], one["schedule"], one["via"]) == (workspace, schedule, via):
            found: dict[str, Any] = one
            return found
    return {"outcome": None, "code": None, "file": None, "actor": None}


def is_delivered(occurrence: Mapping[str, Any], file_format: str) -> bool:
    """Tell whether an occurrence was delivered, with a file of that format."""
    file = occurrence["file"]
    return (
        occurrence["outcome"] == "delivered" and file is not None and file["format"] == file_format
    )


def recipients_of(
    summary: Summary, workspace: str, schedule: str, *, via: str = SLOT
) -> list[dict[str, Any]]:
    """Return what each recipient of a schedule got, of its slot or of a request."""
    return [
        one
        for one in summary["recipients"]
        if (one["workspace"], one["schedule"], one["via"]) == (workspace, schedule, via)
    ]


def _files_by_message_id(files: Iterable[str]) -> dict[str, str]:
    found = {}
    for file in files:
        with Path(file).open("rb") as message:
            found[str(BytesHeaderParser().parse(message)["Message-ID"])] = file
    return found
