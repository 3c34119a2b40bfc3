"""What an apply does with references, versions and schedules."""

from __future__ import annotations

import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from queries_orchestration.model.ids import new_id
from queries_orchestration.store import schedules, sources
from queries_orchestration.store.database import Database
from queries_orchestration.store.sources import Source
from queries_orchestration_tests.catalog.acme import (
    ANN,
    GOOD,
    LATER,
    NOW,
    Apply,
    Refuse,
    changed,
    schedule_of,
    source_of,
    touched,
    workspace_of,
)


@pytest.fixture
def database(sqlite_template: Path, tmp_path: Path) -> Database:
    """The rules do not depend on the kind of database."""
    return Database(f"sqlite:///{shutil.copy(sqlite_template, tmp_path / 'store.db')}")


@pytest.mark.parametrize(
    ("old", "new", "slot"),
    [
        ("title: Delays every morning", "title: Other", datetime(2027, 1, 5, 5, 30, tzinfo=UTC)),
        ("recipients: [ann, bob]", "recipients: [bob]", datetime(2027, 1, 5, 5, 30, tzinfo=UTC)),
        ("30 6 * * *", "45 6 * * *", datetime(2027, 2, 14, 5, 45, tzinfo=UTC)),
        ("time_zone: Europe/Berlin", "time_zone: UTC", datetime(2027, 2, 14, 6, 30, tzinfo=UTC)),
        (
            "30 6 * * *",
            '30 6 * * *"\n    last_day: true\n    #"',
            datetime(2027, 2, 28, 5, 30, tzinfo=UTC),
        ),
        (
            "30 6 * * *",
            '30 6 * * *"\n    starts_on: 2027-04-01\n    #"',
            datetime(2027, 4, 1, 4, 30, tzinfo=UTC),
        ),
        (
            "30 6 * * *",
            '30 6 * * *"\n    ends_on: 2027-02-14\n    #"',
            datetime(2027, 2, 14, 5, 30, tzinfo=UTC),
        ),
    ],
    ids=["title", "recipients", "cron", "the workspace's zone", "last day", "start", "end"],
)
def test_only_a_changed_recurrence_moves_the_next_slot(
    apply: Apply, database: Database, old: str, new: str, slot: datetime
) -> None:
    apply(GOOD)
    changes = apply(changed((old, new)), now=LATER)
    assert changes.schedules.changed == ("acme/morning",)
    assert schedule_of(database).next_slot == slot
    assert schedule_of(database).created_at == NOW


def test_a_paused_schedule_stays_paused_and_without_a_slot(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    paused = replace(
        schedule_of(database), state="paused", pause_code="access_lost", next_slot=None
    )
    with database.across.transaction() as connection:
        schedules.change(connection, paused)
    apply(changed(("30 6 * * *", "45 6 * * *")))
    assert schedule_of(database) == replace(paused, cron="45 6 * * *")


def test_a_schedule_of_another_query_is_pinned_to_its_current_version(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    apply(changed(("- {field: delay}", "- {field: delay, label: Minutes}")))
    ids = "  ids: {title: Ids, dataset: flights, fields: [{field: id}]}\n"
    apply(
        changed(
            ("queries:\n", f"queries:\n{ids}"),
            ("query: delays", "query: ids"),
            ("    values: {since: 2027-01-01}\n", ""),
        )
    )
    assert schedule_of(database).source_id == source_of(database, "ids").id
    assert schedule_of(database).pinned_version == 1


def test_references_may_be_to_rows_in_the_database(apply: Apply, database: Database) -> None:
    apply(GOOD[: GOOD.index("queries:")])
    apply("workspace: {name: acme}\n" + GOOD[GOOD.index("queries:") : GOOD.index("schedules:")])
    apply("workspace: {name: acme}\n" + GOOD[GOOD.index("schedules:") :])
    assert schedule_of(database).source_id == source_of(database).id


def test_a_query_is_checked_against_the_dataset_of_the_same_apply(
    apply: Apply, faults_of: Refuse
) -> None:
    apply(GOOD)
    renamed = changed(("delay: {type: decimal}", "lateness: {type: decimal}"))
    (fault,) = faults_of(renamed)
    assert fault.message.startswith("the query `delays`, fields.field: 'delay' is not one of")
    apply(renamed.replace("- {field: delay}", "- {field: lateness}"))


def test_a_dataset_that_breaks_an_old_version_is_taken_with_its_schedule(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    changes = apply(
        changed(
            ("delay: {type: decimal}", "lateness: {type: decimal}"),
            ("- {field: delay}", "- {field: lateness}"),
        )
    )
    assert [new.version for new in changes.new_versions] == [2]
    assert schedule_of(database).pinned_version == 1


def test_values_are_checked_against_the_version_that_the_schedule_runs(
    apply: Apply, faults_of: Refuse
) -> None:
    apply(GOOD)
    (fault,) = faults_of(
        changed(
            ("{name: since, type", "{name: begin, type"),
            ("{parameter: since}", "{parameter: begin}"),
            ("{since: 2027-01-01}", "{begin: 2027-01-01}"),
        )
    )
    assert (
        "(it runs version 1 of its query; once 2 is applied, `queries schedules repin` moves it"
        " there)" in fault.message
    )
    assert "no parameter `begin`" in fault.message


def test_an_owner_who_lost_access_with_this_apply_is_refused(
    apply: Apply, faults_of: Refuse
) -> None:
    apply(GOOD)
    (fault,) = faults_of(changed((ANN, ANN.replace("author", "reader"))))
    assert "its owner cannot open the query" in fault.message


def test_a_report_of_the_same_name_is_not_overwritten(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply("workspace: {name: acme, title: Acme Ltd, time_zone: Europe/Berlin}\n")
    report = Source(
        workspace_id=workspace_of(database).id,
        id=new_id(),
        name="delays",
        title="A report",
        kind="report",
        current_version=1,
    )
    with database.across.transaction() as connection:
        sources.insert(connection, report)
    messages = [fault.message for fault in faults_of(GOOD)]
    assert "the query `delays`: there is a report of this name" in messages
    assert source_of(database) == report


def test_an_archived_query_comes_back_with_its_versions(apply: Apply, database: Database) -> None:
    apply(GOOD)
    with database.across.transaction() as connection:
        sources.change(connection, replace(source_of(database), archived=True))
    assert touched(apply(GOOD)) == {"queries": ("acme/delays",)}
    assert not source_of(database).archived
    assert source_of(database).current_version == 1


def test_a_schedule_of_an_archived_query_is_refused(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(GOOD)
    with database.across.transaction() as connection:
        sources.change(connection, replace(source_of(database), archived=True))
    (fault,) = faults_of("workspace: {name: acme}\n" + GOOD[GOOD.index("schedules:") :])
    assert (fault.line, "`delays` is archived" in fault.message) == (5, True)
