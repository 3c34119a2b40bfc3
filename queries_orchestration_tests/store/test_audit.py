"""The audit trail is only added to, and read from the newest back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.exc import IntegrityError

from queries_orchestration.model.audit import (
    OPERATOR,
    SYSTEM,
    AuditEvent,
    By,
    Subject,
)
from queries_orchestration.model.errors import AccessLost, NotFound, QueriesError, Refused
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import audit
from queries_orchestration.store.database import Database
from queries_orchestration.store.refusals import record_refusal, refusals_recorded
from queries_orchestration.store.tables import audit_events
from queries_orchestration_tests.postgres import as_owner
from queries_orchestration_tests.store.valid_rows import SLOT, fill, valid_rows

YOUNG = datetime.now(UTC) - timedelta(days=364)
OLD = datetime.now(UTC) - timedelta(days=366)
ADA = new_id()
LAUNCHED = Subject("schedule", new_id())


@pytest.fixture
def filled(database: Database) -> Database:
    """Two workspaces whose trails are empty."""
    with database.across.transaction() as connection:
        fill(connection, "acme")
        fill(connection, "blue")
        connection.execute(sa.delete(audit_events))  # they are of long ago
    return database


def event(**changes: Any) -> AuditEvent:
    common: dict[str, Any] = {
        "workspace_id": "acme",
        "at": SLOT,
        "by": By(via="api", person_id=ADA),
        "action": "run_launched",
        "subject": LAUNCHED,
    }
    return AuditEvent(**(common | changes))


def record(database: Database, *events: AuditEvent) -> None:
    with database.across.transaction() as connection:
        for one in events:
            audit.record(connection, one)


def listing(database: Database, **options: Any) -> list[AuditEvent]:
    with database.across.read() as connection:
        return audit.listing(connection, "acme", **({"limit": 100} | options))


def test_events_are_read_as_they_were_recorded(filled: Database) -> None:
    events = [
        event(),
        event(by=SYSTEM, action="schedule_paused", code="five_failures"),
        event(by=OPERATOR, action="catalog_applied", subject=Subject("workspace", "acme")),
        event(by=By(via="link", outside_id=new_id()), action="file_downloaded"),
        event(action="schedule_transferred", concerns_id=new_id()),
        event(
            action="refused",
            attempted="export_asked",
            code="not_found",
            subject=Subject("source", None),
        ),
    ]
    record(filled, *events)

    assert sorted(listing(filled), key=lambda one: one.id) == sorted(events, key=lambda one: one.id)


def test_the_newest_come_first_and_a_reader_goes_on_from_a_place(filled: Database) -> None:
    # Three of one instant: the place tells them apart.
    events = [event(at=SLOT + timedelta(hours=number // 3)) for number in range(9)]
    record(filled, *events, event(workspace_id="blue"))
    expected = sorted(events, key=lambda one: (one.at, one.id), reverse=True)

    pages = []
    before = None
    while page := listing(filled, before=before, limit=2):
        pages.append(page)
        before = audit.place_of(page[-1])

    assert [one for page in pages for one in page] == expected
    assert [len(page) for page in pages] == [2, 2, 2, 2, 1]


def test_the_events_of_one_subject_alone(filled: Database) -> None:
    other = event(subject=Subject("schedule", new_id()))
    of_it = [event(), event(at=SLOT + timedelta(days=1))]
    record(filled, *of_it, other, event(subject=Subject("export", LAUNCHED.id)))

    assert listing(filled, subject=LAUNCHED) == of_it[::-1]
    assert listing(filled, subject=LAUNCHED, before=audit.place_of(of_it[1])) == of_it[:1]


@pytest.mark.parametrize("at", [YOUNG, OLD, SLOT])
@pytest.mark.parametrize("changes", [{"code": "other"}, {"at": OLD}, {"person_id": None}])
def test_the_database_lets_nobody_change_an_event(
    filled: Database, at: datetime, changes: dict[str, Any]
) -> None:
    record(filled, event(at=at))
    before = listing(filled)

    with pytest.raises(IntegrityError), filled.across.transaction() as connection:
        connection.execute(sa.update(audit_events).values(changes))

    assert listing(filled) == before


@pytest.mark.parametrize("at", [YOUNG, SLOT])
def test_the_database_lets_nobody_delete_an_event_of_a_year(filled: Database, at: datetime) -> None:
    record(filled, event(at=at))

    with pytest.raises(IntegrityError), filled.across.transaction() as connection:
        connection.execute(sa.delete(audit_events))

    assert len(listing(filled)) == 1


def test_what_is_older_than_a_year_may_be_deleted_and_nothing_else(filled: Database) -> None:
    young = event(at=YOUNG)
    record(filled, event(at=OLD), young)

    with filled.across.transaction() as connection:
        connection.execute(sa.delete(audit_events).where(audit_events.c.at < YOUNG))

    assert listing(filled) == [young]


@pytest.mark.parametrize("at", [YOUNG, OLD])
def test_an_event_is_not_written_over(filled: Database, at: datetime) -> None:
    one = event(at=at)
    record(filled, one)
    row = valid_rows("acme")["audit_events"] | {"id": one.id}

    words = "OR REPLACE" if filled.is_sqlite else ""
    with pytest.raises(IntegrityError), filled.across.transaction() as connection:
        connection.execute(sa.insert(audit_events).prefix_with(words).values(row))
    if not filled.is_sqlite:
        # Not by who owns the table, either.
        owned = Database(as_owner(filled.url))
        with pytest.raises(IntegrityError), owned.across.transaction() as connection:
            connection.execute(sa.text("TRUNCATE audit_events"))

    assert listing(filled) == [one]


@pytest.mark.parametrize(
    ("refusal", "recorded"),
    [
        (NotFound("There is no such schedule."), True),
        (AccessLost("You may not see it."), True),
        (AccessLost("You are gone.", code="actor_inactive"), True),
        (Refused("No.", code="not_allowed"), True),
        (Refused("It has ended.", code="schedule_ended"), False),
    ],
)
def test_a_refusal_for_lack_of_authority_or_access_is_recorded_and_told(
    filled: Database, refusal: QueriesError, recorded: bool
) -> None:
    with pytest.raises(type(refusal)) as told, _recorded(filled):
        raise refusal

    assert told.value is refusal
    assert [(one.action, one.attempted, one.code, one.at) for one in listing(filled)] == (
        [("refused", "run_launched", refusal.code, SLOT)] if recorded else []
    )


@pytest.mark.parametrize("workspace", ["acme", "nowhere"])
def test_a_refusal_that_cannot_be_recorded_is_still_told(
    filled: Database,
    caplog: pytest.LogCaptureFixture,
    workspace: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    database = filled
    if workspace == "acme":  # the store is down
        folder = tmp_path_factory.mktemp("down")
        database = Database(f"sqlite:///{folder}")
    caplog.set_level(logging.WARNING)

    with pytest.raises(NotFound, match="no such schedule"), _recorded(database, workspace):
        raise NotFound("There is no such schedule.")

    (line,) = caplog.messages
    assert line.startswith("refusal_not_recorded attempted=run_launched reason=")
    assert ADA not in line


@pytest.mark.parametrize("text", ["eve@example.org", "x" * 500, ""])
def test_texts_of_somebody_reach_no_event(filled: Database, text: str) -> None:
    for person_id, subject in ((text, LAUNCHED), (ADA, Subject.asked("schedule", text))):
        record_refusal(
            filled,
            "acme",
            by=By(via="api", person_id=person_id),
            attempted="run_launched",
            subject=subject,
            code="not_found",
            clock=lambda: SLOT,
        )

    assert [(one.by.person_id, one.subject) for one in listing(filled)] == [
        (ADA, Subject("schedule", None))
    ]


def _recorded(database: Database, workspace: str = "acme") -> Any:
    clock: Callable[[], datetime] = lambda: SLOT  # noqa: E731
    return refusals_recorded(
        database,
        workspace,
        by=By(via="api", person_id=ADA),
        attempted="run_launched",
        subject=LAUNCHED,
        clock=clock,
    )
