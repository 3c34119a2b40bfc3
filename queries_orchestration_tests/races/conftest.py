"""How often each race is run."""

from __future__ import annotations

import pytest


@pytest.fixture
def rounds(request: pytest.FixtureRequest) -> int:
    """Ten, and fifty with --soak."""
    return 50 if request.config.getoption("--soak") else 10
