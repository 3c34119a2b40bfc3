"""Unsubscribe tokens. Case T02: of their own purpose only, and none of another is one of them."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from queries_orchestration.model import links, unsubscribe_links
from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.unsubscribe_links import UnsubscribeLink, unsubscribe_url
from queries_orchestration_tests.model.test_links import (
    KEYS,
    LINK as DOWNLOAD,
    OTHER_SECRET,
    SECRET,
    forged,
)

EXPIRES = datetime(2026, 7, 3, 5, tzinfo=UTC)
NOW = EXPIRES - timedelta(days=50)
LINK = UnsubscribeLink(
    key_id="k1", workspace_id="w-1", schedule_id="s-1", recipient_id="p-1", expires_at=EXPIRES
)
HEADER = {"alg": "HS256", "kid": "k1", "typ": "queries-unsubscribe+jwt"}
CLAIMS = {
    "aud": "queries/unsubscribe",
    "workspace": "w-1",
    "schedule": "s-1",
    "sub": "p-1",
    "exp": int(EXPIRES.timestamp()),
}


def assert_refused(token: str, *, keys: LinkKeys = KEYS, now: datetime = NOW) -> None:
    with pytest.raises(LinkRefused) as caught:
        unsubscribe_links.verify(keys, token, now=now)
    assert caught.value.message == LinkRefused().message
    assert caught.value.__cause__ is None


def test_a_token_gives_back_the_link_it_was_signed_for() -> None:
    token = unsubscribe_links.sign(KEYS, LINK)

    assert token == forged(HEADER, CLAIMS)
    assert unsubscribe_links.verify(KEYS, token, now=NOW) == LINK
    assert unsubscribe_links.sign(KEYS, LINK) == token


def test_a_token_stays_the_same_over_releases() -> None:
    digest = hashlib.sha256(unsubscribe_links.sign(KEYS, LINK).encode()).hexdigest()
    assert digest == "69f49e3eabbbf89d3cebd8c3ca14a302b10607be5da8d107136c2b6be7a40177"


def test_a_download_token_is_no_unsubscribe_token_and_the_other_way_round() -> None:
    download, unsubscribe = links.sign(KEYS, DOWNLOAD), unsubscribe_links.sign(KEYS, LINK)

    assert_refused(download, now=DOWNLOAD.issued_at)
    with pytest.raises(LinkRefused):
        links.verify(KEYS, unsubscribe, now=NOW)


@pytest.mark.parametrize(
    "header",
    [
        HEADER | {"alg": "none"},
        HEADER | {"alg": "HS384"},
        HEADER | {"typ": "JWT"},
        HEADER | {"typ": "queries-delivery-link+jwt"},
        HEADER | {"kid": "k2"},
        HEADER | {"kid": "unknown"},
        {"alg": "HS256", "kid": "k1"},
    ],
)
def test_a_token_with_any_other_header_is_refused(header: object) -> None:
    assert_refused(forged(header, CLAIMS))


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "queries/delivery-link"},
        {"aud": ["queries/unsubscribe"]},
        {"export": "e-1"},
        {"iat": 0},
        {"sub": ""},
        {"schedule": 7},
        {"exp": True},
        {"exp": str(CLAIMS["exp"])},
        {"exp": 10**30},
    ],
    ids=repr,
)
def test_a_token_with_other_claims_is_refused_even_under_our_own_key(
    changed: dict[str, object],
) -> None:
    assert_refused(forged(HEADER, CLAIMS | changed))


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_a_token_that_lacks_a_claim_is_refused(claim: str) -> None:
    assert_refused(forged(HEADER, {name: CLAIMS[name] for name in CLAIMS if name != claim}))


def test_a_link_ends_at_its_expiry_by_the_given_clock() -> None:
    token = unsubscribe_links.sign(KEYS, LINK)
    last = EXPIRES - timedelta(seconds=1)
    assert unsubscribe_links.verify(KEYS, token, now=last) == LINK
    assert_refused(token, now=EXPIRES)


def test_keys_are_changed_as_for_personal_links() -> None:
    rotated = LinkKeys.parse(f"k2:{OTHER_SECRET},k1:{SECRET}")
    token = unsubscribe_links.sign(KEYS, LINK)
    assert unsubscribe_links.verify(rotated, token, now=NOW) == LINK
    assert_refused(token, keys=LinkKeys.parse(f"k2:{OTHER_SECRET}"))
    assert_refused(token, keys=LinkKeys.parse(f"k1:{OTHER_SECRET}"))


def test_a_link_has_whole_seconds() -> None:
    with pytest.raises(ValueError, match="whole seconds"):
        replace(LINK, expires_at=EXPIRES + timedelta(microseconds=1))


def test_the_address_has_the_token_after_u() -> None:
    assert unsubscribe_url("https://q.example.org/", "a.b.c") == "https://q.example.org/u/a.b.c"
