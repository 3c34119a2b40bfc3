"""What a run tells of an error: its code, and its message only where that names nobody.

Dagster's UI asks nobody who they are, and its events are kept. A message may hold the
name of a dataset or a section, a value or a server's words; our page and the command tell it whole.
"""

from __future__ import annotations

from typing import Final

from queries_orchestration.model.errors import QueriesError

NAME_NOBODY: Final = frozenset(
    {
        # Of the Launchpad: what to fill in otherwise, or to mend.
        "backfill_passed_over",
        "before_history",
        "client_key_reused",
        "dagster_ui_runs_off",
        "empty_range",
        "file_expired",
        "file_gone",
        "future_day",
        "incomplete_config",
        "invalid_reason",
        "no_file",
        "no_partition",
        "no_workspace",
        "not_found",
        "not_settled",
        "nothing_to_resend",
        "other_lane",
        "schedule_ended",
        "schedule_paused",
        "too_many_exports",
        # Of a receive: what is away, by our own words.
        "all_refused",
        "receive_lost",
        "receive_timeout",
        "render_unfinished",
        "storage_unavailable",
        "store_unavailable",
        "unexpected_error",
        "worker_lost",
    }
)
"""Codes whose messages hold no name of a person, no title, no value and no foreign words."""
ELSEWHERE: Final = {"dispatch_stopped": "`queries dispatch show` tells by whom and why."}
"""By code: who tells the message of what is nobody's work, and has no page."""


def told(error: QueriesError) -> str:
    """Return what a run tells of ``error``."""
    if error.code in NAME_NOBODY:
        return f"{error.code}: {error.message}"
    return f"{error.code}: {ELSEWHERE.get(error.code, 'its page and the command tell more.')}"
