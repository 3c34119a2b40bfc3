"""What looks across workspaces is known: whatever else opens the store names one workspace."""

from __future__ import annotations

import ast
from typing import Final

from queries_orchestration_tests.named import ROOT

ACROSS: Final = {
    "catalog/apply.py": "files of several workspaces are applied together",
    "cli/asker.py": "a workspace is looked up by its name",
    "cli/dispatch.py": "all dispatching is stopped and started",
    "cli/follow.py": "what a piece of work waits for, others' before it",
    "cli/history.py": "the history of all schedules",
    "cli/init.py": "since when a dispatcher and the upkeep are silent",
    "cli/lane.py": "the next offer in turn",
    "cli/resend.py": "an occurrence is looked up by its key",
    "cli/tick.py": "a pass, and what is left after it",
    "deliveries/admit_due.py": "hop 1: what is due",
    "deliveries/backfill.py": "the schedules of a backfill of all workspaces",
    "deliveries/check.py": "what is not well anywhere",
    "deliveries/dispatch.py": "hop 1: the pass",
    "deliveries/notify.py": "the notices that wait",
    "deliveries/offer_round.py": "how the pass of a lane's sensor went",
    "deliveries/passes.py": "how the pass of a dispatcher went",
    "deliveries/provider_events.py": "a delivery is looked up by its Message-ID",
    "deliveries/recover.py": "the receives and offers that are lost",
    "deliveries/stop_dispatch.py": "all dispatching is stopped and started",
    "exports/expire.py": "the files whose time is over",
    "exports/sweep.py": "the uploads that no export records",
    "orchestration/launchpad.py": "a schedule or an occurrence is looked up by its id",
    "orchestration/offering.py": "whether all dispatching is stopped",
    "orchestration/source_assets.py": "the sources that Dagster shows",
    "orchestration/taking.py": "whether all dispatching is stopped",
    "receives/publish.py": "offers, which are counted over all workspaces",
    "receives/start.py": "work is looked up by its key, and offered",
    "retention/retain.py": "the workspaces, one after the other",
    "retention/runs.py": "whether what a run of Dagster worked on is done",
    "retention/upkeep.py": "how the jobs of the upkeep went",
    "store/migrate.py": "migrations",
    "store/wall.py": "the wall itself",
    "telling/metrics.py": "what the metrics tell of all",
    "web/asked.py": "who asks is looked up by the names in their token",
}
"""Each module, with what is nobody's or not known to be somebody's yet."""


def test_what_looks_across_workspaces_is_listed_with_why() -> None:
    package = ROOT / "queries_orchestration"
    found = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute)
        and node.attr == "across"
        and isinstance(node.ctx, ast.Load)
        and not (isinstance(node.value, ast.Name) and node.value.id == "roles")
    }
    assert found == set(ACROSS)
