"""A house with the application over it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from queries_orchestration_tests.house import House
from queries_orchestration_tests.web.office import CATALOG
from queries_orchestration_tests.web.site import Site, open_site


@pytest.fixture
def site(house: House) -> Iterator[Site]:
    with open_site(house) as opened:
        yield opened


@pytest.fixture
def office(site: Site) -> Site:
    """The application over more people, see ``office.py``."""
    site.house.apply(CATALOG)
    return site
