"""A house with the application over it, whose metrics can be read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from queries_orchestration.store.database import Database
from queries_orchestration_tests.house import House
from queries_orchestration_tests.monitoring.scraped import TOKEN
from queries_orchestration_tests.web.site import Site, open_site


@pytest.fixture
def site(house: House) -> Iterator[Site]:
    settings = replace(house.backends.settings, metrics_token=TOKEN)
    with open_site(house.with_backends(replace(house.backends, settings=settings))) as opened:
        yield opened


@pytest.fixture
def database(store_url: str) -> Database:
    return Database(store_url)
