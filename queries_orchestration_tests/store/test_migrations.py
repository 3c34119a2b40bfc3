"""The migrations make exactly the tables that the code knows, and only once."""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import CheckConstraint, Connection, ForeignKeyConstraint, UniqueConstraint
from sqlalchemy.exc import IntegrityError

from queries_orchestration.model.addresses import mailbox_digest, mailbox_key
from queries_orchestration.model.errors import StoreUnavailable
from queries_orchestration.store import (
    deliveries,
    exports,
    migrate,
    outside_addresses,
    unsubscriptions,
    workspaces,
)
from queries_orchestration.store.database import Database
from queries_orchestration.store.migrate import is_current, upgrade
from queries_orchestration.store.tables import metadata
from queries_orchestration_tests.postgres import as_owner
from queries_orchestration_tests.store.valid_rows import SLOT, fill, valid_rows


@pytest.fixture
def fresh(store_url: str) -> Database:
    """A store of the test's own, whose tables it may change."""
    return Database(as_owner(store_url))


def rules_of(connection: Connection) -> dict[str, set[str | None]]:
    """Return the names of the rules that each table of the database has."""
    found = sa.inspect(connection)
    return {
        table: {
            *(rule["name"] for rule in found.get_check_constraints(table)),
            *(rule["name"] for rule in found.get_foreign_keys(table)),
            *(rule["name"] for rule in found.get_unique_constraints(table)),
            found.get_pk_constraint(table)["name"],
        }
        for table in metadata.tables
    }


def test_the_migrated_tables_are_those_of_the_code(database: Database) -> None:
    with database.across.read() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []


def test_the_migrated_rules_are_those_of_the_code(database: Database) -> None:
    kinds = (CheckConstraint, ForeignKeyConstraint, UniqueConstraint)
    with database.across.read() as connection:
        assert rules_of(connection) == {
            table.name: {
                *(str(rule.name) for rule in table.constraints if isinstance(rule, kinds)),
                str(table.primary_key.name),
            }
            for table in metadata.sorted_tables
        }


def test_each_migrated_check_says_the_same_as_the_code(fresh: Database) -> None:
    def checks(connection: Connection) -> dict[str, list[str]]:
        found = sa.inspect(connection)
        return {
            table: sorted(str(check) for check in found.get_check_constraints(table))
            for table in metadata.tables
        }

    with fresh.across.transaction() as connection:
        migrated = checks(connection)
        metadata.drop_all(connection)
        metadata.create_all(connection)
        assert migrated == checks(connection)


def test_a_second_upgrade_changes_nothing(database: Database) -> None:
    with database.across.transaction() as connection:
        fill(connection, "acme")

    upgrade(as_owner(database.url))

    assert is_current(database.url)
    with database.across.read() as connection:
        filled = [
            table.name
            for table in metadata.sorted_tables
            if connection.execute(sa.select(table)).all()
        ]
    assert {*filled, "dispatcher_heartbeats"} == set(metadata.tables)


def test_a_database_is_current_once_it_is_upgraded(database_url: str) -> None:
    assert not is_current(database_url)

    upgrade(database_url)

    assert is_current(database_url)


def test_the_way_back_leaves_nothing_and_can_be_gone_again(fresh: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    with fresh.across.transaction() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "base")

    with fresh.across.read() as connection:
        assert sa.inspect(connection).get_table_names() == ["alembic_version"]
    assert not is_current(fresh.url)
    upgrade(fresh.url)
    assert is_current(fresh.url)


def test_files_of_before_their_record_are_still_there(fresh: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    with fresh.across.transaction() as connection:
        fill(connection, "acme")
        connection.execute(
            sa.text(
                "UPDATE exports SET state = 'ready', size = 1, rows = 2, sha256 = 'x',"
                " completed_at = created_at, expires_at = created_at"
            )
        )
    with fresh.across.transaction() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0002")

    upgrade(fresh.url)

    with fresh.across.read() as connection:
        export = exports.get(connection, "acme", "acme-export")
        workspace = workspaces.get(connection, "acme")
    assert export is not None
    assert (export.state, export.rows) == ("ready", 2)
    assert (export.columns, export.snapshot_at, export.duration_seconds) == (None, None, None)
    assert workspace is not None
    assert (workspace.export_bytes, workspace.statement_seconds) == (None, None)


def test_recipients_who_are_people_are_kept_on_the_way_back_and_again(fresh: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    before = ScriptDirectory.from_config(config).get_revision("0006").down_revision
    assert isinstance(before, str)
    people_only = ("schedule_recipients", "deliveries", "downloads")
    with fresh.across.transaction() as connection:
        fill(connection, "acme")
        fill(connection, "blue")
        rows = {table: rows_of(connection, table) for table in people_only}
        of_outside = {"person_id": None, "outside_id": "acme-outside"}
        new: dict[str, dict[str, Any]] = {
            "schedule_recipients": {"position": 1},
            "deliveries": {
                "recipient_id": "acme-outside",
                "communication_key": "new",
                "link_token_id": "new",
                "message_id": "<new@example.org>",
            },
            "downloads": {"id": "new"},
        }
        for table in people_only:
            row = valid_rows("acme")[table] | of_outside | new[table]
            connection.execute(sa.insert(metadata.tables[table]).values(row))
        rules = rules_of(connection)

    with fresh.across.transaction() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, before)
        counts = {
            table: connection.scalar(sa.text(f"SELECT count(*) FROM {table}"))  # noqa: S608
            for table in people_only
        }
        assert counts == dict.fromkeys(people_only, 2)
    upgrade(fresh.url)

    with fresh.across.read() as connection:
        assert {table: rows_of(connection, table) for table in people_only} == rows
        assert rules_of(connection) == rules


def rows_of(connection: Connection, table: str) -> list[dict[str, object]]:
    """Return all rows of a table, in the order of its key."""
    found = metadata.tables[table]
    rows = connection.execute(sa.select(found).order_by(*found.primary_key))
    return [dict(row._mapping) for row in rows]


def test_who_was_being_sent_to_before_submissions_were_counted_may_have_the_message(
    fresh: Database,
) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    with fresh.across.transaction() as connection:
        fill(connection, "acme")
        fill(connection, "blue")
        connection.execute(
            sa.text(
                "UPDATE deliveries SET state = 'unsent', code = 'communications_unavailable'"
                " WHERE workspace_id = 'blue'"
            )
        )
    with fresh.across.transaction() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0004")

    upgrade(fresh.url)

    with fresh.across.read() as connection:
        (sending,) = deliveries.of_occurrence(connection, "acme", "acme-key")
        (unsent,) = deliveries.of_occurrence(connection, "blue", "blue-key")
    assert (sending.state, sending.unanswered, sending.resubmitted_at) == ("sending", 1, None)
    assert sending.message_id == "<acme@example.org>"
    assert (unsent.state, unsent.code) == ("refused", "communications_unavailable")


def test_mailboxes_are_remembered_and_folded_anew(fresh: Database) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    capitals, final = "\N{GREEK CAPITAL LETTER SIGMA}", "\N{GREEK SMALL LETTER FINAL SIGMA}"
    with fresh.across.transaction() as connection:
        for workspace in ("acme", "blue"):
            fill(connection, workspace)
        connection.execute(
            sa.text("UPDATE people SET address = :address WHERE workspace_id = 'acme'"),
            {"address": f"{final}@e.test"},
        )
        connection.execute(
            sa.text("UPDATE outside_addresses SET address = :address, mailbox = :mailbox"),
            {"address": f"{capitals}{final}@e.test", "mailbox": "stale"},
        )
    with fresh.across.transaction() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0007")

    upgrade(fresh.url)

    with fresh.across.read() as connection:
        (delivery,) = deliveries.of_occurrence(connection, "acme", "acme-key")
        (unwanted,) = unsubscriptions.of_schedule(connection, "acme", "acme-schedule")
        (outside,) = outside_addresses.listing(connection, "blue")
    digest = mailbox_digest("acme", f"{capitals}@e.test")
    assert delivery.mailbox_digest == unwanted.mailbox_digest == digest
    assert outside.mailbox == mailbox_key(f"{capitals}{final}@e.test")


def test_the_trail_keeps_who_backfilled_on_the_way_back_and_its_rules_on_both_ways(
    fresh: Database,
) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    event = valid_rows("acme")["audit_events"] | {"at": SLOT}
    events = [
        event | {"id": "done", "action": "backfill_launched"},
        event
        | {
            "id": "refused",
            "action": "refused",
            "attempted": "backfill_launched",
            "code": "not_found",
        },
    ]
    with fresh.across.transaction() as connection:
        fill(connection, "acme")
        for one in events:
            connection.execute(sa.insert(metadata.tables["audit_events"]).values(one))
    with fresh.across.transaction() as connection:
        config.attributes["connection"] = connection
        command.downgrade(config, "0009")
        told = connection.execute(
            sa.text("SELECT action, attempted FROM audit_events WHERE id IN ('done', 'refused')")
        ).all()
        assert sorted(told) == [("refused", "run_launched"), ("run_launched", None)]
    for ways in range(2):
        with pytest.raises(IntegrityError), fresh.across.transaction() as connection:
            connection.execute(sa.text("UPDATE audit_events SET code = 'other'"))
        with pytest.raises(IntegrityError), fresh.across.transaction() as connection:
            connection.execute(sa.text("DELETE FROM audit_events WHERE id = 'done'"))
        if not ways:
            upgrade(fresh.url)
    assert is_current(fresh.url)


def test_two_processes_that_upgrade_at_once_take_turns(database_url: str) -> None:
    program = (
        "import sys, alembic.command; from queries_orchestration.store.migrate import upgrade;"
        "print(flush=True); sys.stdin.readline(); upgrade(sys.argv[1])"
    )
    children = [
        subprocess.Popen(
            [sys.executable, "-c", program, database_url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    try:
        for child in children:
            assert child.stdout is not None
            child.stdout.readline()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("\n")
            child.stdin.flush()
        assert [child.communicate(timeout=30)[1] for child in children] == ["", ""]
    finally:
        for child in children:
            child.kill()
            child.wait()

    assert [child.returncode for child in children] == [0, 0]
    assert is_current(database_url)


@pytest.mark.parametrize("ask", [upgrade, is_current])
@pytest.mark.parametrize(
    "url", ["postgresql+psycopg2://somebody:secret@127.0.0.1:1/queries", "sqlite:///{folder}"]
)
def test_a_database_out_of_reach_is_told_without_its_address(
    url: str, ask: Callable[[str], object], tmp_path: Path
) -> None:
    with pytest.raises(StoreUnavailable, match="QUERIES_DATABASE_URL") as told:
        ask(url.format(folder=tmp_path))

    text = "".join(traceback.format_exception(told.value))
    assert "secret" not in text
    assert "127.0.0.1" not in text
