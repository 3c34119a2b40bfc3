"""The database itself refuses a row that breaks a rule, whoever writes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import CheckConstraint, ForeignKeyConstraint
from sqlalchemy.exc import IntegrityError

from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import metadata
from queries_orchestration_tests.store.spoiled_rows import (
    DONE,
    FINISHED,
    GOOD_EVENTS,
    PAUSED,
    SETTLED,
    SPOILED,
    SPOILED_EVENTS,
    TO_OUTSIDE,
)
from queries_orchestration_tests.store.valid_rows import SLOT, fill, valid_rows

FOREIGN_KEYS = {
    str(rule.name): rule
    for table in metadata.sorted_tables
    for rule in table.constraints
    if isinstance(rule, ForeignKeyConstraint) and len(rule.columns) > 1
}
"""Those that point to a row of a workspace."""

DUPLICATES: list[tuple[str, dict[str, Any], str]] = [
    ("workspaces", {"id": "other"}, "uq_workspaces_name"),
    ("people", {"id": "other"}, "uq_people_workspace_id_name"),
    ("connections", {"id": "other"}, "uq_connections_workspace_id_name"),
    ("datasets", {"id": "other"}, "uq_datasets_workspace_id_name"),
    ("sources", {"id": "other"}, "uq_sources_workspace_id_name"),
    ("source_versions", {}, "pk_source_versions"),
    ("report_queries", {}, "pk_report_queries"),
    ("schedules", {"id": "other"}, "uq_schedules_workspace_id_name"),
    ("groups", {"id": "other"}, "uq_groups_workspace_id_name"),
    ("group_members", {"position": 1}, "pk_group_members"),
    ("outside_addresses", {"id": "other"}, "uq_outside_addresses_workspace_id_mailbox"),
    (
        "schedule_recipients",
        {"position": 1},
        "uq_schedule_recipients_workspace_id_schedule_id_person_id",
    ),
    ("unsubscriptions", {}, "pk_unsubscriptions"),
    ("exports", {"id": "other"}, "uq_exports_storage_key"),
    ("requests", {}, "pk_requests"),
    ("occurrences", {"key": "other"}, "uq_occurrences_workspace_id_schedule_id_slot"),
    ("offers", {}, "pk_offers"),
    ("receives", {"run_id": "other"}, "pk_receives"),
    (
        "deliveries",
        {"communication_key": "other", "link_token_id": "other", "message_id": "other"},
        "pk_deliveries",
    ),
    ("message_states", {"code": "other"}, "pk_message_states"),
    ("downloads", {}, "pk_downloads"),
    ("counters", {"value": 2}, "pk_counters"),
    ("dispatch_stops", {}, "pk_dispatch_stops"),
    ("resends", {"resend_key": "other"}, "pk_resends"),
    ("resends", {"number": 2}, "uq_resends_workspace_id_resend_key"),
    ("schedule_transfers", {}, "pk_schedule_transfers"),
    ("notices", {"communication_key": "other"}, "pk_notices"),
    ("notices", {"kind": "first_failure"}, "uq_notices_communication_key"),
    ("monthly_deliveries", {"occurrences": 2}, "pk_monthly_deliveries"),
    ("monthly_exports", {"exports": 2}, "pk_monthly_exports"),
]
"""Table, what differs from the row that is there, and the key that must refuse it."""

NEW: dict[str, dict[str, Any]] = {
    "datasets": {"id": "new", "name": "new"},
    "source_versions": {"version": 2},
    "schedules": {"id": "new", "name": "new"},
    "group_members": {"position": 1},
    "schedule_recipients": {"position": 1},
    "exports": {"id": "new", "storage_key": "new"},
    "occurrences": {"key": "new", "slot": SLOT.replace(day=5)},
    "deliveries": {"communication_key": "new", "link_token_id": "new", "message_id": "new"},
    "message_states": {"state": "delivered"},
    "downloads": {"id": "new"},
    "resends": {"number": 2, "resend_key": "new"},
    "schedule_transfers": {"id": "new"},
    "notices": {"kind": "first_failure", "communication_key": "new"},
    "monthly_deliveries": {"outcome": "failed"},
    "monthly_exports": {"state": "failed"},
}
"""What makes a second row of a table new, as far as a foreign key does not."""

IN_ANOTHER_WORKSPACE: list[tuple[str, dict[str, Any], str]] = [
    ("exports", {"id": "other", "storage_key": "acme/acme-export.csv"}, "uq_exports_storage_key"),
    ("occurrences", {"key": "acme-key", "slot": SLOT.replace(day=5)}, "uq_occurrences_key"),
    ("claims", {"key": "acme-key"}, "uq_claims_key"),
]
"""The same for rows of the workspace ``blue``: keys that are unique over all workspaces."""


@pytest.fixture(scope="module")
def filled(shared_url: str, empty: Callable[[str], Database]) -> Database:
    """A store with a valid row in every table for two workspaces; nothing here changes it."""
    database = empty(shared_url)
    with database.across.transaction() as connection:
        fill(connection, "acme")
        fill(connection, "blue")
    return database


def refused_update(database: Database, table: str, changes: dict[str, Any]) -> str:
    """Change acme's row of ``table``; returns the rule that refused it."""
    changed = metadata.tables[table]
    with pytest.raises(IntegrityError) as refused, database.across.transaction() as connection:
        connection.execute(sa.update(changed).where(*of_acme(changed)).values(changes))
    return broken_rule(refused.value)


def of_acme(table: sa.Table) -> list[sa.ColumnElement[bool]]:
    """Return the conditions by which acme's valid row of a table is found."""
    row = valid_rows("acme")[table.name]
    return [column == row[column.name] for column in table.primary_key]


def refused_insert(database: Database, table: str, row: dict[str, Any]) -> str:
    """Insert a row; returns the rule that refused it."""
    with pytest.raises(IntegrityError) as refused, database.across.transaction() as connection:
        connection.execute(sa.insert(metadata.tables[table]).values(row))
    return broken_rule(refused.value)


def broken_rule(error: IntegrityError) -> str:
    """Return the name of the broken rule; SQLite names a key by its columns."""
    diagnosis = getattr(error.orig, "diag", None)
    if diagnosis is not None:
        return str(diagnosis.constraint_name)
    kind, _, rule = str(error.orig).partition(" constraint failed")
    rule = rule.removeprefix(": ")
    if kind != "UNIQUE":
        return rule or kind
    table, columns = rule.split(".")[0], [part.split(".")[1] for part in rule.split(", ")]
    if columns == [column.name for column in metadata.tables[table].primary_key]:
        return f"pk_{table}"
    return "_".join(["uq", table, *columns])


def test_every_table_has_a_valid_row_here() -> None:
    assert {*valid_rows("acme"), "dispatcher_heartbeats"} == set(metadata.tables)


@pytest.mark.parametrize(("table", "changes", "check"), SPOILED)
def test_a_row_that_breaks_a_rule_is_refused(
    filled: Database, table: str, changes: dict[str, Any], check: str
) -> None:
    assert refused_update(filled, table, changes) == f"ck_{table}_{check}"


def test_every_check_of_the_tables_has_a_row_that_breaks_it() -> None:
    checks = {
        str(rule.name)
        for table in metadata.sorted_tables
        for rule in table.constraints
        if isinstance(rule, CheckConstraint)
    }
    broken = {f"ck_{table}_{check}" for table, _, check in SPOILED}
    assert broken | {f"ck_audit_events_{check}" for _, check in SPOILED_EVENTS} == checks


@pytest.mark.parametrize(("changes", "check"), SPOILED_EVENTS)
def test_an_event_that_breaks_a_rule_is_refused(
    filled: Database, changes: dict[str, Any], check: str
) -> None:
    event = valid_rows("acme")["audit_events"] | {"id": "new"} | changes
    assert refused_insert(filled, "audit_events", event) == f"ck_audit_events_{check}"


@pytest.mark.parametrize("changes", GOOD_EVENTS)
def test_an_event_that_keeps_the_rules_is_taken(filled: Database, changes: dict[str, Any]) -> None:
    event = valid_rows("acme")["audit_events"] | {"id": "new"} | changes
    with filled.across.transaction() as connection, connection.begin_nested() as attempt:
        connection.execute(sa.insert(metadata.tables["audit_events"]).values(event))
        attempt.rollback()


@pytest.mark.parametrize(
    ("table", "changes"),
    [
        ("schedules", PAUSED),
        ("schedules", {"state": "ended", "next_slot": None}),
        ("exports", FINISHED),
        ("exports", {"state": "failed", "code": "source_broken"}),
        ("exports", {"upload_id": "upload", "upload_receive": 1}),
        ("exports", {"client_key": "click", "asked_sha256": "0" * 64}),
        ("exports", FINISHED | {"columns": [{"label": "One", "type": "text"}]}),
        ("occurrences", {"slot": None, "requested_by": "acme-person"}),
        ("claims", {"state": "running", "heartbeat_at": SLOT, "receive_number": 3}),
        ("claims", {"offer_number": 9, "lease_until": SLOT}),
        ("claims", DONE),
        ("occurrences", SETTLED),
        ("occurrences", SETTLED | {"outcome": "failed", "code": "worker_lost"}),
        ("offers", {"state": "lost", "ended_at": SLOT}),
        ("receives", {"number": 3}),
        ("deliveries", {"state": "skipped", "code": "inactive", "link_token_id": None}),
        ("deliveries", TO_OUTSIDE),
        ("unsubscriptions", TO_OUTSIDE),
        ("downloads", {"person_id": None, "outside_id": "acme-outside"}),
        ("people", {"active": False, "left_workspace": True}),
        ("outside_addresses", {"address": None, "mailbox": None}),
        ("schedule_recipients", {"person_id": None, "group_id": "acme-group"}),
        ("schedule_recipients", {"person_id": None, "outside_id": "acme-outside"}),
        ("deliveries", {"state": "unsent", "code": "communications_unavailable"}),
        ("deliveries", {"unanswered": 2, "resubmitted_at": SLOT}),
        ("notices", {"state": "sent", "concluded_at": SLOT}),
        ("notices", {"state": "skipped", "outcome_code": "inactive", "concluded_at": SLOT}),
    ],
)
def test_a_row_that_keeps_the_rules_is_taken(
    filled: Database, table: str, changes: dict[str, Any]
) -> None:
    changed = metadata.tables[table]
    with filled.across.transaction() as connection, connection.begin_nested() as attempt:
        done = connection.execute(sa.update(changed).where(*of_acme(changed)).values(changes))
        assert done.rowcount == 1
        attempt.rollback()


@pytest.mark.parametrize(("table", "changes", "key"), DUPLICATES)
def test_a_second_row_under_the_same_key_is_refused(
    filled: Database, table: str, changes: dict[str, Any], key: str
) -> None:
    assert refused_insert(filled, table, valid_rows("acme")[table] | changes) == key


@pytest.mark.parametrize(("table", "changes", "key"), IN_ANOTHER_WORKSPACE)
def test_keys_of_files_and_work_are_unique_over_all_workspaces(
    filled: Database, table: str, changes: dict[str, Any], key: str
) -> None:
    assert refused_insert(filled, table, valid_rows("blue")[table] | changes) == key


def test_a_click_of_a_person_is_queued_once(filled: Database) -> None:
    asked = {"client_key": "click", "asked_sha256": "0" * 64}
    table = metadata.tables["exports"]
    rows = [
        valid_rows(workspace)["exports"] | asked | {"id": name, "storage_key": name}
        for workspace, name in (("acme", "one"), ("blue", "two"), ("acme", "three"))
    ]
    with filled.across.transaction() as connection, connection.begin_nested() as attempt:
        for row in rows[:2]:  # another workspace's click is another one
            connection.execute(sa.insert(table).values(row))
        with pytest.raises(IntegrityError) as refused:
            connection.execute(sa.insert(table).values(rows[2]))
        attempt.rollback()
    assert broken_rule(refused.value) in (
        "ux_exports_client_key",
        "uq_exports_workspace_id_actor_id_client_key",
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"communication_key": "blue-key.blue-person"},
        {"link_token_id": "blue-token"},
        {"message_id": "<blue@example.org>"},
    ],
)
def test_a_message_and_a_link_belong_to_one_delivery(
    filled: Database, changes: dict[str, Any]
) -> None:
    (column,) = changes
    assert refused_update(filled, "deliveries", changes) == f"uq_deliveries_{column}"


def test_a_request_has_the_purpose_of_its_export(filled: Database) -> None:
    rule = refused_update(filled, "requests", {"purpose": "interactive"})
    assert rule in ("fk_requests_workspace_id_export_id_purpose", "FOREIGN KEY")


def test_a_claim_is_of_a_workspace(filled: Database) -> None:
    row = valid_rows("nobody")["claims"]
    assert refused_insert(filled, "claims", row) in ("fk_claims_workspace_id", "FOREIGN KEY")


def test_two_recipients_do_not_share_a_position(filled: Database) -> None:
    person = valid_rows("acme")["people"] | {"id": "other", "name": "other"}
    recipient = valid_rows("acme")["schedule_recipients"] | {"person_id": "other"}
    with filled.across.transaction() as connection, connection.begin_nested() as attempt:
        connection.execute(sa.insert(metadata.tables["people"]).values(person))
        with pytest.raises(IntegrityError) as refused:
            connection.execute(sa.insert(metadata.tables["schedule_recipients"]).values(recipient))
        attempt.rollback()
    assert broken_rule(refused.value) == "pk_schedule_recipients"


@pytest.mark.parametrize("name", sorted(FOREIGN_KEYS))  # a table keeps its rules in a set
def test_no_row_points_into_another_workspace(filled: Database, name: str) -> None:
    rule = FOREIGN_KEYS[name]
    theirs = valid_rows("blue")
    changes: dict[str, Any] = {
        element.parent.name: theirs[element.column.table.name][element.column.name]
        for element in rule.elements
        if element.parent.name != "workspace_id"
    }
    if "requested_by" in changes:
        changes["slot"] = None  # a person asked for it, so that no slot did
    # A row is of one recipient.
    if "person_id" in changes or {"group_id", "outside_id"} & set(changes):
        others = {"person_id", "group_id", "outside_id"} & set(rule.table.c.keys()) - set(changes)
        if "outside_id" in rule.table.c:
            changes |= dict.fromkeys(others)
        if "recipient_id" in rule.table.c:
            changes["recipient_id"] = changes["outside_id"] or changes["person_id"]
    row = valid_rows("acme")[rule.table.name] | NEW.get(rule.table.name, {}) | changes

    assert refused_insert(filled, rule.table.name, row) in (name, "FOREIGN KEY")


def test_every_foreign_key_carries_the_workspace() -> None:
    for table in metadata.sorted_tables:
        for rule in table.constraints:
            if isinstance(rule, ForeignKeyConstraint):
                assert rule.column_keys[0] == "workspace_id", rule.name
        if table.name not in ("workspaces", "counters", "dispatch_stops", "dispatcher_heartbeats"):
            assert not table.c.workspace_id.nullable
            assert any(isinstance(rule, ForeignKeyConstraint) for rule in table.constraints)
