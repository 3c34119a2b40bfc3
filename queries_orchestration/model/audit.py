"""The audit trail: who asked for what, by what way, and what was refused.

It holds ids and codes alone: no values, no addresses, no words of a person. A reason that somebody
gave stays where it belongs, in the schedule or the history.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, get_args

from queries_orchestration.model.errors import ACCESS_CODES, Refused
from queries_orchestration.model.ids import is_id, new_id

Via = Literal["command", "api", "page", "dagster-ui", "link", "system"]
Action = Literal[
    "export_asked",
    "export_cancelled",
    "file_downloaded",
    "schedule_created",
    "schedule_changed",
    "schedule_paused",
    "schedule_resumed",
    "schedule_repinned",
    "schedule_transferred",
    "schedule_deleted",
    "run_launched",
    "test_launched",
    "resend_launched",
    "backfill_launched",
    "catalog_applied",
    "unsubscribed",
    "resubscribed",
    "dispatch_stopped",
    "dispatch_started",
    "person_erased",
    "refused",
]
SubjectKind = Literal["workspace", "schedule", "occurrence", "source", "export"]

WAYS: Final[tuple[Via, ...]] = get_args(Via)
ACTIONS: Final[tuple[Action, ...]] = get_args(Action)
SUBJECT_KINDS: Final[tuple[SubjectKind, ...]] = get_args(SubjectKind)

NOT_ALLOWED: Final = "not_allowed"
"""The code of a refusal that hides nothing: who asks knows that it is there."""
DENIALS: Final = ACCESS_CODES | {"not_found", NOT_ALLOWED}
"""The codes by which somebody is refused for lack of authority or access.

``not_found`` is one, since what is foreign and what is unknown have the same answer.
"""

_KEY: Final = re.compile(r"([a-z2-7]{26})(@\d{8}T\d{6}Z|![a-z2-7]{26})")


@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who asks, and by what way.

    Nobody is named where whoever runs the installation asks at its command line, and where the
    system itself acts. A ``link`` is opened by a person or by an outside address.
    """

    via: Via
    person_id: str | None = None
    outside_id: str | None = None

    def __post_init__(self) -> None:
        """Raise ValueError if nobody can ask by this way so."""
        person, outside = self.person_id is not None, self.outside_id is not None
        possible = {
            "system": not person and not outside,
            "link": person != outside,
            "command": not outside,
        }.get(self.via, person and not outside)
        if not possible:
            raise ValueError(f"nobody asks so via {self.via}")

    @property
    def governs_all(self) -> bool:
        """Whether it is the operator or the system, who need no person's authority."""
        return self.person_id is None and self.outside_id is None

    def as_person(self) -> str:
        """Return the id of the person who asks.

        Raises:
            Refused: it is no person (``person_required``): this is done with a person's access.
        """
        if self.person_id is None:
            raise Refused("Say as whom: it is done with a person's access.", code="person_required")
        return self.person_id


SYSTEM: Final = By(via="system")
OPERATOR: Final = By(via="command")
"""Whoever runs the installation: of no workspace."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What an event is about; ``id`` is None where there is nothing that has one."""

    kind: SubjectKind
    id: str | None

    @classmethod
    def asked(cls, kind: SubjectKind, text: str) -> Subject:
        """Return what somebody asked for by ``text``, which may be anything.

        What is no id of ours, or no key of an occurrence, is not kept.
        """
        is_ours = _KEY.fullmatch(text) if kind == "occurrence" else is_id(text)
        return cls(kind, text if is_ours else None)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEvent:
    """One thing that somebody did or was refused, at a calendar instant.

    ``code`` is that of a refusal or of an automatic pause, ``attempted`` what was refused.
    ``concerns_id`` is whom it concerns beside who asked: the person or outside address whose
    messages end or go on, or who was erased; the new owner of a schedule.
    """

    workspace_id: str
    id: str = field(default_factory=new_id)
    at: datetime
    by: By
    action: Action
    subject: Subject
    concerns_id: str | None = None
    code: str | None = None
    attempted: Action | None = None
