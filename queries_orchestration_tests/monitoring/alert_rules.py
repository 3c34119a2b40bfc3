"""The alarms as rules of Prometheus, as ``deploy/prometheus/alerts.yaml`` has them.

``python -m queries_orchestration_tests.monitoring.alert_rules`` writes that file.
"""

from __future__ import annotations

from typing import Any, Final

import yaml

from queries_orchestration.model.alarms import ALARMS, Alarm, prometheus_time
from queries_orchestration_tests.named import ROOT

RULES: Final = ROOT / "deploy/prometheus/alerts.yaml"
HANDBOOK: Final = "docs/operations.md"

NOT_SCRAPED: Final[dict[str, Any]] = {
    "alert": "QueriesNotScraped",
    "expr": "absent(queries_store_unavailable)",
    "for": "5m",
    "labels": {"severity": "critical"},
    "annotations": {
        "summary": "Prometheus reads no metrics of queries, so that no other alarm can go off.",
        "runbook": "docs/monitoring.md#nothing-is-scraped",
    },
}
"""The one alarm that ``queries check`` has no word for."""


_HEAD: Final = """\
# Written by `make alerts` from queries_orchestration/model/alarms.py: change that table instead.
"""


def rules_text() -> str:
    """Return the file of rules as it is checked in."""
    rules = [*(_rule(alarm) for alarm in ALARMS), NOT_SCRAPED]
    groups = {"groups": [{"name": "queries", "rules": rules}]}
    return _HEAD + yaml.safe_dump(groups, sort_keys=False, width=1_000, allow_unicode=True)


def _rule(alarm: Alarm) -> dict[str, Any]:
    rule: dict[str, Any] = {"alert": alarm.name, "expr": alarm.expression}
    if alarm.lasting:
        rule["for"] = prometheus_time(alarm.lasting)
    rule["labels"] = {"severity": alarm.severity, "code": alarm.code}
    rule["annotations"] = {"summary": alarm.summary, "runbook": f"{HANDBOOK}#{alarm.code}"}
    return rule


if __name__ == "__main__":
    RULES.write_text(rules_text())
