"""Tokens of an identity provider: RS256 or ES256, by the keys that it publishes (JWKS).

Keys are kept for some minutes; a token with a key id that is not among them makes us look again,
but not more often than every half minute, whatever tokens strangers send. One thread at most waits
for the provider, and never a caller whose key is known.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import jwt

from queries_orchestration.web.bearer_tokens import (
    LONGEST_TOKEN,
    Expected,
    KeysUnavailable,
    Named,
    NotSignedIn,
)
from queries_orchestration.web.key_set import UnusableKeySet, fetch_key_set, read_key_set

KEPT_FOR: Final = timedelta(minutes=5)
LOOK_AGAIN_AFTER: Final = timedelta(seconds=30)
STALE_FOR: Final = timedelta(hours=24)
"""For how long keys count that cannot be read again: a provider that is down locks nobody out."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Kept:
    keys: Mapping[str, jwt.PyJWK]
    read_at: datetime


class JwksVerifier:
    """Verifies tokens by the keys under one URL."""

    def __init__(
        self, url: str, expected: Expected, *, fetch: Callable[[str], bytes] = fetch_key_set
    ) -> None:
        self._url = url
        self._expected = expected
        self._fetch = fetch
        self._kept: _Kept | None = None
        self._asked_at: datetime | None = None
        self._is_looking = False
        self._lock = threading.Lock()

    def verify(self, token: str) -> Named:
        """Return whom ``token`` speaks for.

        Raises:
            NotSignedIn: it is not valid.
            KeysUnavailable: the keys have not been read yet, and cannot be, or they are being read
                and the token's is none of those we have.
        """
        key = self._key(_key_id(token))
        if key is None:
            raise NotSignedIn
        # By the key, never by what the token says of itself.
        return self._expected.named(token, key, [key.algorithm_name])

    def _key(self, key_id: str) -> jwt.PyJWK | None:
        now = self._expected.clock()
        kept = self._usable(now)
        if kept is not None and key_id in kept.keys:
            if now >= kept.read_at + KEPT_FOR and self._take_turn(now):
                threading.Thread(target=self._look, args=(now,), daemon=True).start()
            return kept.keys[key_id]
        if self._take_turn(now):
            self._look(now)
            kept = self._usable(now)
        elif self._is_looking:
            kept = None
        if kept is None:
            raise KeysUnavailable("The keys of the identity provider cannot be read now.")
        return kept.keys.get(key_id)

    def _usable(self, now: datetime) -> _Kept | None:
        kept = self._kept
        return kept if kept is not None and now < kept.read_at + STALE_FOR else None

    def _take_turn(self, now: datetime) -> bool:
        """Whether it is for us, now, to ask the provider."""
        with self._lock:
            is_early = self._asked_at is not None and now < self._asked_at + LOOK_AGAIN_AFTER
            if self._is_looking or is_early:
                return False
            self._asked_at, self._is_looking = now, True
            return True

    def _look(self, now: datetime) -> None:
        try:
            self._kept = _Kept(read_key_set(self._fetch(self._url)), now)
        except UnusableKeySet as error:
            # Those we have go on for a while.
            log.warning("token_keys_unavailable why=%s", error)
        finally:
            self._is_looking = False


def _key_id(token: str) -> str:
    try:
        if len(token) > LONGEST_TOKEN:
            raise NotSignedIn
        key_id = jwt.get_unverified_header(token).get("kid")
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise NotSignedIn from None
    if not isinstance(key_id, str):
        raise NotSignedIn
    return key_id
