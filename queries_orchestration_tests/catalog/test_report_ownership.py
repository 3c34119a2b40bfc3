"""Reports that somebody else wrote, and reports that the files lack, on both databases."""

from __future__ import annotations

from dataclasses import replace

from queries_orchestration.model.ids import new_id
from queries_orchestration.store import exports, people, sources
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import (
    GOOD,
    NOW,
    Apply,
    Refuse,
    altered,
    line_of,
    source_of,
    touched,
    workspace_of,
)
from queries_orchestration_tests.catalog.summary import (
    AVERAGED,
    NAMED,
    QUERIES,
    REPORTS,
    WEEKLY,
    WITH_REPORT,
    pins_of,
    without_report,
)
from queries_orchestration_tests.catalog.test_prune import pruned


def give_away(database: Database, title: str = "Delays at a glance") -> None:
    """Let somebody else be the last who wrote the report."""
    with database.across.transaction() as connection:
        summary = source_of(database, "summary")
        sources.change(connection, replace(summary, title=title, written_by="other"))


def export(database: Database) -> None:
    """Ask for a file of the report, which its history then keeps."""
    summary = source_of(database, "summary")
    with database.across.transaction() as connection:
        ann = people.by_name(connection, summary.workspace_id, "ann")
        assert ann is not None
        exports.queue(
            connection,
            summary.workspace_id,
            new_id(),
            purpose="interactive",
            source_id=summary.id,
            version=summary.current_version,
            file_format="pdf",
            runtime_values={},
            actor_id=ann.id,
            time_zone="UTC",
            at=NOW,
        )


def test_a_report_that_somebody_else_changed_is_refused_until_the_file_takes_over(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(WITH_REPORT)
    give_away(database, title="Theirs")
    (fault,) = faults_of(WITH_REPORT)
    assert (fault.line, fault.message) == (
        line_of(WITH_REPORT, "  summary:"),
        "the report `summary` was written by somebody else, and here is another title:"
        " take theirs into the file, or overwrite it with --take-over",
    )
    assert touched(apply(WITH_REPORT, take_over=True)) == {"reports": ("acme/summary",)}
    assert source_of(database, "summary").written_by == "file"
    assert touched(apply(WITH_REPORT)) == {}


def test_somebody_elses_definition_is_a_conflict_and_taking_over_adds_a_version(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(WITH_REPORT)
    give_away(database)
    text = altered(WITH_REPORT, ("show: bar", "show: line"))
    (fault,) = faults_of(text)
    assert "the report `summary` was written by somebody else, and here is another definition" in (
        fault.message
    )
    apply(text, take_over=True)
    assert source_of(database, "summary").current_version == 2


def test_somebody_elses_report_follows_its_queries_and_stays_theirs(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    give_away(database)
    assert touched(apply(without_report(AVERAGED)))["reports"] == ("acme/summary",)
    theirs = source_of(database, "summary")
    assert (theirs.current_version, theirs.written_by) == (2, "other")
    assert pins_of(database, 2) == {"delays": 1, "by-carrier": 2}
    # So it does where the file says the same of it.
    assert touched(apply(WITH_REPORT))["reports"] == ("acme/summary",)
    theirs = source_of(database, "summary")
    assert (theirs.current_version, theirs.written_by) == (3, "other")
    assert touched(apply(WITH_REPORT)) == {}
    assert touched(apply(WITH_REPORT, take_over=True)) == {"reports": ("acme/summary",)}
    assert source_of(database, "summary") == replace(theirs, written_by="file")


def test_a_report_of_the_file_stays_the_files_when_it_follows(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    apply(without_report(AVERAGED), take_over=True)
    assert source_of(database, "summary").written_by == "file"


def test_a_report_that_the_files_lack_is_removed_before_its_queries(
    apply: Apply, database: Database
) -> None:
    apply(WITH_REPORT)
    assert pruned(apply(GOOD, prune=True)) == {
        "removed schedules": ("acme/weekly",),
        "removed reports": ("acme/summary",),
        "removed queries": ("acme/by-carrier",),
    }
    assert pruned(apply(GOOD, prune=True)) == {}
    with database.across.read() as connection:
        names = [row.name for row in sources.listing(connection, workspace_of(database).id)]
    assert names == ["delays"]


def test_a_report_that_history_refers_to_is_archived_with_its_queries_and_comes_back(
    apply: Apply, faults_of: Refuse, database: Database
) -> None:
    apply(WITH_REPORT)
    export(database)
    before = source_of(database, "summary")
    assert pruned(apply(GOOD, prune=True)) == {
        "removed schedules": ("acme/weekly",),
        "archived reports": ("acme/summary",),
        "archived queries": ("acme/by-carrier",),
    }
    assert source_of(database, "summary") == replace(before, archived=True)
    assert pruned(apply(GOOD, prune=True)) == {}
    (fault,) = faults_of(GOOD, NAMED + REPORTS)
    assert "`by-carrier` is archived, not a query that can be run" in fault.message
    apply(WITH_REPORT, prune=True)
    assert source_of(database, "summary") == before
    assert not source_of(database, "by-carrier").archived
    assert touched(apply(WITH_REPORT, prune=True)) == {}


def test_a_report_that_is_pruned_follows_no_query(apply: Apply, database: Database) -> None:
    apply(WITH_REPORT)
    export(database)
    text = without_report(("label: Total", "label: Minutes"))
    assert pruned(apply(text, prune=True))["archived reports"] == ("acme/summary",)
    assert source_of(database, "summary").current_version == 1


def test_nothing_in_the_files_may_show_or_deliver_what_prune_takes_away(
    apply: Apply, faults_of: Refuse
) -> None:
    apply(WITH_REPORT)
    text = GOOD + WEEKLY + REPORTS
    (fault,) = faults_of(text, prune=True)
    assert (fault.line, "takes the query `by-carrier` away" in fault.message) == (
        line_of(text, "query: by-carrier"),
        True,
    )
    text = QUERIES + WEEKLY
    (fault,) = faults_of(text, prune=True)
    assert (fault.line, "takes the report `summary` away" in fault.message) == (
        line_of(text, "report: summary"),
        True,
    )


def test_somebody_elses_report_is_pruned_only_with_take_over_and_keeps_its_queries(
    apply: Apply, database: Database
) -> None:
    apply(QUERIES[: QUERIES.index("schedules:")] + REPORTS)
    give_away(database)
    assert pruned(apply(GOOD, prune=True)) == {"archived queries": ("acme/by-carrier",)}
    assert not source_of(database, "summary").archived
    assert pruned(apply(GOOD, prune=True, take_over=True)) == {
        "removed reports": ("acme/summary",),
        "removed queries": ("acme/by-carrier",),
    }
