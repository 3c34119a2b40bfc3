"""What prune takes away, what history keeps, and how it comes back, on both databases."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import func, select

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.catalog.changes import CatalogChanges
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.ids import new_id
from queries_orchestration.store import admissions, datasets, exports, people, schedules
from queries_orchestration.store.database import Database
from queries_orchestration.store.people import Person
from queries_orchestration.store.tables import audit_events, metadata
from queries_orchestration_tests.catalog.acme import (
    ANN,
    GOOD,
    LATER,
    NOW,
    Apply,
    Refuse,
    changed,
    line_of,
    schedule_of,
    source_of,
    touched,
    workspace_of,
)

EMPTY = "workspace: {name: acme}\n"
WITHOUT_SCHEDULE = GOOD[: GOOD.index("schedules:")]
WITHOUT_QUERY = GOOD[: GOOD.index("queries:")]
BOB = "  bob: {title: Bob Reader, address: bob@example.org, roles: [reader]}\n"
FIRST_SLOT = datetime(2027, 1, 5, 5, 30, tzinfo=UTC)


def pruned(changes: CatalogChanges) -> dict[str, tuple[str, ...]]:
    """Return what prune did as ``outcome kind`` → names."""
    names: dict[str, tuple[str, ...]] = {}
    for row in changes.pruned:
        key = f"{row.outcome} {row.kind}"
        names[key] = (*names.get(key, ()), row.name)
    return names


def admit(database: Database) -> None:
    """Give the schedule ``morning`` an occurrence, which nothing may take away."""
    schedule = schedule_of(database)
    with database.across.transaction() as connection:
        assert admissions.admit_slots(
            connection,
            [(schedule.workspace_id, schedule.id, FIRST_SLOT)],
            via="recurrence",
            at=FIRST_SLOT,
        )


def person_of(database: Database, name: str) -> Person | None:
    with database.across.read() as connection:
        return people.by_name(connection, workspace_of(database).id, name)


def rows_of(database: Database) -> dict[str, int]:
    """Return the number of rows of the tables that have any, but for the audit trail."""
    with database.across.read() as connection:
        counts = {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in metadata.sorted_tables
            if table is not audit_events
        }
    return {name: count for name, count in counts.items() if count}


def test_what_nothing_refers_to_is_removed(apply: Apply, database: Database) -> None:
    apply(GOOD)
    assert pruned(apply(EMPTY, prune=True)) == {
        "removed people": ("acme/ann", "acme/bob"),
        "removed connections": ("acme/warehouse",),
        "removed datasets": ("acme/flights",),
        "removed queries": ("acme/delays",),
        "removed schedules": ("acme/morning",),
    }
    assert rows_of(database) == {"workspaces": 1}
    assert pruned(apply(EMPTY, prune=True)) == {}


def test_without_prune_everything_stays(apply: Apply, database: Database) -> None:
    apply(GOOD)
    before = rows_of(database)
    assert pruned(apply(EMPTY, take_over=True)) == {}
    assert rows_of(database) == before


def test_history_keeps_what_it_refers_to(apply: Apply, database: Database) -> None:
    apply(GOOD)
    admit(database)
    before, rows = schedule_of(database), rows_of(database)
    assert pruned(apply(EMPTY, prune=True)) == {
        "ended schedules": ("acme/morning",),
        "archived queries": ("acme/delays",),
        "kept datasets": ("acme/flights",),
        "kept connections": ("acme/warehouse",),
        "deactivated people": ("acme/ann", "acme/bob"),
    }
    assert schedule_of(database) == replace(before, state="ended", next_slot=None)
    assert source_of(database).archived
    ann = person_of(database, "ann")
    assert ann is not None
    assert (ann.active, ann.address) == (False, "ann@example.org")
    assert rows_of(database) == rows
    assert pruned(apply(EMPTY, prune=True)) == {
        "kept datasets": ("acme/flights",),
        "kept connections": ("acme/warehouse",),
    }


def test_what_was_pruned_comes_back_with_its_definition(apply: Apply, database: Database) -> None:
    apply(GOOD)
    admit(database)
    before = schedule_of(database)
    with database.across.transaction() as connection:
        schedules.extend_streak(connection, before.workspace_id, before.id)
    apply(EMPTY, prune=True)
    assert touched(apply(GOOD, now=LATER, prune=True)) == {
        "people": ("acme/ann", "acme/bob"),
        "queries": ("acme/delays",),
        "schedules": ("acme/morning",),
    }
    slot = datetime(2027, 2, 14, 5, 30, tzinfo=UTC)
    assert schedule_of(database) == replace(before, next_slot=slot)
    assert (source_of(database).archived, source_of(database).current_version) == (False, 1)
    ann = person_of(database, "ann")
    assert ann is not None
    assert ann.active
    assert touched(apply(GOOD, prune=True)) == {}


def test_a_paused_schedule_ends_without_its_pause(apply: Apply, database: Database) -> None:
    apply(GOOD)
    admit(database)
    schedule = schedule_of(database)
    with database.across.transaction() as connection:
        schedules.pause(
            connection,
            schedule.workspace_id,
            schedule.id,
            code="access_lost",
            reason="No access.",
            at=NOW,
        )
    apply(WITHOUT_SCHEDULE, prune=True)
    assert schedule_of(database) == replace(schedule, state="ended", next_slot=None)


def test_an_export_keeps_its_query_and_its_person(apply: Apply, database: Database) -> None:
    apply(GOOD)
    query, bob = source_of(database), person_of(database, "bob")
    assert bob is not None
    with database.across.transaction() as connection:
        exports.queue(
            connection,
            query.workspace_id,
            new_id(),
            purpose="interactive",
            source_id=query.id,
            version=1,
            file_format="csv",
            runtime_values={},
            actor_id=bob.id,
            time_zone="UTC",
            at=NOW,
        )
    assert pruned(apply(EMPTY, prune=True)) == {
        "removed schedules": ("acme/morning",),
        "archived queries": ("acme/delays",),
        "kept datasets": ("acme/flights",),
        "kept connections": ("acme/warehouse",),
        # The access rules of the dataset that is kept name bob, too.
        "removed people": ("acme/ann",),
        "deactivated people": ("acme/bob",),
    }


def test_somebody_in_the_access_rules_of_a_kept_dataset_is_not_removed(
    apply: Apply, database: Database
) -> None:
    apply(WITHOUT_QUERY)
    with database.across.transaction() as connection:
        (flights,) = datasets.listing(connection, workspace_of(database).id)
        datasets.change(connection, replace(flights, written_by="other"))
    assert pruned(apply(EMPTY, prune=True)) == {
        "kept connections": ("acme/warehouse",),
        "removed people": ("acme/ann",),
        "deactivated people": ("acme/bob",),
    }


def test_rows_of_somebody_else_are_pruned_only_with_take_over(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    admit(database)
    workspace_id = workspace_of(database).id
    cat = Person(
        workspace_id=workspace_id,
        id=new_id(),
        name="cat",
        title="Cat",
        address=None,
        roles=frozenset(),
        active=True,
    )
    with database.across.transaction() as connection:
        people.insert(connection, cat)
        schedules.change(connection, replace(schedule_of(database), written_by="other"))
    assert "ended schedules" not in pruned(apply(EMPTY, prune=True))
    assert schedule_of(database).state == "active"
    assert person_of(database, "cat") == cat
    taken = pruned(apply(EMPTY, prune=True, take_over=True))
    assert (taken["ended schedules"], taken["removed people"]) == (("acme/morning",), ("acme/cat",))
    assert schedule_of(database).written_by == "file"
    apply(GOOD)
    assert schedule_of(database).state == "active"


def test_other_workspaces_are_left_alone(apply: Apply, database: Database) -> None:
    other = GOOD.replace("name: acme", "name: other")
    apply(f"{GOOD}---\n{other}")
    names = pruned(apply(EMPTY, prune=True))
    assert all(name.startswith("acme/") for listed in names.values() for name in listed)
    assert touched(apply(other)) == {}
    both = pruned(apply(f"{EMPTY}---\nworkspace: {{name: other}}\n", prune=True))
    assert both["removed schedules"] == ("other/morning",)


def test_nothing_in_the_files_may_refer_to_what_prune_takes_away(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(GOOD)
    before = rows_of(database)
    text = changed((BOB, ""), (f"{ANN}\n", "")).replace("people:\n", "", 1)
    faults = faults_of(text, prune=True)
    assert [fault.line for fault in faults] == [
        line_of(text, "- who: {people: [bob]}"),
        line_of(text, "owner: ann"),
        line_of(text, "recipients: [ann, bob]"),
        line_of(text, "recipients: [ann, bob]"),
    ]
    assert faults[1].message == (
        "the schedule `morning`, owner: --prune takes the person `ann` away, as no file defines"
        " it: define it, or do not refer to it"
    )
    text = GOOD[: GOOD.index("queries:")] + GOOD[GOOD.index("schedules:") :]
    (fault,) = faults_of(text, prune=True)
    assert (fault.line, "takes the query `delays` away" in fault.message) == (
        line_of(text, "query: delays"),
        True,
    )
    assert rows_of(database) == before
    apply(text)


def test_a_dataset_that_the_files_refer_to_is_kept(apply: Apply) -> None:
    apply(GOOD)
    start, end = GOOD.index("connections:"), GOOD.index("queries:")
    assert pruned(apply(GOOD[:start] + GOOD[end:], prune=True)) == {
        "kept datasets": ("acme/flights",),
        "kept connections": ("acme/warehouse",),
    }


def test_a_fault_keeps_prune_from_taking_anything(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(GOOD)
    before = rows_of(database)
    faults = faults_of("workspace: {name: acme}\npeople: {cat: {titel: Cat}}\n", prune=True)
    assert len(faults) == 2
    assert rows_of(database) == before


def test_what_was_pruned_is_told_to_people_and_programs(apply: Apply, database: Database) -> None:
    apply(GOOD)
    admit(database)
    changes = apply(EMPTY, prune=True)
    told = json.loads(json.dumps(changes.to_dict()))
    assert told["pruned"][0] == {"kind": "schedules", "name": "acme/morning", "outcome": "ended"}
    assert len(told["pruned"]) == 6
    assert changes.lines() == [
        "workspaces: 1 unchanged",
        "people: 2 deactivated",
        "  deactivated acme/ann",
        "  deactivated acme/bob",
        "connections: 1 kept",
        "  kept acme/warehouse: something refers to it",
        "datasets: 1 kept",
        "  kept acme/flights: something refers to it",
        "queries: 1 archived",
        "  archived acme/delays",
        "schedules: 1 ended",
        "  ended acme/morning",
    ]


def test_prunes_at_the_same_time_take_each_row_once(
    apply: Apply, database: Database, tmp_path: Path
) -> None:
    apply(GOOD)
    admit(database)
    file = tmp_path / "empty.yaml"
    file.write_text(EMPTY)

    def prune_file(_: int) -> CatalogChanges:
        return apply_catalog(
            database, [file], clock=lambda: NOW, by=OPERATOR, environment={}, prune=True
        )

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(prune_file, range(4)))
    assert sorted(len(changes.pruned) for changes in results) == [2, 2, 2, 6]


def test_a_schedule_that_gets_its_first_occurrence_meanwhile_is_ended(
    database: Database, apply: Apply
) -> None:
    apply(GOOD)
    schedule = schedule_of(database)
    with ThreadPoolExecutor(1) as pool:
        with database.across.transaction() as connection:
            admissions.admit_slots(
                connection,
                [(schedule.workspace_id, schedule.id, FIRST_SLOT)],
                via="recurrence",
                at=FIRST_SLOT,
            )
            applied = pool.submit(apply, EMPTY, prune=True)
            with pytest.raises(TimeoutError):
                applied.result(timeout=0.3)
        changes = applied.result(timeout=20)
    assert pruned(changes)["ended schedules"] == ("acme/morning",)
    assert rows_of(database)["occurrences"] == 1
