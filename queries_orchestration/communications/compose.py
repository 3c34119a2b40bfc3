"""What a delivery's message says: subject, text and HTML of one message for one recipient."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from queries_orchestration.communications.interface import clean_header_text
from queries_orchestration.model.formats import SourceKind

if TYPE_CHECKING:
    from jinja2 import Environment

_NAME_LIMIT = 120  # two names and a time stay within a subject
_CHANGED: Final[dict[SourceKind, str]] = {
    "query": "The query has changed since this schedule was set up; this file is by its version of"
    " then.",
    "report": "The report has changed since this schedule was set up; this is its present version.",
}
_FORMAT_NAMES = {"csv": "CSV", "xlsx": "Excel workbook", "pdf": "PDF"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFacts:
    """What is to be told about one delivery to one recipient.

    Args:
        workspace_title: who sends it.
        source_title: the saved query or report.
        zone: IANA name of the schedule's time zone; all times are shown in it.
        slot: the aware moment the occurrence stands for; None for run now.
        rows: rows in the file; None where the number says nothing, as in a report.
        size_bytes: size of the file.
        format: ``csv``, ``xlsx`` …
        link_expires_at: aware.
        source_kind: ``query`` is delivered in the version of the set-up, ``report`` in the current.
        source_changed: whether the source has a newer version than at the set-up.
        missed_note: a sentence about older slots that were missed.
    """

    workspace_title: str
    schedule_title: str
    source_title: str
    recipient_name: str
    zone: str
    slot: datetime | None
    rows: int | None
    size_bytes: int
    format: str
    link_url: str = field(repr=False)
    link_expires_at: datetime
    source_kind: SourceKind = "query"
    source_changed: bool = False
    missed_note: str | None = None

    def __post_init__(self) -> None:
        for moment in (self.slot, self.link_expires_at):
            if moment is not None and moment.utcoffset() is None:
                raise ValueError("a message's times are aware")


def compose(facts: MessageFacts) -> tuple[str, str, str]:
    """Subject, text and HTML for ``facts``. Titles and names stay plain text, whatever they hold.

    The bodies hold the personal link: nothing may log them.
    """
    zone = ZoneInfo(facts.zone)
    slot = facts.slot.astimezone(zone) if facts.slot else None
    values = {
        "workspace": clean_header_text(facts.workspace_title, limit=_NAME_LIMIT),
        "schedule": clean_header_text(facts.schedule_title, limit=_NAME_LIMIT),
        "source": clean_header_text(facts.source_title, limit=_NAME_LIMIT),
        "recipient": clean_header_text(facts.recipient_name, limit=_NAME_LIMIT),
        "slot": _moment(slot, facts.zone) if slot else None,
        "rows": None if facts.rows is None else f"{facts.rows:,}",
        "size": _size(facts.size_bytes),
        "format": _FORMAT_NAMES.get(facts.format, facts.format.upper()),
        "link": facts.link_url,
        "link_ends": _moment(facts.link_expires_at.astimezone(zone), facts.zone),
        "source_changed": _CHANGED[facts.source_kind] if facts.source_changed else None,
        "missed_note": clean_header_text(facts.missed_note) if facts.missed_note else None,
    }
    when = f"{slot:%Y-%m-%d %H:%M}" if slot else "on request"
    templates = _templates()
    subject = clean_header_text(f"{values['schedule']}, {when}")
    text = templates.get_template("delivery.txt.jinja").render(values)
    html = templates.get_template("delivery.html.jinja").render(values)
    return subject, text, html


@cache
def _templates() -> Environment:
    # Not until something is sent: loading the definitions must stay quick.
    from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

    return Environment(
        loader=PackageLoader("queries_orchestration.communications"),
        autoescape=select_autoescape(disabled_extensions=("txt.jinja",), default=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _moment(local: datetime, zone: str) -> str:
    """``2026-10-25 02:30 Europe/Berlin (UTC+02:00)``: a repeated hour stays unambiguous."""
    return f"{local:%Y-%m-%d %H:%M} {zone} (UTC{local.isoformat()[-6:]})"


def _size(size_bytes: int) -> str:
    """Decimal units, as file managers and mail programs show them."""
    if size_bytes < 1000:
        return f"{size_bytes} bytes"
    size = float(size_bytes)
    for unit in ("kB", "MB"):
        size /= 1000
        if size < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} GB"
