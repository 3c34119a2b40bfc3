"""What a notice says: that a schedule failed or is paused, why, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from zoneinfo import ZoneInfo

from queries_orchestration.communications.compose import moment_text, templates
from queries_orchestration.communications.interface import clean_header_text
from queries_orchestration.model.notices import NoticeKind

_NAME_LIMIT: Final = 120
_REASON_LIMIT: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeFacts:
    """What is to be told about one failure or pause to one person.

    Args:
        schedule_name: how the command calls the schedule.
        zone: IANA name of the zone in which the slot is shown.
        slot: the aware moment of the failed slot; None for a run on request.
        reason: in our own words, with what to do; never a row, an address or a secret.
        streak: failures in a row.
    """

    kind: NoticeKind
    workspace_title: str
    schedule_title: str
    schedule_name: str
    recipient_name: str = field(repr=False)
    zone: str
    slot: datetime | None
    code: str
    reason: str
    streak: int


def compose_notice(facts: NoticeFacts) -> tuple[str, str, str]:
    """Return subject, text and HTML. Titles and names stay plain text, whatever they hold."""
    slot = facts.slot.astimezone(ZoneInfo(facts.zone)) if facts.slot else None
    schedule = clean_header_text(facts.schedule_title, limit=_NAME_LIMIT)
    headline = f"{schedule} {'is paused' if facts.kind == 'paused' else 'was not delivered'}"
    values = {
        "headline": headline,
        "is_pause": facts.kind == "paused",
        "recipient": clean_header_text(facts.recipient_name, limit=_NAME_LIMIT),
        "workspace": clean_header_text(facts.workspace_title, limit=_NAME_LIMIT),
        "slot": moment_text(slot, facts.zone) if slot else None,
        "code": facts.code,
        "reason": clean_header_text(facts.reason, limit=_REASON_LIMIT),
        "streak": facts.streak,
        "name": facts.schedule_name,
    }
    text = templates().get_template("notice.txt.jinja").render(values)
    html = templates().get_template("notice.html.jinja").render(values)
    return clean_header_text(headline), text, html
