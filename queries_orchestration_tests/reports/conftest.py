"""A source for reports."""

from __future__ import annotations

import pytest

from queries_orchestration_tests.house import make_orders


@pytest.fixture
def orders(source_url: str) -> str:
    """The URL of 2,500 orders."""
    make_orders(source_url, 2_500)
    return source_url
