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


def _tend(worker: Worker, *, may_start: bool, is_running: bool = False, receives: int = 0) -> None:
    worker.look()
    worker.tend(may_start=may_start, is_running=is_running, receives=receives)


def test_a_child_is_started_when_the_work_may_start_and_again_when_it_may_again(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _play(tmp_path, monkeypatch, "echo $3 $4 >> told; sleep 0.2")
    _tend(worker, may_start=False)
    assert not told.exists()

    _tend(worker, may_start=True)
    _tend(worker, may_start=True)  # one is at work
    worker.end()
    _tend(worker, may_start=False, receives=1)
    assert told.read_text() == "export the-key\n"
    _tend(worker, may_start=True, receives=1)
    worker.end()

    assert told.read_text() == "export the-key\n" * 2


def test_a_child_that_fails_before_it_began_is_told_with_its_log(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _play(tmp_path, monkeypatch, "echo broken >&2; exit 7")
    _tend(worker, may_start=True)
    worker.end()

    with pytest.raises(LaneFailed, match=r"status 7; see .*/home/export\.log"):
        _tend(worker, may_start=True)

    assert (tmp_path / "home" / "export.log").read_text() == "broken\n"


def test_a_log_that_cannot_be_written_is_told(worker: Worker, tmp_path: Path) -> None:
    (tmp_path / "home" / "export.log").mkdir(parents=True)

    with pytest.raises(LaneFailed, match=r"export\.log cannot be written \(Is a directory\)"):
        _tend(worker, may_start=True)


def test_one_that_is_killed_at_work_is_told_and_followed_by_another(
    worker: Worker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    told = _play(tmp_path, monkeypatch, "echo $4 >> told; kill -9 $$")
    _tend(worker, may_start=True)
    worker.end()
    _tend(worker, may_start=False, is_running=True, receives=1)
    assert not worker.is_at_work
    _tend(worker, may_start=False, is_running=True, receives=1)
    _tend(worker, may_start=True, receives=1)
    worker.end()

    assert told.read_text() == "the-key\n" * 2
    (line,) = capsys.readouterr().err.split("\n")[1:-1]
    assert line.startswith(f"The process of the export lane ended with status -9; see {tmp_path}/")
    assert line.endswith("goes on once its heartbeat has been silent for 120 seconds.")


def test_where_none_begins_anything_no_more_are_started(
    worker: Worker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _play(tmp_path, monkeypatch, "echo $4 >> told")
    for receives in (0, 1, 1):
        _tend(worker, may_start=True, receives=receives)
        worker.end()

    with pytest.raises(LaneFailed, match=r"having begun the work\. See why in .*export\.log"):
        _tend(worker, may_start=True, receives=1)

    assert told.read_text() == "the-key\n" * 3


def test_a_child_goes_on_when_nobody_waits_for_it_and_hears_no_ctrl_c(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = _play(tmp_path, monkeypatch, "set -- $(cat /proc/$$/stat); echo $6 $1 >> told")
    worker = Worker(Settings(home=tmp_path / "home"), "export", "the-key")
    _tend(worker, may_start=True)
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
