"""Personal link tokens. Case T02: only our own token, for our own purpose, unchanged, in time."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import jwt
import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.errors import InvalidSettings, LinkRefused, Refused
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.links import (
    LINK_LIFETIME,
    DeliveryLink,
    link_url,
    sign,
    verify,
)

SECRET = "first-secret-of-32-bytes-or-more!"
OTHER_SECRET = "other-secret-of-32-bytes-or-more!"
KEYS = LinkKeys.parse(f"k1:{SECRET},k2:{OTHER_SECRET}")
ISSUED = datetime(2026, 5, 4, 5, tzinfo=UTC)
NOW = ISSUED + timedelta(days=1)
LINK = DeliveryLink(
    token_id="t-1",
    key_id="k1",
    workspace_id="w-1",
    occurrence_key="s-1@20260504T050000Z",
    export_id="e-1",
    recipient_id="p-1",
    issued_at=ISSUED,
    expires_at=ISSUED + LINK_LIFETIME,
)
HEADER = {"alg": "HS256", "kid": "k1", "typ": "queries-delivery-link+jwt"}
CLAIMS: dict[str, Any] = {
    "aud": "queries/delivery-link",
    "jti": "t-1",
    "workspace": "w-1",
    "occurrence": "s-1@20260504T050000Z",
    "export": "e-1",
    "sub": "p-1",
    "iat": int(ISSUED.timestamp()),
    "exp": int((ISSUED + LINK_LIFETIME).timestamp()),
}
REFUSAL = "this link is not valid or has ended; ask its sender for a new one"
PUBLIC_KEY = """-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=
-----END PUBLIC KEY-----
"""


def segment(value: object) -> str:
    raw = value if isinstance(value, bytes) else json.dumps(value, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def forged(header: object, claims: object, *, secret: str = SECRET, digest: str = "sha256") -> str:
    """A token made by hand, so that nothing a library refuses to make goes untried."""
    signed = f"{segment(header)}.{segment(claims)}"
    return f"{signed}.{segment(hmac.new(secret.encode(), signed.encode(), digest).digest())}"


def assert_refused(token: str, *, now: datetime = NOW, keys: LinkKeys = KEYS) -> None:
    with pytest.raises(LinkRefused) as caught:
        verify(keys, token, now=now)
    assert (caught.value.code, caught.value.message) == ("invalid_link", REFUSAL)
    assert isinstance(caught.value, Refused)
    # Neither the answer nor a traceback tells what was wrong.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_token_gives_back_the_link_it_was_signed_for() -> None:
    assert verify(KEYS, sign(KEYS, LINK), now=NOW) == LINK


def test_the_forger_of_these_tests_makes_a_true_token_when_nothing_is_changed() -> None:
    assert forged(HEADER, CLAIMS) == sign(KEYS, LINK)


def test_a_token_stays_the_same_over_releases() -> None:
    digest = hashlib.sha256(sign(KEYS, LINK).encode()).hexdigest()
    assert digest == "86c5827fc52060f1ac4169364482279bf094a1a185c65f59d1f0511cc26bfa69"


texts = st.text(min_size=1, max_size=40).filter(lambda text: text.isprintable())
moments = st.integers(0, 4_000_000_000).map(lambda seconds: datetime.fromtimestamp(seconds, UTC))


@given(texts, texts, texts, texts, texts, moments, st.integers(1, 10**7))
def test_every_link_comes_back_and_signs_to_the_same_bytes_again(
    token_id: str,
    workspace_id: str,
    occurrence_key: str,
    export_id: str,
    recipient_id: str,
    issued_at: datetime,
    lifetime: int,
) -> None:
    link = DeliveryLink(
        token_id=token_id,
        key_id="k2",
        workspace_id=workspace_id,
        occurrence_key=occurrence_key,
        export_id=export_id,
        recipient_id=recipient_id,
        issued_at=issued_at,
        expires_at=issued_at + timedelta(seconds=lifetime),
    )
    token = sign(KEYS, link)
    # A token of more than 2,048 characters is refused unread: real ids have 36.
    if len(token) <= 2048:
        read = verify(KEYS, token, now=issued_at)
        assert read == link
        assert sign(KEYS, read) == token


def test_the_first_key_signs_and_all_keys_verify() -> None:
    rotated = LinkKeys.parse(f"k2:{OTHER_SECRET},k1:{SECRET}")
    assert (KEYS.signing_key_id, rotated.signing_key_id) == ("k1", "k2")
    assert verify(rotated, sign(KEYS, LINK), now=NOW) == LINK
    assert sign(rotated, LINK) == sign(KEYS, LINK)


def test_a_key_that_was_taken_out_opens_nothing_and_signs_nothing() -> None:
    without = LinkKeys.parse(f"k2:{OTHER_SECRET}")
    assert_refused(sign(KEYS, LINK), keys=without)
    with pytest.raises(InvalidSettings, match="QUERIES_LINK_KEYS no longer holds the key 'k1'"):
        sign(without, LINK)


def test_a_link_ends_at_its_expiry_by_the_given_clock() -> None:
    token = sign(KEYS, LINK)
    assert verify(KEYS, token, now=LINK.expires_at - timedelta(seconds=1)) == LINK
    assert_refused(token, now=LINK.expires_at)
    assert_refused(token, now=LINK.expires_at + timedelta(seconds=1))


def test_a_link_of_another_century_is_judged_by_the_given_clock_alone() -> None:
    old = replace(LINK, issued_at=ISSUED.replace(year=1999), expires_at=ISSUED.replace(year=2000))
    assert verify(KEYS, sign(KEYS, old), now=ISSUED.replace(year=1999)) == old


def test_a_signer_whose_clock_is_ahead_breaks_no_link() -> None:
    assert verify(KEYS, sign(KEYS, LINK), now=ISSUED - timedelta(minutes=20)) == LINK


@pytest.mark.parametrize(
    "header",
    [
        HEADER | {"alg": "none"},
        HEADER | {"alg": "None"},
        HEADER | {"alg": "HS384"},
        HEADER | {"alg": "RS256"},
        HEADER | {"alg": "hs256"},
        HEADER | {"typ": "JWT"},
        HEADER | {"typ": "queries-unsubscribe+jwt"},
        HEADER | {"kid": "k2"},
        HEADER | {"kid": "unknown"},
        HEADER | {"kid": ["k1"]},
        HEADER | {"kid": None},
        HEADER | {"crit": ["exp"]},
        HEADER | {"b64": False, "crit": ["b64"]},
        HEADER | {"jwk": {"kty": "oct", "k": segment(SECRET.encode())}},
        {"alg": "HS256", "typ": "queries-delivery-link+jwt"},
        {"kid": "k1", "typ": "queries-delivery-link+jwt"},
        {"alg": "HS256", "kid": "k1"},
        [],
        "HS256",
        None,
    ],
)
def test_a_token_with_any_other_header_is_refused(header: object) -> None:
    assert_refused(forged(header, CLAIMS))


@pytest.mark.parametrize(
    "changed",
    [
        {"aud": "queries/unsubscribe"},
        {"aud": "w-2"},
        {"aud": ["queries/delivery-link"]},
        {"aud": ["queries/delivery-link", "w-2"]},
        {"purpose": "unsubscribe"},
        {"nbf": 0},
        {"jti": 7},
        {"sub": ["p-1"]},
        {"sub": ""},
        {"export": None},
        {"exp": True},
        {"exp": str(CLAIMS["exp"])},
        {"exp": CLAIMS["exp"] + 0.5},
        {"exp": 10**30},
        {"exp": float("inf")},
        {"exp": float("nan")},
        {"iat": -(10**30)},
        {"iat": CLAIMS["exp"]},
    ],
    ids=repr,
)
def test_a_token_with_other_claims_is_refused_even_under_our_own_key(
    changed: dict[str, Any],
) -> None:
    assert_refused(forged(HEADER, CLAIMS | changed))


@pytest.mark.parametrize("claim", sorted(CLAIMS))
def test_a_token_that_lacks_a_claim_is_refused(claim: str) -> None:
    assert_refused(forged(HEADER, {name: CLAIMS[name] for name in CLAIMS if name != claim}))


@pytest.mark.parametrize(
    "changed",
    [
        {"export": "e-2"},
        {"sub": "p-2"},
        {"workspace": "w-2"},
        {"occurrence": "s-1@20260505T050000Z"},
        {"jti": "t-2"},
        {"exp": CLAIMS["exp"] + 1},
    ],
    ids=repr,
)
def test_changed_claims_under_the_old_signature_are_refused(changed: dict[str, Any]) -> None:
    header, _, signature = sign(KEYS, LINK).split(".")
    assert_refused(f"{header}.{segment(CLAIMS | changed)}.{signature}")


def test_a_token_without_a_signature_is_refused() -> None:
    unsigned = f"{segment({'alg': 'none', 'kid': 'k1', 'typ': HEADER['typ']})}.{segment(CLAIMS)}"
    assert_refused(f"{unsigned}.")
    assert_refused(unsigned)
    header, claims, _ = sign(KEYS, LINK).split(".")
    assert_refused(f"{header}.{claims}.")


def test_a_token_signed_with_a_public_key_is_refused() -> None:
    assert_refused(forged(HEADER, CLAIMS, secret=PUBLIC_KEY))
    assert_refused(forged(HEADER | {"alg": "RS256"}, CLAIMS, secret=PUBLIC_KEY))


def test_a_token_signed_with_another_key_or_digest_is_refused() -> None:
    assert_refused(forged(HEADER, CLAIMS, secret=OTHER_SECRET))
    assert_refused(forged(HEADER | {"alg": "HS512"}, CLAIMS, digest="sha512"))


def test_a_link_token_is_no_login_token_under_the_same_secret() -> None:
    unexpired = replace(LINK, expires_at=ISSUED.replace(year=3000))
    with pytest.raises(jwt.InvalidAudienceError):
        jwt.decode(sign(KEYS, unexpired), SECRET, algorithms=["HS256"], audience="queries/api")


def test_no_character_of_a_token_can_be_changed() -> None:
    token = sign(KEYS, LINK)
    for place, character in enumerate(token):
        for other in ("A", "B", "f", "-", "."):
            if other != character:
                assert_refused(f"{token[:place]}{other}{token[place + 1 :]}")


def test_the_spare_bits_of_the_last_character_do_not_spell_a_second_token() -> None:
    token = sign(KEYS, LINK)
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for other in alphabet.replace(token[-1], ""):
        assert_refused(token[:-1] + other)


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b.c",
        "a.b.c.d",
        sign(KEYS, LINK) + "=",
        sign(KEYS, LINK) + "\n",
        " " + sign(KEYS, LINK),
        sign(KEYS, LINK) + ".x",
        sign(KEYS, LINK).replace(".", "\uff0e"),
        "\ud800.b.c",
        "\x00",
        f"{segment(b'[' * 900)}.{segment(CLAIMS)}.{segment(b'x')}",
        "A" * 100_000 + ".b.c",
    ],
    ids=lambda token: repr(token[:12]),
)
def test_what_is_no_token_at_all_is_refused_alike(token: str) -> None:
    assert_refused(token)


@given(st.text(max_size=60))
def test_no_text_breaks_the_reading_of_a_token(text: str) -> None:
    assert_refused(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
        max_leaves=8,
    )
)
def test_no_value_in_a_signed_claim_breaks_the_reading_of_a_token(value: object) -> None:
    claims = CLAIMS | {"exp": value, "jti": value}
    assert_refused(forged(HEADER, claims))
    assert_refused(forged(HEADER, value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "QUERIES_LINK_KEYS is empty"),
        ("  ", "QUERIES_LINK_KEYS is empty"),
        (SECRET, "entry 1 is not `id:secret`"),
        (f":{SECRET}", "entry 1 is not `id:secret`"),
        (f"{SECRET}:k1", "entry 1 is not `id:secret`"),
        ("k1:", "entry 1 is not `id:secret`"),
        (f"k1:{SECRET},", "entry 2 is not `id:secret`"),
        (f"k 1:{SECRET}", "entry 1 is not `id:secret`"),
        (f"k1:{SECRET} {SECRET}", "entry 1 is not `id:secret`"),
        (f"k1:{'é' * 32}", "entry 1 is not `id:secret`"),
        (f"k1:{SECRET},k2:{'s' * 31}", "the secret of entry 2 is shorter than 32 bytes"),
        (f"k1:{SECRET},k1:{OTHER_SECRET}", "entry 2 uses an id a second time"),
    ],
)
def test_keys_that_cannot_be_used_name_the_setting_and_never_the_secret(
    text: str, message: str
) -> None:
    with pytest.raises(InvalidSettings, match="QUERIES_LINK_KEYS") as caught:
        LinkKeys.parse(text)
    assert message in caught.value.message
    for secret in (SECRET, OTHER_SECRET, "s" * 31):
        assert secret not in caught.value.message


def test_a_secret_of_32_bytes_with_colons_and_spaces_around_it_is_taken() -> None:
    keys = LinkKeys.parse(f" k1:{'a:' * 16} , k2:{SECRET}\n")
    assert keys.secret("k1") == "a:" * 16
    assert keys.secret("k2") == SECRET
    assert keys.secret("k3") is None


def test_the_keys_never_show_their_secrets() -> None:
    assert repr(KEYS) == "LinkKeys()"
    assert SECRET not in str(KEYS)


@pytest.mark.parametrize(
    "times",
    [
        {"issued_at": ISSUED.replace(tzinfo=None)},
        {"expires_at": LINK.expires_at.replace(microsecond=1)},
        {"expires_at": LINK.expires_at.astimezone(timezone(timedelta(hours=2)))},
        {"expires_at": ISSUED},
    ],
)
def test_a_link_has_whole_utc_seconds_and_ends_after_its_start(times: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="a link"):
        replace(LINK, **times)


@pytest.mark.parametrize("public_url", ["https://q.example.org/x", "https://q.example.org/x/"])
def test_the_address_of_a_link_is_the_public_url_then_d_then_the_token(public_url: str) -> None:
    token = sign(KEYS, LINK)
    assert link_url(public_url, token) == f"https://q.example.org/x/d/{token}"
