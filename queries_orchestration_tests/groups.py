"""Tests that share what is dear to start: one worker runs all of a group, one after the other.

The marks of pytest-xdist have no effect with pytest 9.2, which no longer tells a test by the name
that they change.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadGroupScheduling  # type: ignore[import-untyped]

GROUPS: Final = {
    "scenarios/test_demo": "demo",  # test_demo_report, too: the demo runs once
    "scenarios/test_dagster_dev": "dagster-dev",
    "web/browser/": "browser",
}


def group_of(nodeid: str) -> str:
    """Return the group of a test; one that is in none is its own."""
    for begins, group in GROUPS.items():
        if nodeid.startswith(f"queries_orchestration_tests/{begins}"):
            return group
    return nodeid


class GroupScheduling(LoadGroupScheduling):  # type: ignore[misc]
    """Gives the workers groups, and single tests."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
