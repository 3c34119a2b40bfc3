"""Every fault of a report is told with its line, and nothing is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from queries_orchestration.store import sources
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import (
    GOOD,
    Apply,
    Refuse,
    altered,
    line_of,
    source_of,
)
from queries_orchestration_tests.catalog.summary import (
    NAMED,
    QUERIES,
    REPORTS,
    SUMMARY,
    WITH_REPORT,
)

SHOWS_CARRIERS = "        query: by-carrier"


@pytest.fixture
def database_kind() -> str:
    """The rules do not depend on the kind of database."""
    return "sqlite"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("reports:", "reportz:", "no key `reportz`: did you mean `reports`?"),
        ("  summary:\n", "  Summary:\n", "`Summary` is not a name"),
        ("    title: Delays at a glance\n", "    titel: Glance\n", "no key `titel`: did you mean"),
        ("    title: Delays at a glance\n", "    title: 5\n", "must be a text, not a number"),
        ("{name: day1, type: date,", "{name: day1, type: day,", "its type must be one of"),
        ('{text: "What was **late**."}', "{text: 5}", "sections.text: must be a text"),
        ('{text: "What was **late**."}', "{txt: 5}", "must have either a text, or a query and"),
        ('- {text: "What was **late**."}', "- What was late", "must have either a text"),
        ("        title: By airline", "        title: ''", "sections.title: must be a text that"),
        ("show: bar", "show: pie", "sections.show: 'pie' is not one of table, line, bar,"),
        (SHOWS_CARRIERS, "        query: by-carier", "no query `by-carier`: did you mean `by-"),
        (SHOWS_CARRIERS, "        query: summary", "`summary` is a report, not a query"),
        (SHOWS_CARRIERS, "        query: ''", "sections.query: '' is not one of"),
        (SHOWS_CARRIERS, "        query: [delays]", "is not one of"),
        (SHOWS_CARRIERS, "        query: ann@example.org", "there is no query (not shown)"),
        ("        y: Total", "        y: Totl", "sections.y: 'Totl' is no column of the query"),
        ("        y: Total", "        y: carrier", "is a text column, not a number"),
        ("totals: [delay]", "totals: [dely]", "sections.totals: 'dely' is no column"),
        ("{since: {parameter: day1}}", "{since: {parameter: day2}}", "'day2' is not one of day1"),
        ("{since: {parameter: day1}}", "{since: soon}", "sections.values.since: Parameter 'since'"),
        ("{since: {parameter: day1}}", "{day1: 2027-01-01}", "sections.values: unknown key 'day1'"),
    ],
    ids=lambda value: value.strip()[:40],
)
def test_a_fault_of_a_report_names_its_line(
    faults_of: Refuse, old: str, new: str, message: str
) -> None:
    text = altered(WITH_REPORT, (old, new))
    line = line_of(text, new.rstrip("\n"))
    faults = faults_of(text)
    assert [fault for fault in faults if fault.line == line and message in fault.message], faults
    assert "example.org" not in "".join(fault.message for fault in faults)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    title: Delays at a glance\n", "", "the report `summary` needs the key `title`"),
        (SUMMARY[SUMMARY.index("    sections:") :], "", "needs the key `sections`"),
        (
            SUMMARY[SUMMARY.index("    sections:") :],
            "    sections: []\n",
            "the report `summary`, sections: must be a list with at least one entry",
        ),
        (
            SUMMARY[SUMMARY.index("    sections:") :],
            "    sections: {text: Late.}\n",
            "the report `summary`, sections: must be a list with at least one entry",
        ),
        ("        x: carrier\n", "", "the report `summary`, sections: 'x' is missing"),
    ],
)
def test_what_is_missing_is_told(faults_of: Refuse, old: str, new: str, message: str) -> None:
    messages = [fault.message for fault in faults_of(altered(WITH_REPORT, (old, new)))]
    assert [one for one in messages if message in one], messages


def test_all_sections_with_faults_are_told_together(faults_of: Refuse) -> None:
    text = altered(
        WITH_REPORT,
        ('{text: "What was **late**."}', "{text: ''}"),
        ("query: delays\n        values", "query: delay\n        values"),
        ("        y: Total", "        y: Totl"),
    )
    assert [fault.line for fault in faults_of(text)] == [
        line_of(text, "{text: ''}"),
        line_of(text, "title: Late flights") + 1,
        line_of(text, "y: Totl"),
    ]


def test_a_query_and_a_report_of_one_name_are_a_fault_that_names_both_places(
    faults_of: Refuse, tmp_path: Path
) -> None:
    text = NAMED + REPORTS.replace("summary", "delays")
    (fault,) = faults_of(QUERIES, text)
    assert (Path(fault.file).name, fault.line) == ("2.yaml", line_of(text, "  delays:"))
    first = f"{tmp_path / '1.yaml'}:{line_of(QUERIES, '  delays:')}"
    assert fault.message == (
        f"`delays` of `reports` is a query at {first} already:"
        " queries and reports share one space of names"
    )


def test_the_other_kind_of_source_is_not_overwritten(apply: Apply, faults_of: Refuse) -> None:
    apply(WITH_REPORT)
    text = NAMED + REPORTS.replace("summary", "delays")
    (fault,) = faults_of(text)
    assert fault.message == "the report `delays`: there is a query of this name"
    assert fault.line == line_of(text, "  delays:")
    query = "  summary: {title: S, dataset: flights, fields: [{field: id}]}"
    (fault,) = faults_of(f"{NAMED}queries:\n{query}\n")
    assert fault.message == "the query `summary`: there is a report of this name"


def test_an_archived_query_is_not_shown(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(QUERIES)
    with database.across.transaction() as connection:
        sources.change(connection, replace(source_of(database, "by-carrier"), archived=True))
    text = NAMED + REPORTS
    (fault,) = faults_of(text)
    assert fault.line == line_of(text, "query: by-carrier")
    assert fault.message == (
        "the report `summary`: `by-carrier` is archived, not a query that can be run"
    )


def test_a_query_that_no_longer_fits_its_dataset_is_not_shown(
    apply: Apply, faults_of: Refuse
) -> None:
    apply(QUERIES)
    apply(
        altered(
            GOOD[: GOOD.index("queries:")],
            ("delay: {type: decimal}", "lateness: {type: decimal}"),
        )
    )
    text = NAMED + REPORTS
    faults = faults_of(text)
    assert [fault.line for fault in faults] == [
        line_of(text, "query: delays"),
        line_of(text, "query: by-carrier"),
    ]
    assert faults[0].message.startswith(
        "the report `summary`: the query `delays` cannot be run: fields[2].field: 'delay'"
    )


SCHEDULE_FAULTS = [
    ("report: summary", "report: sumary", "there is no report `sumary`: did you mean `summary`?"),
    ("report: summary", "report: delays", "`delays` is a query, not a report"),
    ("report: summary", "query: summary", "`summary` is a report, not a query"),
    (
        "format: pdf",
        "format: csv  # no",
        "of the schedule `weekly` must be one of pdf, xlsx",
    ),
    ("format: pdf", "format: pdf\n    skip_empty: true", "`skip_empty` is for queries"),
    ("format: pdf", "format: pdf\n    skip_empty: 1", "must be true or false"),
    ("{day1: 2027-01-02}", "{day2: 2027-01-02}", "the report `summary` has no parameter `day2`"),
    ("{day1: 2027-01-02}", "{day1: soon}", "the schedule `weekly`: Parameter 'day1': give a date"),
    ("{day1: 2027-01-02}", "{day1: null}", "Parameter 'day1' is required"),
]


@pytest.mark.parametrize(("old", "new", "message"), SCHEDULE_FAULTS)
def test_a_fault_of_a_reports_schedule_names_its_line(
    faults_of: Refuse, old: str, new: str, message: str
) -> None:
    text = altered(WITH_REPORT, (old, new))
    line = line_of(text, new.split("\n")[-1])
    faults = faults_of(text)
    assert [fault for fault in faults if fault.line == line and message in fault.message], faults


@pytest.mark.parametrize(
    ("new", "part", "message"),
    [
        ("    query: delays\n    report: summary\n", "report: summary", "has a query already"),
        ("", "  weekly:", "the schedule `weekly` needs the key `query` or the key `report`"),
    ],
)
def test_a_schedule_has_exactly_one_source(
    faults_of: Refuse, new: str, part: str, message: str
) -> None:
    text = altered(WITH_REPORT, ("    report: summary\n", new))
    faults = faults_of(text)
    assert [f for f in faults if f.line == line_of(text, part) and message in f.message], faults


def test_skip_empty_may_be_said_to_be_false(apply: Apply) -> None:
    apply(altered(WITH_REPORT, ("format: pdf", "format: xlsx\n    skip_empty: false")))


def test_the_owner_must_be_able_to_open_every_section(faults_of: Refuse) -> None:
    text = altered(WITH_REPORT, ('owner: ann\n    cron: "0 7', 'owner: bob\n    cron: "0 7'))
    first, second = faults_of(text)
    assert first.line == second.line == line_of(text, "owner: bob")
    assert first.message.startswith(
        "the schedule `weekly`: its owner cannot open the report `summary`:"
        ' section "Late flights": The field day '
    )
    assert 'section "By airline": The field delay ' in second.message


COMPARED = """\
      - show: comparison
        title: Against last month
        query: delays
        value: delay
        values: {since: {parameter: day1}}
        previous: {since: {parameter: before}}
"""
BEFORE = "      - {name: before, type: date, allowed: [2026-12-01, 2026-12-02]}\n"


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("{before: 2026-12-01}", None),
        ("{before: 2026-11-01}", "the schedule `weekly`: Parameter 'before': give one of"),
        (
            "{before: 2026-12-02}",
            "the schedule `weekly`: section \"Against last month\": Parameter 'since': give one of",
        ),
    ],
)
def test_the_values_must_fit_the_queries_of_all_sections(
    apply: Apply, faults_of: Refuse, values: str, message: str | None
) -> None:
    text = altered(
        WITH_REPORT,
        ("schedules:\n", f"{COMPARED}schedules:\n"),
        ("{name: day1, type: date, default: {start_of: month}}",
         "{name: day1, type: date, default: 2027-01-01}"),
        ("      - {name: day1", f"{BEFORE}      - {{name: day1"),
        ("{name: since, type: date, default: {start_of: month}}",
         "{name: since, type: date, allowed: [2027-01-01, 2026-12-01]}"),
        ("{day1: 2027-01-02}", values),
    )  # fmt: skip
    if message is None:
        apply(text)
        return
    (fault,) = faults_of(text)
    assert (fault.line, message in fault.message) == (line_of(text, f"values: {values}"), True)
