"""A house whose settings a Dagster run finds, and real Dagster instances."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from queries_orchestration_tests.house import House


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[dg.DagsterInstance]:
    """A real instance on disk."""
    folder = tmp_path / "dagster"
    folder.mkdir()
    with dg.instance_for_test(temp_dir=str(folder)) as one:
        yield one


@pytest.fixture
def job_house(house: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """The house, with its environment where a run looks for its settings."""
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    return house
