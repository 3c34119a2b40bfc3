"""One run of the demo for all its tests."""

from __future__ import annotations

import pytest

from queries_orchestration_tests.scenarios.demo_run import Demo, demo_in


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    """What the demo left behind; its tests are one group, so that it runs once."""
    return demo_in(tmp_path_factory.mktemp("demo"))
