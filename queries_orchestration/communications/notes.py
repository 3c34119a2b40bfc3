"""What a reader must be told beside the file: that it is late, old, or not all there is."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Final

from queries_orchestration.model.formats import SourceKind

if TYPE_CHECKING:
    from queries_orchestration.communications.compose import MessageFacts

LATE: Final = timedelta(minutes=30)
"""How long after its slot a message is sent without a word about it."""

_CHANGED: Final[dict[SourceKind, str]] = {
    "query": "The query has changed since this schedule was set up; this file is by its version of"
    " then.",
    "report": "The report has changed since this schedule was set up; this is its present version.",
}


def notes_of(facts: MessageFacts) -> list[str]:
    """Return the notes about a delivery, a sentence or two each; mostly none."""
    told: list[str] = []
    if facts.slot is not None and facts.sent_at - facts.slot > LATE:
        told.append(f"This comes {_duration(facts.sent_at - facts.slot)} after its time.")
    if facts.missed_slots == 1:
        told.append("The delivery before this one was missed.")
    elif facts.missed_slots:
        told.append(f"The {facts.missed_slots:,} deliveries before this one were missed.")
    if facts.source_changed:
        told.append(_CHANGED[facts.source_kind])
    if facts.cut_sections:
        told.append(
            f"{_counted(facts.cut_sections, 'section shows', 'sections show')} less than there is;"
            " the file says where."
        )
    if facts.cut_cells:
        told.append(
            f"{_counted(facts.cut_cells, 'text was', 'texts were')} too long for a cell and cut;"
            " the file says where."
        )
    if facts.replaced_characters:
        told.append(
            f"{_counted(facts.replaced_characters, 'character', 'characters')} that the file's"
            " format cannot hold became \N{REPLACEMENT CHARACTER}."
        )
    return told


def _counted(count: int, one: str, several: str) -> str:
    return f"{count:,} {one if count == 1 else several}"


def _duration(time: timedelta) -> str:
    """Return whole days, hours or minutes: the largest of which there are two, or minutes."""
    minutes = int(time.total_seconds() // 60)
    if minutes >= 2 * 24 * 60:
        return f"{minutes // (24 * 60):,} days"
    return f"{minutes // 60} hours" if minutes >= 2 * 60 else f"{minutes} minutes"
