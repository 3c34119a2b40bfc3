"""What every pass asks for is one range of an index, however much history there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.model.ids import slot_key
from queries_orchestration.store import cross_workspace, files_across
from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import (
    claims,
    exports,
    metadata,
    notices,
    occurrences,
    receives,
    schedules,
)
from queries_orchestration_tests.postgres import as_owner
from queries_orchestration_tests.store.valid_rows import SLOT, insert_waiting, set_up, valid_rows

MINUTE = timedelta(minutes=1)
HISTORY = 3_000
OTHER_WAYS = ("seqscan", "bitmapscan", "sort")


def plans(
    database: Database,
    ask: Callable[[Connection], object],
    *read: sa.Table,
    avoided: Sequence[str] = ("seqscan",),
) -> list[str]:
    """Let ``ask`` ask; returns the plan of each of its statements that reads all of the tables.

    The statistics are those of all rows that are there, whenever the server last took its own.

    Args:
        avoided: what PostgreSQL takes only where nothing else serves. With so few rows several
            ways cost as much, and which one is taken would be chance.
    """
    asked: list[tuple[str, Any]] = []
    with Database(as_owner(database.url)).across.transaction() as connection:
        for table in metadata.sorted_tables:
            connection.exec_driver_sql(f"ANALYZE {table.name}")
    with database.across.transaction() as connection:
        if not database.is_sqlite:
            for way in avoided:
                connection.exec_driver_sql(f"SET LOCAL enable_{way} = off")

        def note(*given: Any) -> None:
            asked.append((given[2], given[3]))

        sa.event.listen(connection, "before_cursor_execute", note)
        ask(connection)
        sa.event.remove(connection, "before_cursor_execute", note)
        word = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
        return [
            "\n".join(
                str(row[-1]) for row in connection.exec_driver_sql(f"{word} {statement}", values)
            )
            for statement, values in asked
            if statement.startswith(("SELECT", "WITH"))
            and all(f" {table.name}" in statement for table in read)
        ]


def uses(plan: str, index: str, table: str) -> bool:
    """Whether a plan reads ``table`` by ``index`` and never as a whole."""
    whole = (f"SCAN {table}\n", f"Seq Scan on {table}")
    # SQLite also calls the reading of a whole index a scan; it searches a range.
    by_index = f"SEARCH {table} USING INDEX {index}" in plan or f"{index} on {table}" in plan
    by_bitmap = f"Bitmap Index Scan on {index}" in plan
    return (by_index or by_bitmap) and not any(text in f"{plan}\n" for text in whole)


def insert_schedules(database: Database, rows: list[dict[str, Any]]) -> None:
    """Insert schedules, each with its changes to the valid row."""
    common = valid_rows("acme")["schedules"]
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        connection.execute(sa.delete(schedules))
        connection.execute(
            sa.insert(schedules),
            [
                common | {"state": "active", "pause_code": None, "name": row["id"]} | row
                for row in rows
            ],
        )


def due(database: Database, limit: int = 50) -> list[str]:
    with database.across.read() as connection:
        found = cross_workspace.due_schedules(connection, SLOT, limit=limit)
    return [schedule.id for schedule in found]


def test_the_longest_due_come_first_and_no_other_at_all(database: Database) -> None:
    paused = {"state": "paused", "pause_code": "five_failures", "next_slot": None}
    insert_schedules(
        database,
        [
            {"id": "c", "next_slot": SLOT - MINUTE},
            {"id": "now", "next_slot": SLOT},
            {"id": "soon", "next_slot": SLOT + timedelta(microseconds=1)},
            {"id": "longest", "next_slot": SLOT - timedelta(days=400)},
            {"id": "a", "next_slot": SLOT - MINUTE},
            {"id": "paused", **paused},
            {"id": "ended", "state": "ended", "next_slot": None},
        ],
    )

    assert due(database) == ["longest", "a", "c", "now"]
    assert due(database, limit=2) == ["longest", "a"]


def test_the_due_scan_uses_its_index(database: Database) -> None:
    insert_schedules(
        database,
        [
            {"id": str(number), "next_slot": SLOT + (number - 20) * MINUTE}
            if number % 2
            else {"id": str(number), "state": "ended", "next_slot": None}
            for number in range(3_000)
        ],
    )
    assert len(due(database)) == 10

    (plan,) = plans(
        database,
        lambda connection: cross_workspace.due_schedules(connection, SLOT, limit=50),
        schedules,
        avoided=OTHER_WAYS,
    )

    assert is_one_range(plan), plan


def is_one_range(plan: str) -> bool:
    """Whether the due scan reads a range of its index, in the index's order, and nothing else."""
    scan, condition = (
        ("SEARCH schedules USING INDEX ix_schedules_due", "(next_slot")
        if "SEARCH" in plan
        else ("Index Scan using ix_schedules_due on schedules", "Index Cond: (next_slot <= ")
    )
    others = ("SCAN schedules", "Seq Scan", "Bitmap", "Sort", "TEMP B-TREE", "Filter")
    return scan in plan and condition in plan and not any(other in plan for other in others)


def test_a_due_scan_without_its_index_is_seen(database: Database) -> None:
    insert_schedules(database, [{"id": str(number)} for number in range(3_000)])
    owned = Database(as_owner(database.url))

    def scan(connection: Connection) -> None:
        connection.exec_driver_sql("DROP INDEX ix_schedules_due")
        cross_workspace.due_schedules(connection, SLOT, limit=50)

    (plan,) = plans(owned, scan, schedules, avoided=OTHER_WAYS)
    try:
        assert not is_one_range(plan), plan
    finally:
        schedules_index = next(one for one in schedules.indexes if one.name == "ix_schedules_due")
        with owned.across.transaction() as connection:
            schedules_index.create(connection)


@pytest.fixture
def history(database: Database) -> Database:
    """A store in which thousands of slots are delivered and their files are gone."""
    rows = valid_rows("acme")
    with database.across.transaction() as connection:
        set_up(connection, "acme")
        settled = rows["occurrences"] | {
            "export_id": None,
            "outcome": "delivered",
            "settled_at": SLOT,
        }
        done = rows["claims"] | {"state": "done", "receive_number": 1, "offer_number": 1}
        removed = rows["exports"] | {
            "state": "expired",
            "size": 10,
            "rows": 1,
            "sha256": "0" * 64,
            "completed_at": SLOT,
            "expires_at": SLOT - MINUTE,
            "removed_at": SLOT,
        }
        numbers = range(HISTORY)
        connection.execute(
            sa.insert(occurrences),
            [
                settled | {"key": f"old-{number}", "slot": SLOT - number * MINUTE}
                for number in numbers
            ],
        )
        connection.execute(
            sa.insert(claims), [done | {"key": f"old-{number}"} for number in numbers]
        )
        connection.execute(
            sa.insert(receives),
            [rows["receives"] | {"key": f"old-{number}"} for number in numbers],
        )
        connection.execute(
            sa.insert(exports),
            [
                removed | {"id": f"old-{number}", "storage_key": f"old-{number}"}
                for number in numbers
            ],
        )
    return database


def test_looking_for_what_may_be_offered_reads_what_is_not_done(history: Database) -> None:
    with history.across.transaction() as connection:
        keys = insert_waiting(connection, "acme", 300)[:8]
        insert_waiting(connection, "acme", 12, lane="export")
        # One that waits for an earlier slot after another, as a backfill leaves them.
        backfilled = [
            slot_key("acme-schedule", SLOT + number * MINUTE) for number in range(1, HISTORY)
        ]
        row = valid_rows("acme")["occurrences"] | {"export_id": None, "via": "backfill"}
        claim = valid_rows("acme")["claims"] | {"backfill": True}
        connection.execute(
            sa.insert(occurrences),
            [
                row | {"key": key, "slot": SLOT + number * MINUTE}
                for number, key in enumerate(backfilled, 1)
            ],
        )
        connection.execute(sa.insert(claims), [claim | {"key": key} for key in backfilled])
    offered: list[str] = []

    def offer(connection: Connection) -> None:
        for at_most in (8, None):
            made = cross_workspace.offer_waiting(
                connection, "delivery", live_limit=9, lease=60, at_most=at_most
            )
            offered.extend(one.key for one in made)
            keep_from_all_others(connection)

    found = plans(history, offer, claims, avoided=OTHER_WAYS)

    assert offered == [*keys, backfilled[0]]
    for plan in found:
        for whole in ("SCAN claims", "Seq Scan", "SCAN occurrences", "SCAN this"):
            assert whole not in plan, plan
    # In the order of the indexes, of which LIMIT then reads the beginning.
    assert [plan for plan in found if "ix_claims_waiting" in plan and sorts(plan)] == []
    heads = [plan for plan in found if "ix_occurrences_backfilled" in plan]
    assert len(heads) == 1
    assert not sorts(heads[0]), heads[0]


def keep_from_all_others(connection: Connection) -> None:
    """Let only what a backfill admitted be free to start."""
    others = sa.update(claims).where(
        ~claims.c.backfill, claims.c.state == "waiting", claims.c.lease_until.is_(None)
    )
    connection.execute(others.values(not_before=datetime(2100, 1, 1, tzinfo=UTC)))


def sorts(plan: str) -> bool:
    """Whether rows are put in order that an index did not give in order."""
    return "Sort" in plan or "TEMP B-TREE" in plan


def test_looking_for_live_offers_silence_and_what_waits_reads_what_is_not_done(
    history: Database,
) -> None:
    with history.across.transaction() as connection:
        insert_waiting(connection, "acme", 12)
        cross_workspace.offer_waiting(connection, "delivery", live_limit=9, lease=60)

    def look(connection: Connection) -> None:
        assert len(cross_workspace.live_offers(connection, "delivery", limit=100)) == 9
        assert cross_workspace.silent_receives(connection, silence=60, limit=10) == []
        assert len(cross_workspace.unfinished(connection, silence=60)) == 12

    found = plans(history, look, claims)

    assert len(found) == 3
    for plan, index in zip(found, ("offered", "unfinished", "unfinished"), strict=True):
        assert f"ix_claims_{index}" in plan, plan
        assert "Seq Scan on claims" not in plan, plan


def test_looking_for_notices_to_send_reads_what_was_not_concluded(history: Database) -> None:
    row = valid_rows("acme")["notices"]
    done = {"state": "sent", "concluded_at": SLOT}
    with history.across.transaction() as connection:
        connection.execute(
            sa.insert(notices),
            [
                row | done | {"occurrence_key": key, "communication_key": key}
                for key in (f"old-{number}" for number in range(HISTORY - 1))
            ],
        )
        last = f"old-{HISTORY - 1}"
        connection.execute(
            sa.insert(notices).values(row | {"occurrence_key": last, "communication_key": last})
        )
    found: list[str] = []

    def look(connection: Connection) -> None:
        unsent = cross_workspace.unsent_notices(connection, limit=50)
        found.extend(notice.occurrence_key for notice in unsent.records)

    (plan,) = plans(history, look, notices)

    assert found == [last]
    assert uses(plan, "ix_notices_unsent", "notices"), plan


def test_looking_for_files_to_remove_reads_what_is_kept_or_left(history: Database) -> None:
    row = valid_rows("acme")["exports"] | {
        "state": "ready",
        "size": 10,
        "rows": 1,
        "sha256": "0" * 64,
        "completed_at": SLOT,
    }
    with history.across.transaction() as connection:
        connection.execute(
            sa.insert(exports),
            [
                row | {"id": f"{number:02}", "storage_key": str(number), "expires_at": SLOT + at}
                for number, at in enumerate([MINUTE, timedelta(0), -MINUTE, -2 * MINUTE])
            ],
        )
        upload = {"upload_id": "upload", "upload_receive": 1}
        connection.execute(
            sa.insert(exports),
            [
                valid_rows("acme")["exports"] | upload | {"id": state, "storage_key": state} | more
                for state, more in (
                    ("running", {"state": "running", "code": None}),
                    ("failed", {"state": "failed", "code": "worker_lost"}),
                    ("cancelled", {"state": "cancelled", "code": None}),
                )
            ],
        )
    found: list[list[str]] = []

    def look(connection: Connection) -> None:
        due = files_across.files_to_expire(connection, SLOT, limit=50)
        left = files_across.left_behind(connection, limit=50)
        found.extend([export.id for export in exports.records] for exports in (due, left))

    plan, left_plan = plans(history, look, exports)

    assert found == [["03", "02", "01"], ["cancelled", "failed"]]
    assert uses(plan, "ix_exports_kept", "exports"), plan
    assert uses(left_plan, "ix_exports_uploads", "exports"), left_plan
    for sorting in ("Sort", "TEMP B-TREE"):
        assert sorting not in plan, plan
