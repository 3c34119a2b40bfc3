"""Tokens of an identity provider: RS256 or ES256, by the keys that it publishes (JWKS).

Keys are kept for some minutes; a token with a key id that is not among them makes us look again,
but not more often than every half minute, whatever tokens strangers send.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

import jwt

from queries_orchestration.web.bearer_tokens import (
    LONGEST_TOKEN,
    Expected,
    KeysUnavailable,
    Named,
    NotSignedIn,
)

KEPT_FOR: Final = timedelta(minutes=5)
LOOK_AGAIN_AFTER: Final = timedelta(seconds=30)
STALE_FOR: Final = timedelta(hours=24)
"""For how long keys count that cannot be read again: a provider that is down locks nobody out."""

_ALGORITHMS: Final = {"RSA": "RS256", "EC": "ES256"}
_MOST_BYTES: Final = 256 * 1024
_SECONDS: Final = 5.0


class JwksVerifier:
    """Verifies tokens by the keys under one URL."""

    def __init__(
        self, url: str, expected: Expected, *, fetch: Callable[[str], bytes] | None = None
    ) -> None:
        self._url = url
        self._expected = expected
        self._fetch = fetch or _fetch
        self._keys: dict[str, jwt.PyJWK] = {}
        self._read_at: datetime | None = None
        self._asked_at: datetime | None = None
        self._lock = threading.Lock()

    def verify(self, token: str) -> Named:
        """Return whom ``token`` speaks for.

        Raises:
            NotSignedIn: it is not valid.
            KeysUnavailable: the keys have not been read yet, and cannot be.
        """
        try:
            if len(token) > LONGEST_TOKEN:
                raise NotSignedIn
            key_id = jwt.get_unverified_header(token).get("kid")
        except (jwt.PyJWTError, ValueError):
            raise NotSignedIn from None
        key = self._key(key_id) if isinstance(key_id, str) else None
        if key is None:
            raise NotSignedIn
        # By the key, never by what the token says of itself.
        return self._expected.named(token, key, [_ALGORITHMS[key.key_type or ""]])

    def _key(self, key_id: str) -> jwt.PyJWK | None:
        with self._lock:
            now = self._expected.clock()
            is_kept = self._read_at is not None and now < self._read_at + KEPT_FOR
            may_ask = self._asked_at is None or now >= self._asked_at + LOOK_AGAIN_AFTER
            if may_ask and not (is_kept and key_id in self._keys):
                self._asked_at = now
                self._look(now)
            if self._read_at is None or now >= self._read_at + STALE_FOR:
                raise KeysUnavailable("The keys of the identity provider cannot be read now.")
            return self._keys.get(key_id)

    def _look(self, now: datetime) -> None:
        try:
            keys = _usable(json.loads(self._fetch(self._url)))
        except (URLError, OSError, ValueError):
            return  # those we have go on for a while
        self._keys, self._read_at = keys, now


def _usable(document: Any) -> dict[str, jwt.PyJWK]:
    """Return the keys that sign tokens as we take them, by their ids."""
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ValueError("no set of keys")  # noqa: TRY004 - a fault of the document
    found: dict[str, jwt.PyJWK] = {}
    for one in listed:
        if not isinstance(one, dict) or one.get("use", "sig") != "sig":
            continue
        algorithm = _ALGORITHMS.get(one.get("kty", ""))
        is_known = algorithm is not None and one.get("alg", algorithm) == algorithm
        if not is_known or not isinstance(one.get("kid"), str):
            continue
        if one["kty"] == "EC" and one.get("crv") != "P-256":
            continue
        try:
            found[one["kid"]] = jwt.PyJWK(one, algorithm=algorithm)
        except jwt.PyJWTError:
            continue  # the others still count
    return found


def _fetch(url: str) -> bytes:
    request = Request(url, headers={"Accept": "application/json"})  # noqa: S310 - as the settings
    with urlopen(request, timeout=_SECONDS) as response:  # noqa: S310
        body: bytes = response.read(_MOST_BYTES + 1)
    if len(body) > _MOST_BYTES:
        raise ValueError("too large")
    return body
