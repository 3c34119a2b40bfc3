"""Many small organisations, each with its own people and weekly schedules."""

from __future__ import annotations

from collections.abc import Mapping

from queries_orchestration_tests.house import CATALOG

REPORT = """\
reports:
  orders:
    title: The orders
    sections:
      - {show: table, title: Each order, query: all-orders, totals: [amount]}
schedules:
  report:
    title: Weekly report
    report: orders
    owner: ada
    cron: 0 8 * * 1
    format: pdf
    recipients: [cyd]
"""


def tenants(count: int, schedules: int, *, reports: int = 0) -> Mapping[str, str]:
    """Return the catalogs of ``count`` workspaces with as many ``schedules`` each.

    Args:
        reports: how many of the workspaces deliver a report in place of one of their queries.
    """
    return {
        f"tenant-{number:02}": _catalog(f"tenant-{number:02}", schedules, report=number < reports)
        for number in range(count)
    }


def _catalog(name: str, schedules: int, *, report: bool) -> str:
    own = CATALOG.replace("name: acme", f"name: {name}").replace("@example", f"@{name}.example")
    head, weekly = own.split("schedules:\n")
    queries = schedules - 1 if report else schedules
    return (
        head
        + (REPORT if report else "schedules:\n")
        + "".join(weekly.replace("  weekly:", f"  weekly-{one}:") for one in range(queries))
    )
