"""The command, called in this process and as the process that a person starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from queries_orchestration.cli.main import main
from queries_orchestration_tests.house import CATALOG, House, build_house, make_orders


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one command said."""

    status: int
    out: str
    err: str

    def json(self) -> Any:
        """The one JSON document on standard output of a command that is done."""
        assert self.status == 0, self.err or self.out
        return json.loads(self.out)

    def refusal(self) -> dict[str, Any]:
        """The JSON document of a command that is not done."""
        assert self.status in (1, 2)
        assert not self.err
        document: dict[str, Any] = json.loads(self.out)
        return document


class Call(Protocol):
    """Calls the command in this process."""

    def __call__(self, environment: Mapping[str, str], *words: str | Path) -> Answer: ...


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command in this process, in an environment of its own."""

    def called(environment: Mapping[str, str], *words: str | Path) -> Answer:
        capsys.readouterr()
        with monkeypatch.context() as patched:
            for variable, value in environment.items():
                patched.setenv(variable, value)
            with pytest.raises(SystemExit) as ended:
                main([str(word) for word in words])
        said = capsys.readouterr()
        assert isinstance(ended.value.code, int)
        return Answer(status=ended.value.code, out=said.out, err=said.err)

    return called


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with a home that ``queries init`` may make, a source and a catalog file."""

    folder: Path
    environment: dict[str, str]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def catalog(self) -> Path:
        return self.folder / "catalog.yaml"

    def start(self, *words: str | Path) -> subprocess.Popen[str]:
        """Start the command as a process."""
        return subprocess.Popen(
            [sys.executable, "-m", "queries_orchestration", *map(str, words)],
            env=self.environment,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def queries(self, *words: str | Path) -> Answer:
        """Run the command as a process."""
        return answer_of(self.start(*words))


def answer_of(process: subprocess.Popen[str]) -> Answer:
    """Wait for a command and return what it said."""
    out, err = process.communicate(timeout=60)
    return Answer(status=process.returncode, out=out, err=err)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Nothing but a source and a catalog file; the embedded default is all that is set."""
    source = f"sqlite:///{tmp_path / 'shop.db'}"
    make_orders(source, 2_500)
    (tmp_path / "catalog.yaml").write_text(CATALOG)
    root = Path(__file__).parents[2]
    return Place(
        tmp_path,
        {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(root),
            "QUERIES_HOME": str(tmp_path / "home"),
            "QUERIES_DEMO": "1",
            "SHOP_URL": source,
        },
    )


@pytest.fixture
def small_house(tmp_path: Path, sqlite_template: Path) -> House:
    """The house in SQLite alone, for what cannot differ between databases."""
    shutil.copy(sqlite_template, tmp_path / "store.db")
    return build_house(
        tmp_path, f"sqlite:///{tmp_path / 'store.db'}", f"sqlite:///{tmp_path / 'source.db'}"
    )
