"""The good catalog with a report over two queries, and what became of it in the database."""

from __future__ import annotations

from queries_orchestration.store import report_queries
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import altered, changed, source_of

NAMED = "workspace: {name: acme}\n"
BY_CARRIER = """\
  by-carrier:
    title: Delay by carrier
    dataset: flights
    fields:
      - {field: carrier}
      - {aggregate: sum, field: delay, label: Total}
"""
SUMMARY = """\
  summary:
    title: Delays at a glance
    parameters:
      - {name: day1, type: date, default: {start_of: month}}
    sections:
      - {text: "What was **late**."}
      - show: table
        title: Late flights
        query: delays
        values: {since: {parameter: day1}}
        columns: [day, carrier, delay]
        totals: [delay]
      - show: bar
        title: By airline
        query: by-carrier
        x: carrier
        y: Total
"""
WEEKLY = """\
  weekly:
    title: The week
    report: summary
    owner: ann
    cron: "0 7 * * 1"
    format: pdf
    recipients: [bob]
    values: {day1: 2027-01-02}
"""
REPORTS = f"reports:\n{SUMMARY}"
QUERIES = changed(("schedules:\n", f"{BY_CARRIER}schedules:\n"))
"""Both queries and the schedule of one."""
WITH_REPORT = altered(QUERIES, ("schedules:\n", f"{REPORTS}schedules:\n{WEEKLY}"))
"""All of it."""
RENAMED = ("label: Total", "label: Minutes")
"""Makes a version of ``by-carrier`` that the report does not fit."""
AVERAGED = ("{aggregate: sum, field: delay,", "{aggregate: avg, field: delay,")
"""Makes a version of ``by-carrier`` that the report fits."""


def without_report(*replacements: tuple[str, str]) -> str:
    """Return the queries alone, changed."""
    return altered(QUERIES, *replacements)


def pins_of(database: Database, version: int, name: str = "summary") -> dict[str, int]:
    """Return the versions of the queries that a version of a report shows, by their names."""
    report = source_of(database, name)
    with database.across.read() as connection:
        shown = report_queries.of_version(connection, report.workspace_id, report.id, version)
    return {query: one.version for query, one in shown.items()}
