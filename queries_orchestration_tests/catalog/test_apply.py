"""What an apply writes, and what it leaves alone, on both kinds of database."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.catalog.changes import CatalogChanges
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.store import datasets, people, recipients
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import (
    GOOD,
    LATER,
    NOW,
    Apply,
    Refuse,
    changed,
    schedule_of,
    source_of,
    touched,
    version_of,
    workspace_of,
)


def test_a_catalog_becomes_rows(apply: Apply, database: Database) -> None:
    changes = apply(GOOD)
    assert touched(changes) == {
        "workspaces": ("acme",),
        "people": ("acme/ann", "acme/bob"),
        "connections": ("acme/warehouse",),
        "datasets": ("acme/flights",),
        "queries": ("acme/delays",),
        "schedules": ("acme/morning",),
    }
    workspace = workspace_of(database)
    assert (workspace.title, workspace.time_zone, workspace.written_by) == (
        "Acme Ltd",
        "Europe/Berlin",
        "file",
    )
    with database.across.read() as connection:
        ann = people.by_name(connection, workspace.id, "ann")
        dataset = datasets.by_name(connection, workspace.id, "flights")
        assert ann is not None
        assert dataset is not None
        source_connection = datasets.connection_of(connection, workspace.id, dataset.id)
        schedule = schedule_of(database)
        named = recipients.of_schedule(connection, workspace.id, schedule.id)
        names = [people.get(connection, workspace.id, one.id) for one in named]
    assert (ann.title, ann.address, ann.roles, ann.active, ann.written_by) == (
        "Ann Author",
        "ann@example.org",
        frozenset({"author"}),
        True,
        "file",
    )
    assert (source_connection.title, source_connection.url_variable) == (
        "warehouse",
        "WAREHOUSE_URL",
    )
    assert dataset.definition["name"] == "flights"
    assert [field["name"] for field in dataset.definition["fields"]] == [
        "id",
        "carrier",
        "day",
        "delay",
    ]
    assert [person.name for person in names if person] == ["ann", "bob"]
    assert schedule == replace(
        schedule,
        title="Delays every morning",
        written_by="file",
        source_id=source_of(database).id,
        pinned_version=1,
        owner_id=ann.id,
        cron="30 6 * * *",
        time_zone="Europe/Berlin",
        format="csv",
        runtime_values={"since": "2027-01-01"},
        skip_empty=False,
        missed_slots="latest",
        lateness_limit=None,
        state="active",
        failure_streak=0,
        created_at=NOW,
        next_slot=datetime(2027, 1, 5, 5, 30, tzinfo=UTC),
    )


def test_the_second_time_nothing_changes(apply: Apply, database: Database) -> None:
    apply(GOOD)
    before = schedule_of(database)
    changes = apply(GOOD, now=LATER)
    assert touched(changes) == {}
    assert changes.new_versions == ()
    assert changes.people.unchanged == ("acme/ann", "acme/bob")
    assert schedule_of(database) == before
    assert source_of(database).current_version == 1


def test_the_order_of_keys_and_the_style_are_no_change(apply: Apply) -> None:
    apply(GOOD)
    changes = apply(
        changed(
            ("{field: day, direction: desc}", "{direction: desc, field: day}"),
            ("{field: day, op: ge, value: {parameter: since}}", "{op: ge, value: {parameter: "
             "since}, field: day}"),
            ("    title: Delays by day\n    dataset: flights\n", "    dataset: 'flights'\n"
             "    title: Delays by day\n"),
            ("{name: since, type: date, default: {start_of: month}}",
             "{type: date, default: {start_of: month}, name: since}"),
        )
    )  # fmt: skip
    assert touched(changes) == {}
    assert changes.new_versions == ()


def test_a_changed_definition_is_a_new_version_and_schedules_stay_pinned(
    apply: Apply, database: Database
) -> None:
    apply(GOOD)
    second = changed(
        ("      - {field: delay}\n", "      - {field: delay, label: Minutes}\n"),
        ("schedules:\n", "schedules:\n  evening: {title: Evening, query: delays, owner: ann,"
         " cron: '0 18 * * *', format: xlsx, recipients: [bob]}\n"),
    )  # fmt: skip
    changes = apply(second, now=LATER)
    assert [(new.source, new.version) for new in changes.new_versions] == [("acme/delays", 2)]
    assert changes.queries.changed == ("acme/delays",)
    assert touched(changes).keys() == {"queries", "schedules"}
    assert source_of(database).current_version == 2
    assert version_of(database, 1).definition["fields"][2] == {"field": "delay"}
    assert version_of(database, 2).definition["fields"][2]["label"] == "Minutes"
    assert (version_of(database, 1).created_at, version_of(database, 2).created_at) == (NOW, LATER)
    assert schedule_of(database, "morning").pinned_version == 1
    assert schedule_of(database, "evening").pinned_version == 2
    assert touched(apply(second)) == {}


def test_a_changed_title_is_no_new_version(apply: Apply, database: Database) -> None:
    apply(GOOD)
    changes = apply(changed(("title: Delays by day", "title: Late flights")))
    assert touched(changes) == {"queries": ("acme/delays",)}
    assert changes.new_versions == ()
    assert (source_of(database).title, source_of(database).current_version) == ("Late flights", 1)


def test_a_large_number_in_a_definition_comes_back_as_the_same_number(apply: Apply) -> None:
    text = changed(
        ("delay: {type: decimal}", "delay: {type: float}"),
        ("- {field: carrier, op: eq, value: AA}", "- {field: delay, op: le, value: LIMIT}"),
    )
    for limit in ("1e300", "1.5e-300", "1.0", "-0.0", "0.1"):
        apply(text.replace("LIMIT", limit))
        assert touched(apply(text.replace("LIMIT", limit))) == {}, limit


def test_recipients_are_kept_in_the_order_of_the_file(apply: Apply, database: Database) -> None:
    apply(GOOD)
    changes = apply(changed(("recipients: [ann, bob]", "recipients: [bob, ann]")))
    assert touched(changes) == {"schedules": ("acme/morning",)}
    schedule = schedule_of(database)
    with database.across.read() as connection:
        named = recipients.of_schedule(connection, schedule.workspace_id, schedule.id)
        names = [people.get(connection, schedule.workspace_id, one.id) for one in named]
    assert [person.name for person in names if person] == ["bob", "ann"]


def test_rows_that_the_files_lack_stay(apply: Apply, database: Database) -> None:
    apply(GOOD)
    apply("workspace: {name: acme}\npeople:\n  cat: {title: Cat}\n")
    with database.across.read() as connection:
        workspace_id = workspace_of(database).id
        names = [person.name for person in people.listing(connection, workspace_id)]
    assert names == ["ann", "bob", "cat"]
    assert workspace_of(database).title == "Acme Ltd"
    assert schedule_of(database).state == "active"


def test_a_workspace_may_be_spread_over_files_in_any_order(
    apply: Apply, database: Database
) -> None:
    last = "workspace: {name: acme}\n" + GOOD[GOOD.index("schedules:") :]
    apply(last, GOOD[: GOOD.index("schedules:")])
    assert schedule_of(database).title == "Delays every morning"


def test_documents_of_one_file_are_workspaces_of_their_own(
    apply: Apply, database: Database
) -> None:
    other = GOOD.replace("name: acme", "name: other").replace("Acme Ltd", "Other")
    changes = apply(f"{GOOD}---\n{other}")
    assert changes.workspaces.created == ("acme", "other")
    assert changes.schedules.created == ("acme/morning", "other/morning")
    ids = [workspace_of(database, name).id for name in ("acme", "other")]
    with database.across.read() as connection:
        ann, other_ann = (people.by_name(connection, id_, "ann") for id_ in ids)
    assert ann is not None
    assert other_ann is not None
    assert ann.id != other_ann.id
    assert touched(apply(f"{GOOD}---\n{other}")) == {}


def test_one_fault_keeps_all_of_it_from_being_written(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(GOOD)
    before = schedule_of(database)
    bad = changed(
        ("title: Acme Ltd", "title: Acme Inc"),
        ("30 6 * * *", "45 6 * * *"),
        ("- {field: delay}", "- {field: delay, label: Minutes}"),
        ("title: Bob Reader", "titel: Bob Reader"),
    )
    assert len(faults_of(bad)) == 2
    assert workspace_of(database).title == "Acme Ltd"
    assert schedule_of(database) == before
    assert source_of(database).current_version == 1


def test_applies_at_the_same_time_leave_one_catalog(database: Database, tmp_path: Path) -> None:
    file = tmp_path / "catalog.yaml"
    file.write_text(GOOD)

    def apply_file(_: int) -> CatalogChanges:
        return apply_catalog(database, [file], clock=lambda: NOW, by=OPERATOR, environment={})

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(apply_file, range(4)))
    assert sorted(len(touched(changes)) for changes in results) == [0, 0, 0, 6]
    assert [len(changes.new_versions) for changes in results].count(1) == 1
    assert source_of(database).current_version == 1


def test_changes_are_told_to_people_and_programs(apply: Apply) -> None:
    changes = apply(GOOD)
    told = json.loads(json.dumps(changes.to_dict()))
    assert told["people"]["created"] == ["acme/ann", "acme/bob"]
    assert told["new_versions"] == [{"source": "acme/delays", "version": 1}]
    assert told["unset_variables"] == ["WAREHOUSE_URL"]
    lines = changes.lines()
    assert "people: 2 created" in lines
    assert "  created acme/morning" in lines
    assert "acme/delays has the new version 1" in lines
    assert "WAREHOUSE_URL is not set here: the workers need it" in lines


def test_the_example_of_the_documentation_is_a_catalog(apply: Apply, database: Database) -> None:
    document = Path(__file__).parents[2] / "docs" / "catalog.md"
    (example,) = re.findall(r"```yaml\n(.*?)```", document.read_text(), flags=re.DOTALL)
    assert apply(example).schedules.created == ("acme/morning",)
    assert touched(apply(example)) == {}
    assert schedule_of(database).lateness_limit == 7200


def test_the_examples_of_the_page_on_queries_fit_a_catalog(apply: Apply) -> None:
    document = Path(__file__).parents[2] / "docs" / "queries.md"
    examples = re.findall(r"```yaml\n(.*?)```", document.read_text(), flags=re.DOTALL)
    workspace = GOOD[: GOOD.index("datasets:")].replace("  bob:", "  rosa:")
    changes = apply(workspace + "".join(examples))
    assert (changes.datasets.created, changes.queries.created) == (
        ("acme/flights",),
        ("acme/revenue",),
    )
