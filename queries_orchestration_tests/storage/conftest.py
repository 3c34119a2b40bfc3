from __future__ import annotations

from pathlib import Path

import pytest

from queries_orchestration.storage import open_storage
from queries_orchestration.storage.interface import Storage


@pytest.fixture
def local_storage(tmp_path: Path) -> Storage:
    return open_storage((tmp_path / "files").as_uri())


@pytest.fixture(params=["local_storage"])
def storage(request: pytest.FixtureRequest) -> Storage:
    """Every backend in turn: what holds for one holds for all."""
    backend: Storage = request.getfixturevalue(request.param)
    return backend
