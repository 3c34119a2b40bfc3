"""The application over a house, asked as its callers would ask it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from fastapi.testclient import TestClient

from queries_orchestration.web.app import create_app
from queries_orchestration.web.bearer_tokens import Expected, Named
from queries_orchestration.web.development_tokens import DevelopmentVerifier, development_token
from queries_orchestration_tests.house import House

PUBLIC_URL = "https://queries.example.org"
"""As the house has it."""
KEY = "a key of the development mode that only tests have"


@dataclass(frozen=True, kw_only=True)
class Site:
    """The application, asked by anybody."""

    house: House
    client: TestClient
    expected: Expected

    def token(self, person: str, *, workspace: str = "acme") -> str:
        """A token that speaks for a person."""
        return development_token(KEY, self.expected, Named(workspace=workspace, person=person))

    def as_(self, person: str, *, workspace: str = "acme") -> dict[str, str]:
        """The headers of a request by a person."""
        return {"Authorization": f"Bearer {self.token(person, workspace=workspace)}"}


@contextmanager
def open_site(house: House) -> Iterator[Site]:
    """Serve the application over a house, in this process."""
    expected = Expected(
        audience="queries",
        issuer=None,
        workspace_claim="workspace",
        person_claim="sub",
        clock=house.clock,
    )
    app = create_app(house.backends, DevelopmentVerifier(KEY, expected))
    # What fails unforeseen is an answer here, as it is behind a server.
    with TestClient(
        app, base_url=PUBLIC_URL, follow_redirects=False, raise_server_exceptions=False
    ) as client:
        yield Site(house=house, client=client, expected=expected)
