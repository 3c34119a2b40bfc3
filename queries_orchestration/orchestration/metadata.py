"""What the events of a run tell: names, counts, codes and addresses of pages of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import dagster as dg

from queries_orchestration.model.tallies import Tally
from queries_orchestration.store.exports import Export
from queries_orchestration.telling.work import Work

MEANINGS: Final[Mapping[str, str]] = {
    "occurrence": "Key of the occurrence",
    "export": "Id of the file",
    "work": "Of a failure: key of the occurrence, or id of the export",
    "receive": "Number of the attempt, of three at most",
    "page": "Our page of the occurrence, or of the export; it opens for who may see it there",
    "command": "The command that tells the schedule's history",
    "rows": "Rows of the file",
    "bytes": "Size of the file",
    "seconds": "How long it took to make the file",
    "format": "Format of the file",
    "outcome": "How the occurrence ended; of a file `ready`",
    "code": "Why it failed",
    "sent": "Recipients who have a message",
    "skipped": "Recipients who were not sent to",
    "refused": "Recipients whose mail server refused for good",
    "uncertain": "Recipients whose message may have been taken",
    "unsent": "Recipients whose message was not taken, each time it was tried",
    "sending": "Recipients whose message is on its way, or was when the receive ended",
    "codes": "How many recipients have each code",
    "aborted": "Uploads that were aborted",
    "missed": "Slots that were recorded as missed and are delivered now",
    "missing": "Slots that had no record and are delivered now",
    "called_off": "Slots that an earlier backfill called off and are delivered now",
    "failed": "Slots that an earlier backfill failed and are delivered now",
    "removed": "Of a retention: whether what it counts was removed",
    "expired_files": "Files whose time was over, and what failed exports left",
    "stale_uploads": "Uploads that nobody works on any more",
    "files_without_row": "Files of ours that no export has",
    "rows_without_file": "Exports whose file should be there and is not",
    "occurrences": "Occurrences that are past their age",
    "exports": "Exports that are past their age",
    "audit_events": "Events of the audit trail that are past their age",
    "runs": "Runs of Dagster that are past their age",
    "left": "Kinds that there was no time for, or that could not be looked at",
    "passed_over": "Schedules that a backfill could not look at; the log of the run names them",
}
"""What each entry tells; docs/dagster-ui.md is this table for people."""


def of_work(work: Work | None, public_url: str) -> dict[str, Any]:
    """Return the entries that lead from a run to its work.

    Args:
        public_url: root of our site.
    """
    if work is None:
        return {}
    page = work.page(public_url)
    entries = {
        "occurrence": work.occurrence_key,
        "export": work.export_id,
        "page": dg.MetadataValue.url(page) if page else None,
        "command": work.command,
    }
    return {name: value for name, value in entries.items() if value is not None}


def of_file(made: Export) -> dict[str, Any]:
    """Return the entries that tell a file."""
    seconds = {} if made.duration_seconds is None else {"seconds": made.duration_seconds}
    return {"rows": made.rows or 0, "bytes": made.size or 0, "format": made.format} | seconds


def of_recipients(counted: Tally) -> dict[str, Any]:
    """Return the entries that count recipients: a number for each state, and the codes."""
    codes = ", ".join(f"{code} {number}" for code, number in counted.codes.items())
    return counted.states | ({"codes": codes} if codes else {})
