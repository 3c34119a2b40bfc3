"""What a delivery's message says: subject, text and HTML of one message for one recipient."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from queries_orchestration.communications import own_templates
from queries_orchestration.communications.interface import clean_header_text
from queries_orchestration.communications.notes import notes_of
from queries_orchestration.model.formats import SourceKind

if TYPE_CHECKING:
    from jinja2 import Environment

_NAME_LIMIT = 120  # two names and a time stay within a subject
_NONE: Final[Mapping[str, str]] = {}
_FORMAT_NAMES = {"csv": "CSV", "xlsx": "Excel workbook", "pdf": "PDF"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFacts:
    """What is to be told about one delivery to one recipient.

    Args:
        workspace_title: who sends it.
        source_title: the saved query or report.
        zone: IANA name of the schedule's time zone; all times are shown in it.
        slot: the aware moment the occurrence stands for; None for run now.
        sent_at: aware; a message long after its slot says so.
        rows: rows in the file; None where the number says nothing, as in a report.
        size_bytes: size of the file.
        format: ``csv``, ``xlsx`` …
        link_expires_at: aware.
        unsubscribe_url: where the recipient ends these messages.
        source_kind: ``query`` is delivered in the version of the set-up, ``report`` in the current.
        source_changed: whether the source has a newer version than at the set-up.
        missed_slots: how many slots right before this one were missed.
        replaced_characters, cut_cells, cut_sections: what the file could not hold, or does not
            show.
    """

    workspace_title: str
    schedule_title: str
    source_title: str
    recipient_name: str
    zone: str
    slot: datetime | None
    sent_at: datetime
    rows: int | None
    size_bytes: int
    format: str
    link_url: str = field(repr=False)
    link_expires_at: datetime
    unsubscribe_url: str = field(repr=False)
    source_kind: SourceKind = "query"
    source_changed: bool = False
    missed_slots: int = 0
    replaced_characters: int = 0
    cut_cells: int = 0
    cut_sections: int = 0

    def __post_init__(self) -> None:
        for moment in (self.slot, self.sent_at, self.link_expires_at):
            if moment is not None and moment.utcoffset() is None:
                raise ValueError("a message's times are aware")


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """A message's words; ``sender_name`` is "" for that of the settings.

    ``failed_parts`` were to be of the workspace's own templates and are the standard ones.
    """

    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)
    sender_name: str = field(repr=False)
    failed_parts: tuple[str, ...]


def compose(facts: MessageFacts, own: Mapping[str, str] = _NONE) -> Composed:
    """Say ``facts``. Titles and names stay plain text, whatever they hold.

    The bodies hold the personal link: nothing may log them.

    Args:
        own: the workspace's own templates by part; one that cannot be used is left out.
    """
    zone = ZoneInfo(facts.zone)
    slot = facts.slot.astimezone(zone) if facts.slot else None
    values = {
        "workspace": clean_header_text(facts.workspace_title, limit=_NAME_LIMIT),
        "schedule": clean_header_text(facts.schedule_title, limit=_NAME_LIMIT),
        "source": clean_header_text(facts.source_title, limit=_NAME_LIMIT),
        "recipient": clean_header_text(facts.recipient_name, limit=_NAME_LIMIT) or None,
        "slot": moment_text(slot, facts.zone) if slot else None,
        "rows": None if facts.rows is None else f"{facts.rows:,}",
        "size": _size(facts.size_bytes),
        "format": _FORMAT_NAMES.get(facts.format, facts.format.upper()),
        "link_ends": moment_text(facts.link_expires_at.astimezone(zone), facts.zone),
    }
    when = f"{slot:%Y-%m-%d %H:%M}" if slot else "on request"
    parts = {
        "sender_name": "",
        "subject": f"{values['schedule']}, {when}",
        "greeting": f"Hello {values['recipient']}," if values["recipient"] else "",
        "intro": f"{values['schedule']} is ready",
        "footer": f"{values['workspace']}",
    }
    failed: list[str] = []
    for part in own_templates.PARTS:
        if part not in own:
            continue
        try:
            parts[part] = own_templates.render(part, own[part], values)
        except own_templates.InvalidTemplate:
            failed.append(part)
    heading, _, paragraphs = parts["intro"].partition("\n")
    words = values | {
        "greeting": parts["greeting"],
        "heading": heading,
        "paragraphs": paragraphs.splitlines(),
        "footer": parts["footer"].splitlines(),
        "link": facts.link_url,
        "unsubscribe": facts.unsubscribe_url,
        "notes": notes_of(facts),
    }
    return Composed(
        subject=clean_header_text(parts["subject"]),
        text=templates().get_template("delivery.txt.jinja").render(words),
        html=templates().get_template("delivery.html.jinja").render(words),
        sender_name=parts["sender_name"],
        failed_parts=tuple(failed),
    )


@cache
def templates() -> Environment:
    """Return the set of templates that every message is made of."""
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


def moment_text(local: datetime, zone: str) -> str:
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
