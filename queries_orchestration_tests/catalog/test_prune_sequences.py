"""Whatever catalogs follow one another: after a prune, exactly what the files say is in use."""

from __future__ import annotations

import json
import shutil
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings, strategies as st
from sqlalchemy import Connection

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.catalog.changes import CatalogChanges
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.store import (
    admissions,
    datasets,
    occurrences,
    people,
    schedules,
    sources,
)
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import NOW, touched, workspace_of

# A schedule's source, owner and recipient; a report's queries; a query's dataset; a dataset's
# connection and reader.
SCHEDULES = {"s": ("q", "ann", "bob"), "t": ("b", "bob", "cat")}
REPORTS = {"a": {"q"}, "b": {"q", "r"}}
QUERIES = {"q": "d", "r": "e"}
DATASETS = {"d": ("v", "ann"), "e": ("w", "bob")}
CONNECTIONS = {"v", "w"}
PEOPLE = {"ann", "bob", "cat"}


@dataclass(frozen=True)
class Names:
    """The names that a catalog defines, with all that they refer to."""

    schedules: AbstractSet[str]
    reports: AbstractSet[str]
    queries: AbstractSet[str]
    datasets: AbstractSet[str]
    connections: AbstractSet[str]
    people: AbstractSet[str]

    def text(self) -> str:
        """Return the catalog; JSON is YAML."""
        return json.dumps(
            {
                "workspace": {"name": "acme", "title": "Acme", "time_zone": "UTC"},
                "people": {name: {"title": name} for name in self.people},
                "connections": {name: {"url_variable": name.upper()} for name in self.connections},
                "datasets": {name: _dataset(name) for name in self.datasets},
                "queries": {
                    name: {"title": name, "dataset": QUERIES[name], "fields": [{"field": "id"}]}
                    for name in self.queries
                },
                "reports": {name: _report(name) for name in self.reports},
                "schedules": {name: _schedule(name) for name in self.schedules},
            }
        )


def _dataset(name: str) -> dict[str, object]:
    connection, reader = DATASETS[name]
    return {
        "connection": connection,
        "relation": "t",
        "fields": {"id": {"type": "integer"}},
        "key": ["id"],
        "access": [
            {"who": {"people": [reader]}, "fields": "all", "rows": "all"},
            {"who": {"everyone": True}, "fields": "all", "rows": "all"},
        ],
    }


def _report(name: str) -> dict[str, object]:
    return {
        "title": name,
        "sections": [
            {"show": "number", "title": query, "query": query, "value": "id"}
            for query in sorted(REPORTS[name])
        ],
    }


def _schedule(name: str) -> dict[str, object]:
    source, owner, recipient = SCHEDULES[name]
    return {
        "title": name,
        "query" if source in QUERIES else "report": source,
        "owner": owner,
        "cron": "0 6 * * *",
        "format": "xlsx",
        "recipients": [recipient],
    }


def _some(names: AbstractSet[str]) -> st.SearchStrategy[AbstractSet[str]]:
    return st.frozensets(st.sampled_from(sorted(names)))


@st.composite
def catalogs(draw: st.DrawFn) -> Names:
    of_schedules = draw(_some(set(SCHEDULES)))
    scheduled = {SCHEDULES[name][0] for name in of_schedules}
    of_reports = draw(_some(set(REPORTS))) | (scheduled & set(REPORTS))
    shown = {query for name in of_reports for query in REPORTS[name]}
    of_queries = draw(_some(set(QUERIES))) | (scheduled & set(QUERIES)) | shown
    of_datasets = draw(_some(set(DATASETS))) | {QUERIES[name] for name in of_queries}
    return Names(
        schedules=of_schedules,
        reports=of_reports,
        queries=of_queries,
        datasets=of_datasets,
        connections=draw(_some(CONNECTIONS)) | {DATASETS[name][0] for name in of_datasets},
        people=draw(_some(PEOPLE))
        | {person for name in of_schedules for person in SCHEDULES[name][1:]}
        | {DATASETS[name][1] for name in of_datasets},
    )


def _in_use(connection: Connection, workspace_id: str) -> tuple[set[str], set[str], set[str]]:
    return (
        {row.name for row in schedules.listing(connection, workspace_id) if row.state == "active"},
        {row.name for row in sources.listing(connection, workspace_id) if not row.archived},
        {row.name for row in people.listing(connection, workspace_id) if row.active},
    )


def _admit_all(connection: Connection, workspace_id: str, names: set[str], at: datetime) -> int:
    """Give the active schedules of these names an occurrence each; return how many they are."""
    slots = [
        (workspace_id, row.id, at)
        for row in schedules.listing(connection, workspace_id)
        if row.name in names and row.state == "active"
    ]
    return len(admissions.admit_slots(connection, slots, via="recurrence", at=at))


@settings(max_examples=25)
@given(
    steps=st.lists(
        st.tuples(catalogs(), st.sets(st.sampled_from(sorted(SCHEDULES)))), min_size=2, max_size=4
    )
)
def test_after_a_prune_exactly_what_the_files_say_is_in_use(
    sqlite_template: Path, steps: list[tuple[Names, set[str]]]
) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "catalog.yaml"
        database = Database(f"sqlite:///{shutil.copy(sqlite_template, folder)}")

        def apply(names: Names, now: datetime) -> CatalogChanges:
            file.write_text(names.text())
            return apply_catalog(
                database, [file], clock=lambda: now, by=OPERATOR, environment={}, prune=True
            )

        history = 0
        for day, (names, due) in enumerate(steps):
            now = NOW + timedelta(days=day)
            apply(names, now)
            workspace_id = workspace_of(database).id
            with database.across.transaction() as connection:
                in_use = _in_use(connection, workspace_id)
                assert in_use == (names.schedules, names.queries | names.reports, names.people)
                for row in schedules.listing(connection, workspace_id):
                    assert (row.next_slot is not None) == (row.name in names.schedules)
                stored = {row.name for row in datasets.listing(connection, workspace_id)}
                assert stored >= names.datasets
                history += _admit_all(connection, workspace_id, due, now)
                kept = occurrences.history(connection, workspace_id, None, limit=100)
                assert len(kept) == history
            again = apply(names, now)
            assert touched(again) == {}
            assert {row.outcome for row in again.pruned} <= {"kept"}
