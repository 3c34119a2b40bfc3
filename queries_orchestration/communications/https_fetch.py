"""Fetch a small thing by https: no redirect is followed, nothing large is read."""

from __future__ import annotations

import http.client
import ssl
from typing import Final
from urllib.parse import urlsplit

from queries_orchestration.model.errors import CommunicationsUnavailable

FETCH_SECONDS: Final = 10.0
_MOST_BYTES: Final = 256 * 1024


def https_fetch(url: str) -> bytes:
    """Return what an https URL holds; its host was checked by who asks.

    Raises:
        CommunicationsUnavailable: it cannot be had, or is too large.
    """
    parts = urlsplit(url)
    if parts.scheme != "https" or not parts.hostname:
        raise ValueError("only https is fetched")
    connection = http.client.HTTPSConnection(
        parts.hostname, parts.port, timeout=FETCH_SECONDS, context=ssl.create_default_context()
    )
    try:
        connection.request("GET", f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}")
        response = connection.getresponse()
        content = response.read(_MOST_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        raise _unavailable(parts.hostname, type(error).__name__) from None
    finally:
        connection.close()
    if response.status != http.client.OK or len(content) > _MOST_BYTES:
        raise _unavailable(parts.hostname, f"HTTP {response.status}, {len(content)} bytes")
    return content


def _unavailable(host: str, why: str) -> CommunicationsUnavailable:
    return CommunicationsUnavailable(
        f"{host} does not give what it is asked for ({why}): check the network"
    )
