"""A place on disk with everything of an example, and the ``queries`` command that works there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = Path(__file__).parent
CATALOG: Final = (EXAMPLES / "catalog" / "new-york.yaml", EXAMPLES / "catalog" / "berlin.yaml")
FAY_MOVES_ON: Final = EXAMPLES / "changes" / "fay-moves-on.yaml"
EVERY_FIVE_MINUTES: Final = EXAMPLES / "changes" / "every-five-minutes.yaml"


class CommandFailed(Exception):
    """The command ended with another status than 0; the text is what it said."""


@dataclass(frozen=True, slots=True)
class Place:
    """``folder`` is absolute; it becomes ``QUERIES_HOME``."""

    folder: Path

    @property
    def flights(self) -> Path:
        """The source database."""
        return self.folder / "flights.db"

    def environment(self) -> dict[str, str]:
        """Return the environment of a process that works here, whatever else is set outside."""
        outside = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("QUERIES_", "DAGSTER_"))
        }
        return outside | {
            "QUERIES_HOME": str(self.folder),
            "QUERIES_DEMO": "1",
            "FLIGHTS_DATABASE_URL": f"sqlite:///{self.flights}",
            "DAGSTER_HOME": str(self.folder / "dagster"),
        }

    def queries(self, *words: str | Path) -> dict[str, Any]:
        """Run ``queries WORDS --json`` and return its answer.

        Raises:
            CommandFailed: it refused or failed.
        """
        done = subprocess.run(
            [sys.executable, "-m", "queries_orchestration", *map(str, words), "--json"],
            env=self.environment(),
            cwd=ROOT,
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        if done.returncode != 0:
            said = done.stderr.strip() or done.stdout.strip()
            raise CommandFailed(f"`queries {words[0]}` ended with {done.returncode}:\n{said}")
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


def shown(path: str | Path) -> str:
    """Return a path as a person types it: relative to where the person is, if below."""
    here = Path.cwd()
    path = Path(path)
    return str(path.relative_to(here) if path.is_relative_to(here) else path)
