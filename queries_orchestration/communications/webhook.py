"""What another provider tells of messages: a JSON document signed with a key of ours.

The signature is the HMAC-SHA256, in hexadecimal, of ``<timestamp>.<body>`` under the key's secret,
where the timestamp is of now, in seconds since 1970. docs/messages.md describes both for senders.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from queries_orchestration.model.errors import EventRefused
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.message_states import (
    MESSAGE_STATES,
    ProviderEvent,
    read_moment,
)

WEBHOOK_KEYS_SETTING: Final = "QUERIES_WEBHOOK_KEYS"
AGE: Final = timedelta(minutes=5)
"""By how much the timestamp may differ from our clock, either way."""

_MOST_BYTES: Final = 1024 * 1024
_MOST_EVENTS: Final = 1000
_TIMESTAMP: Final = re.compile(r"[0-9]{1,12}")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{64}")
_CODE: Final = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedRequest:
    """A request as it came: three headers and the body's bytes."""

    key_id: str
    timestamp: str
    signature: str = field(repr=False)
    body: bytes = field(repr=False)


def sign(secret: str, *, timestamp: str, body: bytes) -> str:
    """Return the signature of a request."""
    # A header may hold anything: what is no UTF-8 must be refused as any other.
    signed = timestamp.encode(errors="surrogatepass") + b"." + body
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def read_webhook(keys: LinkKeys, request: SignedRequest, *, now: datetime) -> list[ProviderEvent]:
    """Return the events of a request that is signed and of the last five minutes (aware ``now``).

    Raises:
        EventRefused: anything else; all of it or nothing is taken.
    """
    _check(keys, request, now)
    try:
        content = json.loads(request.body)
    except (ValueError, RecursionError):
        content = None
    events = content.get("events") if isinstance(content, dict) else None
    if not isinstance(events, list) or len(events) > _MOST_EVENTS:
        raise EventRefused(f'the body is not {{"events": […]}} of at most {_MOST_EVENTS}')
    return [_event(number, event) for number, event in enumerate(events, start=1)]


def _check(keys: LinkKeys, request: SignedRequest, now: datetime) -> None:
    # The same work and the same answer, whatever is wrong.
    secret = keys.secret(request.key_id)
    right = sign(secret or "no such key", timestamp=request.timestamp, body=request.body)
    given = request.signature if _SIGNATURE.fullmatch(request.signature) else "0" * 64
    is_signed = hmac.compare_digest(right, given) and secret is not None
    is_small = len(request.body) <= _MOST_BYTES
    if not (is_signed and is_small and _is_of_now(request.timestamp, now)):
        raise EventRefused("the request is not signed by a key of ours within five minutes")


def _is_of_now(timestamp: str, now: datetime) -> bool:
    if not _TIMESTAMP.fullmatch(timestamp):
        return False
    return abs(now.timestamp() - int(timestamp)) <= AGE.total_seconds()


def _event(number: int, event: Any) -> ProviderEvent:
    wanted = {"message_id", "state", "at"}
    if not isinstance(event, dict) or not wanted <= set(event) <= wanted | {"code"}:
        raise EventRefused(f"event {number} must have message_id, state, at, and perhaps code")
    code = event.get("code")
    if code is not None and not (isinstance(code, str) and _CODE.fullmatch(code)):
        raise EventRefused(f"event {number}: code is up to 64 of A-Z a-z 0-9 _ . -")
    if event["state"] not in MESSAGE_STATES:
        raise EventRefused(f"event {number}: state is one of {', '.join(MESSAGE_STATES)}")
    if not isinstance(event["message_id"], str):
        raise EventRefused(f"event {number}: message_id is the Message-ID, as in <…@example.org>")
    return ProviderEvent(
        message_id=event["message_id"], state=event["state"], at=_at(number, event["at"]), code=code
    )


def _at(number: int, text: Any) -> datetime:
    at = read_moment(text)
    if at is None:
        raise EventRefused(f"event {number}: at is an ISO 8601 instant with offset, since 1970")
    return at
