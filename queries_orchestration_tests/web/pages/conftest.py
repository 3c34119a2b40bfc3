"""The pages over a house in development mode."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from queries_orchestration_tests.house import House, build_house
from queries_orchestration_tests.web.pages.visit import Visit
from queries_orchestration_tests.web.site import Site, open_site


@pytest.fixture
def demo_house(tmp_path: Path, store_url: str, source_url: str) -> House:
    """The house in development mode."""
    return build_house(tmp_path, store_url, source_url, settings={"QUERIES_DEMO": "1"})


@pytest.fixture
def demo_site(demo_house: House) -> Iterator[Site]:
    """The application over it."""
    with open_site(demo_house) as opened:
        yield opened


@pytest.fixture
def ada(demo_site: Site) -> Visit:
    """Ada, who owns the schedule."""
    return Visit(demo_site).sign_in("ada")


@pytest.fixture
def bob(demo_site: Site) -> Visit:
    """Bob, a reader who may open nothing."""
    return Visit(demo_site).sign_in("bob")
