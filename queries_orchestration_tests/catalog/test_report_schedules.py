"""Schedules of reports: what they deliver is the current version."""

from __future__ import annotations

import pytest

from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import (
    Apply,
    Refuse,
    altered,
    line_of,
    schedule_of,
    source_of,
    touched,
)
from queries_orchestration_tests.catalog.summary import (
    NAMED,
    SUMMARY,
    WEEKLY,
    WITH_REPORT,
    without_report,
)

CHANGED_QUERY = ("- {field: day, direction: desc}", "- {field: day, direction: asc}")
BEGIN = (
    ("{name: day1, type", "{name: begin, type"),
    ("{since: {parameter: day1}}", "{since: {parameter: begin}}"),
)
"""Makes a version of the report that takes other values."""


@pytest.fixture
def database_kind() -> str:
    """The rules do not depend on the kind of database."""
    return "sqlite"


def test_a_report_is_scheduled(apply: Apply, database: Database) -> None:
    apply(WITH_REPORT)
    weekly = schedule_of(database, "weekly")
    assert weekly.source_id == source_of(database, "summary").id
    assert (weekly.pinned_version, weekly.format, weekly.skip_empty) == (1, "pdf", False)
    assert weekly.runtime_values == {"day1": "2027-01-02"}


def test_a_new_schedule_pins_the_version_that_the_report_has_after_the_apply(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    text = without_report(CHANGED_QUERY) + WEEKLY.replace("weekly", "another")
    assert touched(apply(text))["schedules"] == ("acme/another",)
    assert schedule_of(database, "another").pinned_version == 2
    assert schedule_of(database, "weekly").pinned_version == 1


def test_a_schedule_that_moves_to_another_source_pins_its_current_version(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    apply(without_report(CHANGED_QUERY))
    to_query = altered(
        WEEKLY,
        ("report: summary", "query: delays"),
        ("format: pdf", "format: csv"),
        ("day1:", "since:"),
    )
    apply(f"{NAMED}schedules:\n{to_query}")
    assert schedule_of(database, "weekly").source_id == source_of(database).id
    assert schedule_of(database, "weekly").pinned_version == 2
    apply(altered(WITH_REPORT, CHANGED_QUERY, ("show: bar", "show: line")))
    assert schedule_of(database, "weekly").source_id == source_of(database, "summary").id
    assert schedule_of(database, "weekly").pinned_version == 3


def test_values_are_checked_against_the_current_version(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(WITH_REPORT)
    text = altered(WITH_REPORT, *BEGIN)
    (fault,) = faults_of(text)
    assert (fault.line, "has no parameter `day1`" in fault.message) == (
        line_of(text, "{day1: 2027-01-02}"),
        True,
    )
    apply(altered(text, ("{day1: 2027-01-02}", "{begin: 2027-01-02}")))
    assert schedule_of(database, "weekly").runtime_values == {"begin": "2027-01-02"}
    assert schedule_of(database, "weekly").pinned_version == 1


def test_a_schedule_that_the_files_lack_is_left_to_the_delivery(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    apply(NAMED + altered(f"reports:\n{SUMMARY}", *BEGIN))
    assert source_of(database, "summary").current_version == 2
    assert schedule_of(database, "weekly").runtime_values == {"day1": "2027-01-02"}


def test_a_query_whose_new_version_its_reports_owner_cannot_open_is_refused(
    apply: Apply, faults_of: Refuse
) -> None:
    own = altered(
        WITH_REPORT,
        ("fields: [id, carrier]\n", "fields: [id, carrier, day]\n"),
        ("columns: [day, carrier, delay]\n        totals: [delay]", "columns: [day, carrier]"),
        ("      - {field: delay}\n", ""),
        ("{aggregate: sum, field: delay, label: Total}", "{aggregate: count, label: Total}"),
        ('owner: ann\n    cron: "0 7', 'owner: bob\n    cron: "0 7'),
    )
    apply(own)
    carrier = "      - {field: carrier}\n"
    text = altered(
        own, (f"{carrier}    filters", f"{carrier}      - {{field: delay}}\n    filters")
    )
    text = text[: text.index("reports:")] + text[text.index("schedules:") :]
    (fault,) = faults_of(text)
    assert fault.line == line_of(text, "owner: bob")
    assert 'section "Late flights": The field delay ' in fault.message


def test_the_schedule_of_a_report_whose_query_lost_its_field_is_left_to_the_delivery(
    apply: Apply, faults_of: Refuse
) -> None:
    apply(WITH_REPORT)
    lost = altered(
        WITH_REPORT[: WITH_REPORT.index("queries:")],
        ("delay: {type: decimal}", "lateness: {type: decimal}"),
    )
    assert touched(apply(f"{lost}schedules:\n{WEEKLY}")) == {"datasets": ("acme/flights",)}
    text = f"{NAMED}schedules:\n{WEEKLY.replace('weekly', 'another')}"
    (fault,) = faults_of(text)
    assert fault.line == line_of(text, "report: summary")
    assert fault.message.startswith(
        "the schedule `another`: the report `summary` cannot be run: the query `by-carrier`:"
        " fields[1].field: 'delay' is not one of"
    )


def test_a_schedule_comes_with_a_report_that_follows_but_cannot_be_opened(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    lost = altered(
        WITH_REPORT[: WITH_REPORT.index("  by-carrier:")],
        ("delay: {type: decimal}", "lateness: {type: decimal}"),
        ("- {field: delay}", "- {field: lateness, label: delay}"),
    )
    changes = apply(f"{lost}schedules:\n{WEEKLY}")
    assert touched(changes).keys() == {"datasets", "queries", "reports"}
    assert source_of(database, "summary").current_version == 2
