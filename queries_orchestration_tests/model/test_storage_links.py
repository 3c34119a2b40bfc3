"""Tokens of the storage's own links. Case T02: only ours, for this purpose, unchanged, in time."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import jwt
import pytest

from queries_orchestration.model import links, storage_links
from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.model.file_names import CONTENT_TYPES
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.links import DeliveryLink
from queries_orchestration.model.storage_links import StorageLink

SECRET, OTHER = "a" * 40, "b" * 40
KEYS = LinkKeys.parse(f"k1:{SECRET},k2:{OTHER}")
NOW = datetime(2027, 1, 4, 7, tzinfo=UTC)
LINK = StorageLink(
    key="w-1/e-1.csv",
    file_name="Отчёт 2027-01-04.csv",
    content_type="text/csv; charset=utf-8",
    expires_at=NOW + timedelta(minutes=5),
)
HEADER = {"kid": "k1", "typ": "queries-storage-link+jwt"}
CLAIMS: dict[str, Any] = {
    "aud": "queries/storage-link",
    "key": LINK.key,
    "name": LINK.file_name,
    "content": LINK.content_type,
    "exp": int(LINK.expires_at.timestamp()),
}
DELIVERY_LINK = DeliveryLink(
    token_id="t-1",
    key_id="k1",
    workspace_id="w-1",
    occurrence_key="s-1@20270104T070000Z",
    export_id="e-1",
    recipient_id="p-1",
    issued_at=NOW,
    expires_at=NOW + timedelta(days=7),
)


def forged(header: dict[str, Any], claims: dict[str, Any], secret: str = SECRET) -> str:
    return jwt.encode(claims, secret, algorithm="HS256", headers=header)


def assert_refused(token: str, *, now: datetime = NOW, keys: LinkKeys = KEYS) -> None:
    with pytest.raises(LinkRefused) as caught:
        storage_links.verify(keys, token, now=now)
    assert (caught.value.code, caught.value.message) == ("invalid_link", LinkRefused().message)
    assert caught.value.__cause__ is None


def test_a_token_gives_back_the_link_it_was_signed_for() -> None:
    assert storage_links.verify(KEYS, storage_links.sign(KEYS, LINK), now=NOW) == LINK
    assert forged(HEADER, CLAIMS) == storage_links.sign(KEYS, LINK)


def test_the_longest_key_name_and_type_fit_a_token() -> None:
    longest = StorageLink(
        key="a" * 200,
        file_name="\N{GRINNING FACE}" * 50,
        content_type=CONTENT_TYPES["xlsx"],
        expires_at=NOW + timedelta(minutes=5),
    )
    assert storage_links.verify(KEYS, storage_links.sign(KEYS, longest), now=NOW) == longest


def test_it_ends_at_its_expiry_by_the_given_clock() -> None:
    token = storage_links.sign(KEYS, LINK)
    storage_links.verify(KEYS, token, now=LINK.expires_at - timedelta(seconds=1))
    assert_refused(token, now=LINK.expires_at)


def test_the_first_key_signs_and_one_that_was_taken_out_opens_nothing() -> None:
    token = storage_links.sign(KEYS, LINK)
    assert jwt.get_unverified_header(token)["kid"] == "k1"
    assert_refused(token, keys=LinkKeys.parse(f"k2:{OTHER}"))
    assert_refused(token, keys=LinkKeys.parse(f"k1:{OTHER}"))


def test_a_delivery_token_is_no_storage_token_and_the_reverse() -> None:
    assert_refused(links.sign(KEYS, DELIVERY_LINK))
    with pytest.raises(LinkRefused):
        links.verify(KEYS, storage_links.sign(KEYS, LINK), now=NOW)


def test_neither_passes_as_the_other_by_one_change_under_our_own_key() -> None:
    delivery = jwt.decode(links.sign(KEYS, DELIVERY_LINK), options={"verify_signature": False})
    assert_refused(forged(HEADER, delivery))
    assert_refused(forged(HEADER, delivery | {"aud": "queries/storage-link"}))
    assert_refused(forged(HEADER | {"typ": "queries-delivery-link+jwt"}, CLAIMS))
    assert_refused(forged(HEADER, CLAIMS | {"aud": "queries/delivery-link"}))


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": True},
        {"exp": CLAIMS["exp"] + 0.5},
        {"exp": 10**30},
        {"iat": int(NOW.timestamp())},
        {"key": ""},
        {"key": 7},
        {"name": None},
        {"name": "x" * 201},
        {"name": "\ud800"},
        {"content": ["text/csv"]},
        {"sub": "p-1"},
    ],
    ids=repr,
)
def test_other_claims_are_refused_even_under_our_own_key(changed: dict[str, Any]) -> None:
    assert_refused(forged(HEADER, CLAIMS | changed))


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_a_token_that_lacks_a_claim_is_refused(claim: str) -> None:
    assert_refused(forged(HEADER, {name: CLAIMS[name] for name in CLAIMS if name != claim}))


def test_no_character_of_a_token_can_be_changed() -> None:
    token = storage_links.sign(KEYS, LINK)
    for place, character in enumerate(token):
        for other in {"A", "f", "-", "."} - {character}:
            assert_refused(f"{token[:place]}{other}{token[place + 1 :]}")


@pytest.mark.parametrize(
    "wrong",
    [
        {"expires_at": LINK.expires_at.replace(tzinfo=None)},
        {"expires_at": LINK.expires_at.replace(microsecond=1)},
        {"expires_at": LINK.expires_at.astimezone(timezone(timedelta(hours=2)))},
        {"file_name": ""},
        {"file_name": "é" * 101},
    ],
)
def test_a_link_has_a_whole_utc_second_and_a_bounded_name(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a link's"):
        replace(LINK, **wrong)


@pytest.mark.parametrize("public_url", ["https://q.example.org/x", "https://q.example.org/x/"])
def test_the_address_is_the_public_url_then_files_then_the_token(public_url: str) -> None:
    assert storage_links.link_url(public_url, "a.b.c") == "https://q.example.org/x/files/a.b.c"
