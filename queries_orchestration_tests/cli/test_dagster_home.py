"""The Dagster home is made once, whatever starts at the same time."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

from queries_orchestration.cli.dagster_home import make_dagster_home
from queries_orchestration.settings import load_settings

CODE = """
import os
from queries_orchestration.cli.dagster_home import make_dagster_home
from queries_orchestration.settings import load_settings
home = make_dagster_home(load_settings(os.environ))
import dagster as dg
with dg.DagsterInstance.from_config(str(home)) as instance:
    instance.get_runs(limit=1)
"""


def test_processes_that_start_together_on_a_new_home_leave_one_whole_storage(
    tmp_path: Path,
) -> None:
    environment = {"QUERIES_HOME": str(tmp_path), "PATH": ""}
    together = [subprocess.Popen([sys.executable, "-c", CODE], env=environment) for _ in range(3)]

    assert [process.wait(60) for process in together] == [0, 0, 0]

    for database in (tmp_path / "dagster").rglob("*.db"):
        connection = sqlite3.connect(database)
        assert connection.execute("SELECT count(*) FROM alembic_version").fetchone() == (1,)
        connection.close()


def test_a_lost_dagster_yaml_is_there_again_and_a_changed_one_stays(tmp_path: Path) -> None:
    """As `queries check` says: `queries init`."""
    settings = load_settings({"QUERIES_HOME": str(tmp_path)})
    written = make_dagster_home(settings) / "dagster.yaml"
    as_made = written.read_text()

    written.unlink()
    make_dagster_home(settings)
    assert written.read_text() == as_made

    written.write_text("telemetry: {enabled: false}\n")
    make_dagster_home(settings)
    assert written.read_text() == "telemetry: {enabled: false}\n"
