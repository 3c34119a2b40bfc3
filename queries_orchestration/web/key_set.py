"""The set of keys that an identity provider publishes: fetched, and read with care."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from typing import Any, Final
from urllib.request import HTTPRedirectHandler, OpenerDirector, Request, build_opener

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

MOST_BYTES: Final = 256 * 1024
SECONDS: Final = 5.0
"""For one answer of the provider, and for all of it."""
SMALLEST_RSA_BITS: Final = 2048

_ALGORITHMS: Final = {"RSA": "RS256", "EC": "ES256"}
_MEMBERS: Final = {"RSA": ("n", "e"), "EC": ("crv", "x", "y")}
"""What a public key is made of; a private part that somebody published by mistake is not read."""
_CHUNK: Final = 16 * 1024


class UnusableKeySet(Exception):
    """It cannot be had, or holds no set of keys; the text names no more than the kind of fault."""


class _NoRedirect(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def fetch_key_set(url: str) -> bytes:
    """Return what is published at ``url``; no redirect is followed.

    Raises:
        UnusableKeySet: it cannot be had in some seconds, or is too large.
    """
    request = Request(url, headers={"Accept": "application/json"})  # noqa: S310 - as the settings
    end = time.monotonic() + SECONDS
    body = bytearray()
    try:
        with _opener().open(request, timeout=SECONDS) as response:
            while chunk := response.read1(_CHUNK):
                body += chunk
                if len(body) > MOST_BYTES or time.monotonic() > end:
                    raise UnusableKeySet("too large or too slow")
            if response.length:
                raise UnusableKeySet("broke off")
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise UnusableKeySet(type(error).__name__) from None
    return bytes(body)


def read_key_set(body: bytes) -> Mapping[str, jwt.PyJWK]:
    """Return the keys that sign tokens as we take them, by their ids; others are passed over.

    Raises:
        UnusableKeySet: it holds no set of keys.
    """
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        document = None
    listed = document.get("keys") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise UnusableKeySet("no set of keys")
    found: dict[str, jwt.PyJWK] = {}
    for one in listed:
        key = _key(one) if isinstance(one, dict) else None
        if key is not None:
            found[one["kid"]] = key
    return found


def _key(one: Mapping[str, Any]) -> jwt.PyJWK | None:
    kind, key_id = one.get("kty"), one.get("kid")
    if not isinstance(kind, str) or not isinstance(key_id, str) or kind not in _ALGORITHMS:
        return None
    algorithm = _ALGORITHMS[kind]
    if one.get("use", "sig") != "sig" or one.get("alg", algorithm) != algorithm:
        return None
    if kind == "EC" and one.get("crv") != "P-256":
        return None
    try:
        public = {"kty": kind} | {name: one[name] for name in _MEMBERS[kind]}
        key = jwt.PyJWK(public, algorithm=algorithm)
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None  # the others still count
    if isinstance(key.key, RSAPublicKey) and key.key.key_size < SMALLEST_RSA_BITS:
        return None
    return key


def _opener() -> OpenerDirector:
    return build_opener(_NoRedirect)
