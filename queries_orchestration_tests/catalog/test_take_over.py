"""What somebody else wrote last is changed by a file only if it is to take over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from sqlalchemy import Connection

from queries_orchestration.model.ids import new_id
from queries_orchestration.store import (
    datasets,
    people,
    recipients,
    schedules,
    sources,
    workspaces,
)
from queries_orchestration.store.database import Database
from queries_orchestration.store.people import Person
from queries_orchestration.store.recipients import NamedRecipient
from queries_orchestration.store.sources import SourceVersion
from queries_orchestration_tests.catalog.acme import (
    ANN,
    GOOD,
    NOW,
    Apply,
    Refuse,
    changed,
    line_of,
    schedule_of,
    source_of,
    touched,
    version_of,
    workspace_of,
)

Edit = Callable[[Connection, str], None]


def _edit_workspace(connection: Connection, workspace_id: str) -> None:
    row = workspaces.get(connection, workspace_id)
    assert row is not None
    workspaces.change(connection, replace(row, title="Theirs", written_by="other"))


def _edit_person(connection: Connection, workspace_id: str) -> None:
    row = people.by_name(connection, workspace_id, "ann")
    assert row is not None
    roles = frozenset({"author", "reader"})
    people.change(connection, replace(row, title="Theirs", roles=roles, written_by="other"))


def _edit_connection(connection: Connection, workspace_id: str) -> None:
    (row,) = datasets.connections_listing(connection, workspace_id)
    datasets.change_connection(connection, replace(row, url_variable="X", written_by="other"))


def _edit_dataset(connection: Connection, workspace_id: str) -> None:
    (row,) = datasets.listing(connection, workspace_id)
    definition = row.definition | {"relation": "theirs"}
    datasets.change(connection, replace(row, definition=definition, written_by="other"))


def _edit_query(connection: Connection, workspace_id: str) -> None:
    (row,) = sources.listing(connection, workspace_id)
    first = sources.version(connection, workspace_id, row.id, 1)
    assert first is not None
    definition = first.definition | {"sort": []}
    sources.change(connection, replace(row, written_by="other"))
    sources.add_version(connection, replace(first, version=2, definition=definition))


def _edit_schedule(connection: Connection, workspace_id: str) -> None:
    (row,) = schedules.listing(connection, workspace_id)
    schedules.change(connection, replace(row, runtime_values={}, written_by="other"))
    named = [NamedRecipient("person", row.owner_id)]
    recipients.set_recipients(connection, workspace_id, row.id, named)


@pytest.mark.parametrize(
    ("edit", "kind", "row", "line", "keys"),
    [
        (_edit_workspace, "workspaces", "workspace `acme`", "workspace:", "title"),
        (_edit_person, "people", "person `ann`", "  ann:", "title, roles"),
        (_edit_connection, "connections", "connection `warehouse`", "  warehouse:", "url_variable"),
        (_edit_dataset, "datasets", "dataset `flights`", "  flights:", "definition"),
        (_edit_query, "queries", "query `delays`", "  delays:", "definition"),
        (_edit_schedule, "schedules", "schedule `morning`", "  morning:", "values, recipients"),
    ],
)
def test_a_row_that_somebody_else_changed_is_refused_until_the_file_takes_over(
    apply: Apply,
    faults_of: Refuse,
    database: Database,
    edit: Edit,
    kind: str,
    row: str,
    line: str,
    keys: str,
) -> None:
    apply(GOOD)
    with database.across.transaction() as connection:
        edit(connection, workspace_of(database).id)
    (fault,) = faults_of(GOOD)
    assert fault.line == line_of(GOOD, line)
    assert fault.message == (
        f"the {row} was written by somebody else, and here is another {keys}:"
        " take theirs into the file, or overwrite it with --take-over"
    )
    assert touched(apply(GOOD, take_over=True)).keys() == {kind}
    assert touched(apply(GOOD)) == {}
    assert touched(apply(changed((ANN, ANN.replace("Ann", "Anna"))))) == {"people": ("acme/ann",)}


def test_all_conflicts_are_told_with_the_other_faults_and_nothing_is_written(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(GOOD)
    workspace_id = workspace_of(database).id
    with database.across.transaction() as connection:
        _edit_person(connection, workspace_id)
        _edit_schedule(connection, workspace_id)
    text = changed(("title: Bob Reader", "titel: Bob Reader"), ("title: Acme Ltd", "title: Acme"))
    lines = [fault.line for fault in faults_of(text)]
    bob = line_of(text, "titel: Bob")
    assert lines == [line_of(text, "  ann:"), bob, bob, line_of(text, "  morning:")]
    assert workspace_of(database).title == "Acme Ltd"
    assert schedule_of(database).runtime_values == {}


def test_what_a_file_says_the_same_is_no_conflict_and_stays_whose_it_was(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    with database.across.transaction() as connection:
        schedules.change(connection, replace(schedule_of(database), written_by="other"))
    assert touched(apply(GOOD)) == {}
    assert schedule_of(database).written_by == "other"
    assert apply(GOOD, take_over=True).schedules.changed == ("acme/morning",)
    assert schedule_of(database).written_by == "file"


def test_a_workspace_that_the_file_only_names_is_no_conflict(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    with database.across.transaction() as connection:
        _edit_workspace(connection, workspace_of(database).id)
    apply("workspace: {name: acme}\n" + GOOD[GOOD.index("people:") :])
    assert workspace_of(database).title == "Theirs"


def test_rows_of_somebody_else_become_rows_of_the_file(apply: Apply, database: Database) -> None:
    apply("workspace: {name: acme, title: Acme Ltd, time_zone: Europe/Berlin}\n")
    bob = Person(
        workspace_id=workspace_of(database).id,
        id=new_id(),
        name="bob",
        title="Robert",
        address=None,
        roles=frozenset(),
        active=True,
    )
    with database.across.transaction() as connection:
        people.insert(connection, bob)
    assert apply(GOOD, take_over=True).people.changed == ("acme/bob",)
    with database.across.read() as connection:
        stored = people.by_name(connection, bob.workspace_id, "bob")
    assert stored == replace(
        bob,
        title="Bob Reader",
        address="bob@example.org",
        roles=frozenset({"reader"}),
        written_by="file",
    )


def test_a_file_that_takes_a_query_over_adds_a_version_after_theirs(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    with database.across.transaction() as connection:
        _edit_query(connection, workspace_of(database).id)
    theirs: SourceVersion = version_of(database, 2)
    apply(GOOD, take_over=True)
    assert source_of(database).current_version == 3
    assert version_of(database, 2) == theirs
    assert version_of(database, 3).definition == version_of(database, 1).definition
    assert version_of(database, 3).created_at == NOW
    assert schedule_of(database).pinned_version == 1
