"""Many small organisations, each with its own people and weekly schedules."""

from __future__ import annotations

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


def tenants(
    count: int,
    schedules: int,
    *,
    reports: int = 0,
    recipients: str = "bob, dan, cyd",
    first: int = 0,
) -> dict[str, str]:
    """Return the catalogs of ``count`` workspaces with as many ``schedules`` each, by name.

    Args:
        reports: how many of the workspaces deliver a report in place of one of their queries.
        recipients: of each query; dan is not active.
        first: number of the first workspace.
    """
    names = {number: f"tenant-{first + number:02}" for number in range(count)}
    return {
        name: _catalog(name, schedules, report=number < reports).replace(
            "bob, dan, cyd", recipients
        )
        for number, name in names.items()
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
