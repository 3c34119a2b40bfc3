"""Reports become rows, and get a version when they or their queries change, on both databases."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from queries_orchestration.store import sources
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import (
    GOOD,
    LATER,
    NOW,
    Apply,
    Refuse,
    altered,
    line_of,
    schedule_of,
    source_of,
    touched,
    version_of,
)
from queries_orchestration_tests.catalog.summary import (
    AVERAGED,
    NAMED,
    QUERIES,
    RENAMED,
    REPORTS,
    SUMMARY,
    WITH_REPORT,
    pins_of,
    without_report,
)


def test_a_report_becomes_a_row_whose_version_shows_versions_of_queries(
    apply: Apply, database: Database
) -> None:
    changes = apply(WITH_REPORT)
    assert changes.reports.created == ("acme/summary",)
    summary = source_of(database, "summary")
    assert summary == replace(
        summary,
        title="Delays at a glance",
        kind="report",
        current_version=1,
        archived=False,
        written_by="file",
    )
    version = version_of(database, 1, "summary")
    assert (version.dataset_id, version.created_at) == (None, NOW)
    assert version.definition.keys() == {"parameters", "sections"}
    assert version.definition["sections"][2]["y"] == "Total"
    assert pins_of(database, 1) == {"delays": 1, "by-carrier": 1}


def test_the_second_time_no_report_changes(apply: Apply, database: Database) -> None:
    apply(WITH_REPORT)
    changes = apply(WITH_REPORT, now=LATER)
    assert touched(changes) == {}
    assert (changes.reports.unchanged, changes.new_versions) == (("acme/summary",), ())
    assert source_of(database, "summary").current_version == 1


def test_the_order_of_a_sections_keys_is_no_change(apply: Apply) -> None:
    apply(WITH_REPORT)
    changes = apply(
        altered(
            WITH_REPORT,
            ("        x: carrier\n        y: Total\n", "        y: 'Total'\n        x: carrier\n"),
            ("{name: day1, type: date,", "{type: date, name: day1,"),
        )
    )
    assert touched(changes) == {}


def test_another_title_is_no_new_version(apply: Apply, database: Database) -> None:
    apply(WITH_REPORT)
    changes = apply(altered(WITH_REPORT, ("Delays at a glance", "Delays")))
    assert (touched(changes), changes.new_versions) == ({"reports": ("acme/summary",)}, ())
    assert source_of(database, "summary").title == "Delays"


def test_another_definition_is_a_new_version_and_schedules_stay_pinned(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    changes = apply(altered(WITH_REPORT, ("show: bar", "show: line")), now=LATER)
    assert touched(changes) == {"reports": ("acme/summary",)}
    assert [(new.source, new.version) for new in changes.new_versions] == [("acme/summary", 2)]
    assert version_of(database, 1, "summary").definition["sections"][2]["show"] == "bar"
    assert version_of(database, 2, "summary").definition["sections"][2]["show"] == "line"
    assert version_of(database, 2, "summary").created_at == LATER
    assert pins_of(database, 2) == {"delays": 1, "by-carrier": 1}
    assert schedule_of(database, "weekly").pinned_version == 1


def test_a_query_that_a_report_no_longer_shows_stays_with_the_old_version(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    start, end = WITH_REPORT.index("      - show: bar"), WITH_REPORT.index("schedules:")
    apply(WITH_REPORT[:start] + WITH_REPORT[end:])
    assert pins_of(database, 1) == {"delays": 1, "by-carrier": 1}
    assert pins_of(database, 2) == {"delays": 1}


def test_a_report_may_stand_in_a_file_of_its_own(apply: Apply, database: Database) -> None:
    apply(NAMED + REPORTS, QUERIES)
    assert pins_of(database, 1) == {"delays": 1, "by-carrier": 1}


def test_a_report_may_show_queries_that_are_in_the_database(
    apply: Apply, database: Database
) -> None:
    apply(QUERIES)
    assert touched(apply(NAMED + REPORTS)) == {"reports": ("acme/summary",)}
    assert pins_of(database, 1) == {"delays": 1, "by-carrier": 1}
    assert touched(apply(NAMED + REPORTS)) == {}


@pytest.mark.parametrize(
    "files",
    [(altered(WITH_REPORT, AVERAGED),), (without_report(AVERAGED),)],
    ids=["in the files", "in the database"],
)
def test_a_changed_query_gives_its_reports_a_version_with_the_same_definition(
    apply: Apply, database: Database, files: tuple[str, ...]
) -> None:
    apply(WITH_REPORT)
    before = source_of(database, "summary")
    changes = apply(*files, now=LATER)
    assert touched(changes) == {"queries": ("acme/by-carrier",), "reports": ("acme/summary",)}
    assert [(new.source, new.version) for new in changes.new_versions] == [
        ("acme/by-carrier", 2),
        ("acme/summary", 2),
    ]
    assert source_of(database, "summary") == replace(before, current_version=2)
    first, second = (version_of(database, number, "summary") for number in (1, 2))
    assert second == replace(first, version=2, created_at=LATER)
    assert pins_of(database, 1) == {"delays": 1, "by-carrier": 1}
    assert pins_of(database, 2) == {"delays": 1, "by-carrier": 2}
    assert schedule_of(database, "weekly").pinned_version == 1
    assert touched(apply(*files)) == {}


def test_a_report_and_both_its_queries_changed_make_one_version(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    text = altered(
        WITH_REPORT,
        RENAMED,
        ("y: Total", "y: Minutes"),
        ("- {field: day, direction: desc}", "- {field: day, direction: asc}"),
    )
    changes = apply(text)
    assert [(new.source, new.version) for new in changes.new_versions] == [
        ("acme/delays", 2),
        ("acme/by-carrier", 2),
        ("acme/summary", 2),
    ]
    assert pins_of(database, 2) == {"delays": 2, "by-carrier": 2}
    assert touched(apply(text)) == {}


def test_two_reports_follow_one_query(apply: Apply, database: Database) -> None:
    second = SUMMARY.replace("summary", "another")
    third = "  texts: {title: Texts, sections: [{text: Nothing else.}]}\n"
    apply(WITH_REPORT, f"{NAMED}reports:\n{second}{third}")
    changes = apply(altered(WITH_REPORT, AVERAGED))
    assert changes.reports.changed == ("acme/another", "acme/summary")
    assert pins_of(database, 2, "another") == pins_of(database, 2) == {"delays": 1, "by-carrier": 2}
    assert source_of(database, "texts").current_version == 1


def test_an_archived_report_follows_no_query_until_it_comes_back(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    with database.across.transaction() as connection:
        sources.change(connection, replace(source_of(database, "summary"), archived=True))
    apply(without_report(RENAMED))
    assert source_of(database, "summary").current_version == 1
    text = altered(WITH_REPORT, RENAMED, ("y: Total", "y: Minutes"))
    assert touched(apply(text)) == {"reports": ("acme/summary",)}
    summary = source_of(database, "summary")
    assert (summary.archived, summary.current_version) == (False, 2)
    assert pins_of(database, 2) == {"delays": 1, "by-carrier": 2}


def test_an_archived_report_that_is_in_the_files_is_back_in_use(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    before = source_of(database, "summary")
    with database.across.transaction() as connection:
        sources.change(connection, replace(before, archived=True))
    changes = apply(WITH_REPORT)
    assert (touched(changes), changes.new_versions) == ({"reports": ("acme/summary",)}, ())
    assert source_of(database, "summary") == before


@pytest.mark.parametrize(
    ("change", "query", "message"),
    [
        (
            RENAMED,
            "by-carrier",
            "the query `by-carrier`: the report `summary` no longer fits it, section"
            " \"By airline\": y: 'Total' is no column of the query; it has carrier, Minutes."
            " Change the report together with it",
        ),
        (
            ("aggregate: sum, field: delay", "aggregate: max, field: carrier"),
            "by-carrier",
            "the query `by-carrier`: the report `summary` no longer fits it, section"
            " \"By airline\": y: 'Total' is a text column, not a number."
            " Change the report together with it",
        ),
        (
            ("    parameters:\n", "    parameters:\n      - {name: airline, type: text}\n"),
            "delays",
            "the query `delays`: the report `summary` no longer fits it, section"
            " \"Late flights\": the query needs a value for its parameter 'airline'."
            " Change the report together with it",
        ),
    ],
    ids=["column gone", "type changed", "value needed"],
)
def test_a_query_that_a_report_of_the_database_no_longer_fits_is_refused(
    apply: Apply,
    faults_of: Refuse,
    database: Database,
    change: tuple[str, str],
    query: str,
    message: str,
) -> None:
    apply(WITH_REPORT)
    text = without_report(change)
    (fault,) = faults_of(text)
    assert (fault.line, fault.message) == (line_of(text, f"  {query}:"), message)
    assert source_of(database, query).current_version == 1
    assert source_of(database, "summary").current_version == 1


def test_a_version_of_a_query_that_somebody_else_wrote_is_followed_by_the_next_apply(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(WITH_REPORT)

    def write(label: str) -> None:
        last = version_of(database, source_of(database, "by-carrier").current_version, "by-carrier")
        fields = [{"field": "carrier"}, {"aggregate": "count", "label": label}]
        theirs = last.definition | {"fields": fields}
        with database.across.transaction() as connection:
            sources.add_version(
                connection, replace(last, version=last.version + 1, definition=theirs)
            )

    write("Total")
    assert touched(apply(NAMED)) == {"reports": ("acme/summary",)}
    assert pins_of(database, 2) == {"delays": 1, "by-carrier": 2}
    write("Minutes")
    (fault,) = faults_of(NAMED)
    assert (fault.line, "the report `summary` no longer fits it" in fault.message) == (1, True)


def test_a_query_with_faults_is_the_only_fault(apply: Apply, faults_of: Refuse) -> None:
    text = altered(WITH_REPORT, ("aggregate: sum", "aggregate: som"))
    (fault,) = faults_of(text)
    assert fault.line == line_of(text, "aggregate: som")
    apply(WITH_REPORT)
    (fault,) = faults_of(without_report(("aggregate: sum", "aggregate: som")))
    assert "'som' is not one of" in fault.message


def test_a_changed_dataset_leaves_a_report_of_the_database_to_the_delivery(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    renamed = altered(
        GOOD[: GOOD.index("queries:")], ("delay: {type: decimal}", "lateness: {type: decimal}")
    )
    assert touched(apply(renamed)) == {"datasets": ("acme/flights",)}
    assert source_of(database, "summary").current_version == 1
    # Its other query can change nevertheless.
    end = QUERIES.index("schedules:")
    text = renamed + altered(
        QUERIES[QUERIES.index("queries:") : end],
        ("- {field: delay}", "- {field: lateness, label: delay}"),
    )
    text = text[: text.index("  by-carrier:")]
    assert touched(apply(text)) == {"queries": ("acme/delays",), "reports": ("acme/summary",)}
    assert pins_of(database, 2) == {"delays": 2, "by-carrier": 1}


def test_reports_are_told_to_people_and_programs(apply: Apply) -> None:
    apply(WITH_REPORT)
    changes = apply(without_report(AVERAGED))
    told = json.loads(json.dumps(changes.to_dict()))
    assert told["reports"] == {"created": [], "changed": ["acme/summary"], "unchanged": []}
    assert told["new_versions"][1] == {"source": "acme/summary", "version": 2}
    lines = changes.lines()
    assert lines[lines.index("reports: 1 changed") + 1] == "  changed acme/summary"
    assert "acme/summary has the new version 2" in lines


def test_the_example_of_the_page_on_reports_is_a_catalog(apply: Apply) -> None:
    docs = Path(__file__).parents[2] / "docs"
    catalog, report = (
        re.findall(r"```yaml\n(.*?)```", (docs / name).read_text(), flags=re.DOTALL)[0]
        for name in ("catalog.md", "reports.md")
    )
    changes = apply(catalog, report)
    assert changes.reports.created == ("acme/glance", "acme/punctuality")
    assert "acme/mondays" in changes.schedules.created
    assert touched(apply(catalog, report)) == {}
