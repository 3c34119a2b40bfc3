from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration_tests.storage.files import PUBLIC_URL, open_files


@pytest.fixture
def local_storage(tmp_path: Path) -> LocalStorage:
    return open_files(tmp_path / "files")


class Fetched(NamedTuple):
    """What a link gives to whoever opens it."""

    content: bytes
    file_name: str
    content_type: str


Fetch = Callable[[str, datetime], Fetched]


@pytest.fixture
def fetch(local_storage: LocalStorage) -> Fetch:
    """Opens a link at a moment; raises LinkRefused as the link's server would refuse."""

    def open_link(url: str, now: datetime) -> Fetched:
        root, _, token = url.rpartition("/")
        assert root == f"{PUBLIC_URL}/files"
        found = local_storage.redeem(token, now=now)
        with found.stream as stream:
            content = stream.read()
        assert found.size == len(content)
        return Fetched(content, found.file_name, found.content_type)

    return open_link


@pytest.fixture(params=["local_storage"])
def storage(request: pytest.FixtureRequest) -> Storage:
    """Every backend in turn: what holds for one holds for all."""
    backend: Storage = request.getfixturevalue(request.param)
    return backend
