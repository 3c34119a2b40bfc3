"""The rules of Prometheus and the dashboard: as the table has them, and of what there is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from typing import Any, Final

import pytest
import yaml
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.registry import Collector

from queries_orchestration.model.alarms import ALARMS
from queries_orchestration.store.vitals import LaneVitals, Vitals
from queries_orchestration.telling.metrics import families
from queries_orchestration.web.meters import LinkRefusals
from queries_orchestration_tests.monitoring.alert_rules import RULES, rules_text
from queries_orchestration_tests.monitoring.scraped import samples_of
from queries_orchestration_tests.named import ROOT, rows_of_table

DASHBOARD: Final = ROOT / "deploy/grafana/queries.json"
MONITORING: Final = (ROOT / "docs/monitoring.md").read_text()
CONTENT: Final = yaml.safe_load(RULES.read_text())["groups"][0]["rules"]
_NO_PROMTOOL: Final = "promtool is missing; install prometheus"
_METRIC: Final = re.compile(r"\bqueries_[a-z_]+")


@pytest.fixture
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        if os.environ.get("CI"):
            pytest.fail(_NO_PROMTOOL)
        pytest.skip(_NO_PROMTOOL)
    return found


def metrics() -> set[str]:
    """The names of all series that there are."""
    read = Vitals(
        silences={"deliveries": 0},
        errors={"deliveries": 0},
        upkeep={},
        is_stopped=False,
        due=0,
        due_lag=0,
        lanes={"delivery": LaneVitals()},
        unsent_notices=0,
        counters=[],
    )
    told = [*families(read), *LinkRefusals().collect()]
    # Of a counter that has no series yet, too.
    names = {f"{one.name}_total" if one.type == "counter" else one.name for one in told}
    return names | {"queries_store_unavailable"}


def test_the_file_is_that_of_the_table_of_alarms() -> None:
    assert RULES.read_text() == rules_text(), "run `make alerts`"


def test_prometheus_takes_the_rules_and_each_goes_off_where_it_should(promtool: str) -> None:
    tests = RULES.with_name("alerts_test.yaml")
    for words in (["check", "rules", str(RULES)], ["test", "rules", str(tests)]):
        done = subprocess.run([promtool, *words], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
    tried = {
        (one["alertname"], bool(one["exp_alerts"]))
        for test in yaml.safe_load(tests.read_text())["tests"]
        for one in test["alert_rule_test"]
    }
    assert tried == {(rule["alert"], fires) for rule in CONTENT for fires in (True, False)}


def test_each_alarm_leads_to_a_place_of_the_handbook_that_there_is() -> None:
    for rule in CONTENT:
        file, _, anchor = rule["annotations"]["runbook"].partition("#")
        page = (ROOT / file).read_text()
        headings = {
            re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
            for title in re.findall(r"^#+ (.+)$", page, re.MULTILINE)
        }
        assert anchor in headings | set(re.findall(r'<a id="([^"]+)"></a>', page)), anchor


def test_each_alarm_has_a_row_of_its_code_that_says_where_to_look_and_what_to_do() -> None:
    rows = rows_of_table((ROOT / "docs/operations.md").read_text(), begin="`")
    told = {row[0]: row for row in rows if "<a id=" in row[0]}
    wanted = {f'`{alarm.code}` <a id="{alarm.code}"></a>' for alarm in ALARMS}
    assert set(told) == wanted
    assert all(len(row) == 4 and all(row) for row in told.values())


def test_the_page_of_monitoring_has_each_alarm_with_its_rule() -> None:
    rows = rows_of_table(MONITORING.partition("## Alarms")[2], begin="`Queries")
    assert [(row[0], row[1], row[2]) for row in rows if row[1]] == [
        (f"`{alarm.name}`", f"[`{alarm.code}`](operations.md#{alarm.code})", alarm.severity)
        for alarm in ALARMS
    ]


def test_the_page_of_monitoring_has_each_metric_and_no_other() -> None:
    rows = rows_of_table(MONITORING.partition("## Metrics")[2], begin="`queries_")
    assert sorted(re.findall(_METRIC, " ".join(row[0] for row in rows))) == sorted(metrics())


def test_rules_and_dashboard_ask_for_what_there_is() -> None:
    asked = [rule["expr"] for rule in CONTENT]
    asked += [target["expr"] for panel in panels() for target in panel["targets"]]
    assert {name for one in asked for name in _METRIC.findall(one)} <= metrics()


def test_the_dashboard_shows_every_metric(promtool: str) -> None:
    asked = [target["expr"] for panel in panels() for target in panel["targets"]]
    assert {name for one in asked for name in _METRIC.findall(one)} == metrics()
    assert len({panel["id"] for panel in panels()}) == len(panels())
    rules = [{"record": f"panel:{n}", "expr": one} for n, one in enumerate(map(_whole, asked))]
    done = subprocess.run(
        [promtool, "check", "rules", "/dev/stdin"],
        input=yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _whole(expression: str) -> str:
    return expression.replace("$__rate_interval", "5m").replace("$__range", "1d")


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel["type"] != "row"]


def test_what_alarms_watch_for_growth_is_there_before_it_grows() -> None:
    class Nothing(Collector):
        def collect(self) -> Any:
            return families(
                Vitals(
                    silences={"deliveries": 0},
                    errors={"deliveries": 0},
                    upkeep={},
                    is_stopped=False,
                    due=0,
                    due_lag=0,
                    lanes={},
                    unsent_notices=0,
                    counters=[],
                )
            )

    registry = CollectorRegistry()
    registry.register(Nothing())
    samples = samples_of(generate_latest(registry).decode())
    for alarm in ALARMS:
        if alarm.within is None:
            continue
        assert [
            value
            for (name, labels), value in samples.items()
            if name == alarm.metric and labels >= set(alarm.only.items())
        ], alarm.code
