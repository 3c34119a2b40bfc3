"""The due scan reads one range of its index, however many schedules there are."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from queries_orchestration.store import cross_workspace
from queries_orchestration.store.database import Database
from queries_orchestration.store.tables import schedules
from queries_orchestration_tests.store.valid_rows import SLOT, set_up, valid_rows

MINUTE = timedelta(minutes=1)


def insert_schedules(database: Database, rows: list[dict[str, Any]]) -> None:
    """Insert schedules, each with its changes to the valid row."""
    common = valid_rows("acme")["schedules"]
    with database.transaction() as connection:
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
    with database.read() as connection:
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
    asked: list[tuple[str, Any]] = []
    with database.transaction() as connection:
        connection.exec_driver_sql("ANALYZE schedules")
        sa.event.listen(
            connection, "before_cursor_execute", lambda *given: asked.append((given[2], given[3]))
        )
        found = cross_workspace.due_schedules(connection, SLOT, limit=50)
        (statement, values), *others = asked
        word = "EXPLAIN QUERY PLAN" if database.is_sqlite else "EXPLAIN"
        rows = connection.exec_driver_sql(f"{word} {statement}", values).all()
    plan = "\n".join(str(row[-1]) for row in rows)

    assert others == []
    assert len(found) == 10
    assert "USING INDEX ix_schedules_due" in plan or "using ix_schedules_due" in plan, plan
    for whole in ("SCAN schedules", "Seq Scan", "Sort", "TEMP B-TREE"):
        assert whole not in plan, plan
