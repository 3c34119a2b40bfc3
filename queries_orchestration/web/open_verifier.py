"""Who says whom a token speaks for: the identity provider, or in development ourselves."""

from __future__ import annotations

from queries_orchestration.model.clock import Clock
from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.settings import Settings
from queries_orchestration.web.bearer_tokens import Expected, TokenVerifier
from queries_orchestration.web.development_tokens import DevelopmentVerifier, development_key
from queries_orchestration.web.jwks import JwksVerifier


def expected_of(settings: Settings, clock: Clock) -> Expected:
    """Return what tokens must say here."""
    return Expected(
        audience=settings.token_audience,
        issuer=settings.token_issuer or None,
        workspace_claim=settings.token_workspace_claim,
        person_claim=settings.token_person_claim,
        clock=clock,
    )


def open_verifier(settings: Settings, clock: Clock) -> TokenVerifier:
    """Return what verifies tokens here.

    Raises:
        InvalidSettings: nobody could sign in.
    """
    expected = expected_of(settings, clock)
    if settings.token_keys_url:
        if expected.issuer is None:
            raise InvalidSettings(
                "QUERIES_TOKEN_KEYS_URL needs QUERIES_TOKEN_ISSUER: whose tokens they are."
            )
        return JwksVerifier(settings.token_keys_url, expected)
    return DevelopmentVerifier(development_key(settings), expected)
