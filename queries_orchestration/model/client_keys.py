"""What a client calls a click of its user, so that asking twice does it once."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Final

from queries_orchestration.model.errors import Refused

LONGEST_KEY: Final = 200


def check_client_key(key: str) -> str:
    """Return ``key`` if it is one: 1 to 200 printable characters.

    Raises:
        Refused: it is not (``invalid_client_key``).
    """
    if not 1 <= len(key) <= LONGEST_KEY or not key.isprintable():
        raise Refused(
            f"A client key is 1 to {LONGEST_KEY} printable characters, and this is none.",
            code="invalid_client_key",
        )
    return key


def asked_sha256(**asked: Any) -> str:
    """Return a hexadecimal checksum by which the same request is told from another one.

    Args:
        asked: what was asked for, by name, as JSON can hold it; in any order.
    """
    told = json.dumps(asked, sort_keys=True, default=str)
    return hashlib.sha256(told.encode()).hexdigest()
