"""An occurrence in lines for people."""

from __future__ import annotations

from typing import Any

from queries_orchestration.cli.output import local_text
from queries_orchestration.model.pages import run_page
from queries_orchestration.store.occurrences import BACKFILL
from queries_orchestration.telling.recipients import recipient_text


def result_text(told: dict[str, Any]) -> str:
    """Return what there is of: rows and format, as whom, who got what."""
    file, parts = told["file"], []
    if file:
        parts.append(f"{file['rows']:,} rows as {file['format']}")
    if told["actor"]:
        parts.append(f"for {told['actor']}")
    if told["receives"] > 1:
        parts.append(f"in {told['receives']} receives")
    got = ", ".join(_delivery_text(delivery) for delivery in told["deliveries"])
    return ": ".join(filter(None, (" ".join(parts), got)))


def _delivery_text(delivery: dict[str, Any]) -> str:
    said = f"{recipient_text(delivery)} {delivery['state']}"
    if reason := ": ".join(filter(None, (delivery["code"], delivery["words"]))):
        said += f" ({reason})"
    if delivery["resubmitted_at"]:
        said += ", submitted twice"
    message = delivery["message"]
    if message and message["state"] != "accepted":
        said += f", {message['state']}" + (f" ({message['code']})" if message["code"] else "")
    return said


def notes_text(told: dict[str, Any]) -> list[str]:
    """Return what else is to be known: who asked, what is unusual about it, who was told."""
    notes = []
    if told["purpose"] != "delivery":
        what = "a test" if told["purpose"] == "test" else f"sends {told['resend_of']} again"
        why = f": {told['reason']}" if told["reason"] else ""
        when = local_text(told["admitted_at"])
        notes.append(f"{what}, asked for by {told['requested_by']} at {when}{why}")
    if told["via"] == BACKFILL:
        missed = f"; missed before: {told['reason']}" if told["reason"] else ""
        notes.append(f"backfilled, admitted at {local_text(told['admitted_at'])}{missed}")
    if told["source_changed"]:
        notes.append("its source has changed since the schedule was set up")
    if told["message_fault"]:
        notes.append(
            f"its messages have the standard {told['message_fault']}: the workspace's own could not"
            " be used"
        )
    if late := told["late_file"]:
        notes.append(
            f"its report was rendered later, at {local_text(late['completed_at'])}, and is"
            f" {'kept' if late['state'] == 'ready' else late['state']}: export {late['export']}"
        )
    if told["notices"]:
        heard = ", ".join(
            f"{notice['person']} {notice['state']}"
            + (f" ({notice['code']})" if notice["code"] else "")
            for notice in told["notices"]
        )
        notes.append(f"told of it: {heard}")
    return notes


def reason_text(told: dict[str, Any]) -> str:
    """Return why it ended so, or why its last receive did, if there is something to say."""
    ended = ": ".join(filter(None, (told["code"], told["message"])))
    last = told["attempts"][-1]["code"] if told["attempts"] and not told["outcome"] else None
    return ended or (f"receive {told['receives']} ended with {last}" if last else "")


def runs_text(told: dict[str, Any], dagster_url: str) -> list[str]:
    """Return the address of each attempt's run in Dagster's UI; none if that has no address."""
    if not dagster_url:
        return []
    return [
        f"receive {attempt['receive']} in Dagster: {run_page(dagster_url, run_id=attempt['run'])}"
        for attempt in told["attempts"]
    ]
