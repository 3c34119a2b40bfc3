"""A person's browser before a real server: one of each for all tests of a module."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page

from queries_orchestration.web.app import create_app
from queries_orchestration.web.bearer_tokens import Expected, Named
from queries_orchestration.web.development_tokens import DevelopmentVerifier, development_token
from queries_orchestration_tests.chromium import chromium
from queries_orchestration_tests.house import House, build_house
from queries_orchestration_tests.postgres import free_port
from queries_orchestration_tests.web.site import KEY


@dataclass(frozen=True)
class Served:
    """A house behind a real server."""

    house: House
    address: str
    expected: Expected

    def token(self, person: str) -> str:
        """A token that speaks for a person."""
        return development_token(KEY, self.expected, Named(workspace="acme", person=person))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with chromium() as launched:
        yield launched


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory, sqlite_template: Path) -> Iterator[Served]:
    """A house in development mode, served."""
    folder = tmp_path_factory.mktemp("served")
    shutil.copy(sqlite_template, folder / "store.db")
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    house = build_house(
        folder,
        f"sqlite:///{folder}/store.db",
        f"sqlite:///{folder}/source.db",
        at=datetime.now(UTC).replace(microsecond=0),  # browsers look at their own clock
        settings={"QUERIES_DEMO": "1", "QUERIES_PUBLIC_URL": address},
    )
    expected = Expected(
        audience="queries",
        issuer=None,
        workspace_claim="workspace",
        person_claim="sub",
        clock=house.clock,
    )
    app = create_app(house.backends, DevelopmentVerifier(KEY, expected))
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", access_log=False)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield Served(house, address, expected)
    server.should_exit = True
    thread.join(10)


@pytest.fixture
def stranger(browser: Browser, served: Served, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A fresh browser; whatever a page complains of, our policy among it, fails the test."""
    context = browser.new_context(base_url=served.address, **getattr(request, "param", {}))
    page = context.new_page()
    page.set_default_timeout(10_000)
    complaints: list[str] = []
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "console",
        lambda told: (
            complaints.append(told.text)
            if told.type == "error" and "Failed to load resource" not in told.text
            else None
        ),
    )
    yield page
    context.close()
    assert complaints == []


@pytest.fixture
def ada(stranger: Page, served: Served) -> Page:
    """Ada's browser, signed in."""
    stranger.context.add_cookies(
        [{"name": "session", "value": served.token("ada"), "url": served.address}]
    )
    return stranger
