"""Processes of the command, seen while they work."""

from __future__ import annotations

import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from queries_orchestration_tests.cli.conftest import Place

PATIENCE = 60.0
"""Seconds until a test gives up waiting."""


def wait_for_upload(place: Place, command: subprocess.Popen[str]) -> None:
    """Wait until the upload of a file is begun and recorded."""
    end = time.monotonic() + PATIENCE
    with closing(sqlite3.connect(place.home / "queries.db")) as store:
        while time.monotonic() < end and command.poll() is None:
            if store.execute("SELECT 1 FROM exports WHERE upload_id IS NOT NULL").fetchall():
                return
            time.sleep(0.05)
    pytest.fail(f"no file was begun: {command.communicate()}")


def children(pid: int) -> list[int]:
    """The processes that a process has started, by whichever of its threads."""
    listed = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for children in listed for child in children.split()]
