"""Whatever catalogs follow one another: a report shows the current versions of its queries."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings, strategies as st

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.store.database import Database
from queries_orchestration_tests.catalog.acme import NOW, source_of, touched
from queries_orchestration_tests.catalog.summary import pins_of

SHOWN = {"a": ("q",), "b": ("q", "r"), "c": ("r",)}
BASE = {
    "workspace": {"name": "acme", "title": "Acme", "time_zone": "UTC"},
    "connections": {"w": {"url_variable": "W"}},
    "datasets": {
        "d": {
            "connection": "w",
            "relation": "t",
            "fields": {"id": {"type": "integer"}},
            "key": ["id"],
            "access": [{"who": {"everyone": True}, "fields": "all", "rows": "all"}],
        }
    },
}


def _query(label: str) -> dict[str, object]:
    return {
        "title": "Q",
        "dataset": "d",
        "fields": [{"field": "id"}, {"field": "id", "label": label}],
    }


def _report(name: str, text: str) -> dict[str, object]:
    numbers = [
        {"show": "number", "title": query, "query": query, "value": "id"} for query in SHOWN[name]
    ]
    return {"title": name, "sections": [{"text": text}, *numbers]}


STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["q", "r"]), st.sampled_from(["x", "y"])),
        st.dictionaries(st.sampled_from(sorted(SHOWN)), st.sampled_from(["some", "more"])),
    ),
    min_size=2,
    max_size=4,
)


@settings(max_examples=20)
@given(steps=STEPS)
def test_a_report_shows_the_current_versions_of_its_queries(
    sqlite_template: Path, steps: list[tuple[dict[str, str], dict[str, str]]]
) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "catalog.yaml"
        database = Database(f"sqlite:///{shutil.copy(sqlite_template, folder)}")
        said: dict[str, str] = {}
        everything = ({"q": "x", "r": "x"}, dict.fromkeys(SHOWN, "some"))
        for queries, reports in (everything, *steps):
            changed = {name for name, text in (queries | reports).items() if said.get(name) != text}
            changed |= {name for name in SHOWN if changed.intersection(SHOWN[name])}
            said |= queries | reports
            catalog = BASE | {
                "queries": {name: _query(label) for name, label in queries.items()},
                "reports": {name: _report(name, text) for name, text in reports.items()},
            }
            file.write_text(json.dumps(catalog))
            changes = apply_catalog(
                database, [file], clock=lambda: NOW, by=OPERATOR, environment={}
            )
            # Each that changed got one version, and nothing else did.
            assert sorted(new.source for new in changes.new_versions) == sorted(
                f"acme/{name}" for name in changed
            )
            for name, shown in SHOWN.items():
                report = source_of(database, name)
                assert pins_of(database, report.current_version, name) == {
                    query: source_of(database, query).current_version for query in shown
                }
            again = apply_catalog(database, [file], clock=lambda: NOW, by=OPERATOR, environment={})
            assert (touched(again), again.new_versions) == ({}, ())
