"""The child processes of ``--work``, seen from the command; other programs play them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from queries_orchestration.cli.lane_process import LaneFailed, Worker
from queries_orchestration.settings import Settings


@pytest.fixture
def worker(tmp_path: Path) -> Worker:
    return Worker(Settings(home=tmp_path / "home"), "export", "the-key")


def test_a_child_is_started_when_the_work_may_start_and_again_when_it_may_again(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _play(tmp_path, monkeypatch, "echo $3 $4 >> told; sleep 0.2")
    worker.tend(may_start=False)
    assert not told.exists()

    worker.tend(may_start=True)
    worker.tend(may_start=True)  # one is at work
    worker.end()
    worker.tend(may_start=False)
    assert told.read_text() == "export the-key\n"
    worker.tend(may_start=True)
    worker.end()

    assert told.read_text() == "export the-key\n" * 2


def test_a_child_that_fails_is_told_with_its_log(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _play(tmp_path, monkeypatch, "echo broken >&2; exit 7")
    worker.tend(may_start=True)
    worker.end()

    with pytest.raises(LaneFailed, match=r"status 7; see .*/home/export\.log"):
        worker.tend(may_start=True)

    assert (tmp_path / "home" / "export.log").read_text() == "broken\n"


def test_a_child_goes_on_when_nobody_waits_for_it_and_hears_no_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _play(tmp_path, monkeypatch, "set -- $(cat /proc/$$/stat); echo $6 $1 >> told")
    worker = Worker(Settings(home=tmp_path / "home"), "export", "the-key")
    worker.tend(may_start=True)
    worker.end()

    session, process = told.read_text().split()
    assert session == process  # a session of its own gets no signal of our terminal


def _play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> Path:
    """Let a shell script be what is started; returns the file that it may write."""
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\ncd {tmp_path}\n{script}\n")
    shell.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(shell))
    return tmp_path / "told"
