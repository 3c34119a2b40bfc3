"""A request of another provider is taken whole if it is signed and fresh, else not at all."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from queries_orchestration.communications.webhook import SignedRequest, read_webhook, sign
from queries_orchestration.model.errors import EventRefused, InvalidSettings
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.message_states import ProviderEvent

NOW = datetime(2027, 1, 4, 7, tzinfo=UTC)
KEYS = LinkKeys.parse(f"new:{'n' * 40},old:{'o' * 40}")
EVENT = {"message_id": "<a@q.example.org>", "state": "bounced", "at": "2027-01-04T08:00:00+01:00"}
NOT_SIGNED = "the request is not signed by a key of ours within five minutes"


def request(
    content: Any = None, *, key_id: str = "new", at: datetime = NOW, secret: str | None = None
) -> SignedRequest:
    body = json.dumps({"events": [EVENT]} if content is None else content).encode()
    timestamp = str(int(at.timestamp()))
    signature = sign(secret or KEYS.secret(key_id) or "", timestamp=timestamp, body=body)
    return SignedRequest(key_id=key_id, timestamp=timestamp, signature=signature, body=body)


@pytest.mark.parametrize("key_id", ["new", "old"])
def test_events_are_read_under_each_of_the_keys(key_id: str) -> None:
    assert read_webhook(KEYS, request(key_id=key_id), now=NOW) == [
        ProviderEvent(message_id="<a@q.example.org>", state="bounced", at=NOW)
    ]


def test_the_signature_is_what_the_page_says() -> None:
    # echo -n '1.{}' | openssl dgst -sha256 -hmac secret
    assert sign("secret", timestamp="1", body=b"{}") == (
        "1122767b193110cfec322b6f199b599edbf608ed087f2d27afb0b97d99523908"
    )


@pytest.mark.parametrize("age", [-300, 300])
def test_five_minutes_either_way_are_fresh(age: int) -> None:
    assert read_webhook(KEYS, request(at=NOW + timedelta(seconds=age)), now=NOW)


@pytest.mark.parametrize("age", [-301, 301, -86_400])
def test_more_are_not(age: int) -> None:
    with pytest.raises(EventRefused, match=NOT_SIGNED):
        read_webhook(KEYS, request(at=NOW + timedelta(seconds=age)), now=NOW)


@pytest.mark.parametrize(
    "change",
    [
        {"body": b'{"events": []}'},
        {"timestamp": str(int(NOW.timestamp()) + 1)},
        {"timestamp": ""},
        {"timestamp": "now"},
        {"timestamp": "-1"},
        {"timestamp": "9" * 400},
        {"signature": ""},
        {"signature": "0" * 64},
        {"signature": "é" * 64},
        {"timestamp": "\udcff"},
        {"signature": "\udcff" * 64},
        {"key_id": "\udcff"},
        {"key_id": "old"},
        {"key_id": "unknown"},
        {"key_id": ""},
    ],
)
def test_whatever_is_changed_it_is_refused_with_the_same_answer(change: dict[str, Any]) -> None:
    with pytest.raises(EventRefused) as refused:
        read_webhook(KEYS, replace(request(), **change), now=NOW)
    assert refused.value.message == NOT_SIGNED


def test_an_unknown_key_signs_nothing_not_even_with_what_stands_in_for_it() -> None:
    forged = request(key_id="unknown", secret="no such key")
    with pytest.raises(EventRefused, match=NOT_SIGNED):
        read_webhook(KEYS, forged, now=NOW)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ([], "events"),
        ({"events": {}}, "events"),
        ({"events": [EVENT] * 1001}, "at most 1000"),
        ({"events": [EVENT, []]}, "event 2 must have"),
        ({"events": [{"state": "bounced"}]}, "event 1 must have"),
        ({"events": [EVENT | {"to": "ann@e.test"}]}, "event 1 must have"),
        ({"events": [EVENT | {"state": "lost"}]}, "state is one of"),
        ({"events": [EVENT | {"state": ["bounced"]}]}, "state is one of"),
        ({"events": [EVENT | {"at": "2027-01-04T08:00:00"}]}, "with offset"),
        ({"events": [EVENT | {"at": 5}]}, "with offset"),
        ({"events": [EVENT | {"at": "0001-01-01T00:00:00+14:00"}]}, "with offset"),
        ({"events": [EVENT | {"at": "9999-12-31T23:59:00-12:00"}]}, "with offset"),
        ({"events": [EVENT | {"at": "1969-12-31T23:59:59Z"}]}, "with offset"),
        ({"events": [EVENT | {"code": "to ann@e.test"}]}, "code is"),
        ({"events": [EVENT | {"code": 5}]}, "code is"),
        ({"events": [EVENT | {"message_id": None}]}, "message_id is"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(content: Any, said: str) -> None:
    with pytest.raises(EventRefused, match=said) as refused:
        read_webhook(KEYS, request(content), now=NOW)
    assert "ann@e.test" not in refused.value.message


def test_what_is_too_large_is_refused_though_it_is_signed() -> None:
    body = json.dumps({"events": [EVENT]}).encode() + b" " * 1024 * 1024
    timestamp = str(int(NOW.timestamp()))
    signature = sign("n" * 40, timestamp=timestamp, body=body)
    large = SignedRequest(key_id="new", timestamp=timestamp, signature=signature, body=body)
    with pytest.raises(EventRefused, match=NOT_SIGNED):
        read_webhook(KEYS, large, now=NOW)


def test_a_fault_of_the_keys_names_their_setting() -> None:
    with pytest.raises(InvalidSettings, match="QUERIES_WEBHOOK_KEYS"):
        LinkKeys.parse("a:short", setting="QUERIES_WEBHOOK_KEYS")
