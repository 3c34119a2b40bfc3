"""Tokens of the development mode: signed by ourselves, with a key of this home alone."""

from __future__ import annotations

import os
import secrets
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Final

import jwt

from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.settings import Settings
from queries_orchestration.web.bearer_tokens import LONGEST_TOKEN, Expected, Named, NotSignedIn

TOKEN_LIFETIME: Final = timedelta(hours=12)
ALGORITHM: Final = "HS256"


class DevelopmentVerifier:
    """Verifies the tokens of :func:`development_token`."""

    def __init__(self, key: str, expected: Expected) -> None:
        self._key = key
        self._expected = expected

    def verify(self, token: str) -> Named:
        """Return whom ``token`` speaks for.

        Raises:
            NotSignedIn: it is not valid.
        """
        if len(token) > LONGEST_TOKEN:
            raise NotSignedIn
        return self._expected.named(token, self._key, [ALGORITHM])


def development_token(key: str, expected: Expected, named: Named) -> str:
    """Return a token that speaks for a person for twelve hours."""
    now = expected.clock()
    claims = {
        "aud": expected.audience,
        "iat": int(now.timestamp()),
        "exp": int((now + TOKEN_LIFETIME).timestamp()),
        expected.workspace_claim: named.workspace,
        expected.person_claim: named.person,
    }
    if expected.issuer is not None:
        claims["iss"] = expected.issuer
    return jwt.encode(claims, key, algorithm=ALGORITHM)


def development_key(settings: Settings) -> str:
    """Return the key of this home, made when it is asked for the first time.

    Raises:
        InvalidSettings: this is no development mode, or the home cannot be written.
    """
    if not settings.demo:
        raise InvalidSettings(
            "Development tokens are for `make demo` and `make dev` only. Set QUERIES_TOKEN_KEYS_URL"
            " to the keys of your identity provider (see docs/api.md)."
        )
    file = settings.home / "development-key"
    try:
        if not file.exists():
            _make(file)
        return file.read_text(encoding="ascii").strip()
    except OSError as error:
        raise InvalidSettings(
            f"QUERIES_HOME cannot be used: {error.strerror}. Choose another folder."
        ) from error


def _make(file: Path) -> None:
    with tempfile.NamedTemporaryFile("w", dir=file.parent, prefix=".development-key-") as new:
        new.write(f"{secrets.token_urlsafe(48)}\n")
        new.flush()
        try:
            # A link, unlike a rename, leaves the key of a process that was faster.
            os.link(new.name, file)
        except FileExistsError:
            return
