"""What one run of the demo left behind; it is run as a person runs it."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Demo:
    """What one run of the demo left behind."""

    folder: Path
    printed: str
    summary: dict[str, Any]

    @property
    def source(self) -> Path:
        """The source database."""
        return self.folder / "flights.db"

    def occurrence(self, workspace: str, schedule: str) -> dict[str, Any]:
        """Return the one occurrence of a schedule's slot."""
        return self._one(workspace, schedule, "recurrence")

    def run_now(self, workspace: str, schedule: str) -> dict[str, Any]:
        """Return the one occurrence that somebody asked for."""
        return self._one(workspace, schedule, "run-now")

    def _one(self, workspace: str, schedule: str, via: str) -> dict[str, Any]:
        (found,) = (
            one
            for one in self.summary["occurrences"]
            if (one["workspace"], one["schedule"], one["via"]) == (workspace, schedule, via)
        )
        assert isinstance(found, dict)
        return found

    def file(self, workspace: str, schedule: str) -> Path:
        """Return where the file of a schedule lies."""
        return Path(self.occurrence(workspace, schedule)["file"]["location"])

    def flights(self, statement: str, *values: object) -> list[tuple[Any, ...]]:
        """Ask the source database itself."""
        with closing(sqlite3.connect(self.source)) as database:
            return database.execute(statement, values).fetchall()


def run_demo(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the demo to its end."""
    return subprocess.run(
        [sys.executable, "-m", "examples.demo", *words],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        timeout=600,
        check=False,
    )


def demo_in(folder: Path) -> Demo:
    """Run the demo in ``folder``; everything it promises must come out."""
    done = run_demo("--into", str(folder))
    assert done.returncode == 0, done.stdout + done.stderr
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    return Demo(folder=folder, printed=done.stdout, summary=summary)
