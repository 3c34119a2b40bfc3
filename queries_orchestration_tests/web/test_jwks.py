"""Callers by the tokens of an identity provider, over a real server that publishes its keys."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import RSAAlgorithm
from jwt.warnings import InsecureKeyLengthWarning

from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.settings import load_settings
from queries_orchestration.web.bearer_tokens import Expected, KeysUnavailable, Named, NotSignedIn
from queries_orchestration.web.jwks import KEPT_FOR, LOOK_AGAIN_AFTER, STALE_FOR, JwksVerifier
from queries_orchestration.web.key_set import MOST_BYTES
from queries_orchestration.web.open_verifier import open_verifier
from queries_orchestration_tests.house import TestClock
from queries_orchestration_tests.web.identity_provider import (
    Provider,
    ec_key,
    public,
    rsa_key,
    running_provider,
    signed,
)

NOW = datetime(2027, 1, 4, 7, tzinfo=UTC)
ISSUER = "https://login.example.org"
ADA = Named(workspace="acme", person="ada")


def claims(**more: Any) -> dict[str, Any]:
    told = {
        "iss": ISSUER,
        "aud": "queries",
        "exp": int(NOW.timestamp()) + 600,
        "sub": "ada",
        "workspace": "acme",
    }
    return {key: value for key, value in (told | more).items() if value is not None}


def rs256(key_id: str | None = "r1", number: int = 1, **more: Any) -> str:
    return signed(rsa_key(number), key_id, "RS256", claims(**more))


@pytest.fixture
def clock() -> TestClock:
    return TestClock(NOW)


@pytest.fixture
def provider() -> Iterator[Provider]:
    """It publishes the RSA key r1 and the EC key e1."""
    with running_provider() as provider:
        provider.publish(public(rsa_key(), "r1"), public(ec_key(), "e1"))
        yield provider


@pytest.fixture
def verifier(provider: Provider, clock: TestClock) -> JwksVerifier:
    expected = Expected(
        audience="queries",
        issuer=ISSUER,
        workspace_claim="workspace",
        person_claim="sub",
        clock=clock,
    )
    return JwksVerifier(provider.url, expected)


def refused(verifier: JwksVerifier, token: str) -> None:
    with pytest.raises(NotSignedIn) as told:
        verifier.verify(token)
    assert told.value.__cause__ is None


def test_rs256_and_es256_are_taken_and_the_keys_are_fetched_once(
    verifier: JwksVerifier, provider: Provider
) -> None:
    assert verifier.verify(rs256()) == ADA
    assert verifier.verify(signed(ec_key(), "e1", "ES256", claims(aud=["x", "queries"]))) == ADA
    assert provider.asked == 1


@pytest.mark.parametrize(
    "more",
    [
        {"iss": "https://evil.example.org"},
        {"iss": None},
        {"aud": "others"},
        {"aud": None},
        {"exp": None},
        {"exp": int(NOW.timestamp()) - 60},
        {"exp": "never"},
        {"nbf": int(NOW.timestamp()) + 61},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
        {"workspace": None},
        {"workspace": "x" * 201},
    ],
)
def test_what_a_token_says_must_be_right(verifier: JwksVerifier, more: dict[str, Any]) -> None:
    assert verifier.verify(rs256(exp=int(NOW.timestamp()) - 59)) == ADA  # within the leeway
    refused(verifier, rs256(**more))


def test_a_token_ends_by_our_clock(verifier: JwksVerifier, clock: TestClock) -> None:
    token = rs256()
    clock.at = NOW + timedelta(seconds=600 + 59)
    assert verifier.verify(token) == ADA
    clock.at += timedelta(seconds=1)
    refused(verifier, token)


def test_the_algorithm_is_the_keys_and_never_what_a_token_says(verifier: JwksVerifier) -> None:
    assert verifier.verify(rs256()) == ADA
    pem = rsa_key().public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    for forged in (
        signed("", "r1", "none", claims()),
        _hs256(pem, "r1"),
        _hs256(json.dumps(public(rsa_key(), "r1")).encode(), "r1"),
        signed(rsa_key(), "r1", "RS384", claims()),
        signed(rsa_key(), "r1", "PS256", claims()),
        signed(ec_key(), "r1", "ES256", claims()),  # the other family's key id
        signed(rsa_key(), "e1", "RS256", claims()),
        signed(rsa_key(2), "r1", "RS256", claims()),
        signed(ec_key(2), "e1", "ES256", claims()),
        rs256(key_id=None),
        rs256()[:-4],
        "x",
        "",
        "\0",
        "a.b.c",
        "x" * 10_000,
    ):
        refused(verifier, forged)


def _hs256(secret: bytes, key_id: str) -> str:
    """Signed by hand: PyJWT itself refuses a public key as a secret."""
    header, payload, _ = jwt.encode(
        claims(), "s" * 64, algorithm="HS256", headers={"kid": key_id}
    ).split(".")
    message = f"{header}.{payload}".encode()
    hs256 = jwt.get_algorithm_by_name("HS256")
    signature = jwt.utils.base64url_encode(hs256.sign(message, secret)).decode()
    return f"{header}.{payload}.{signature}"


def test_a_new_key_appears_and_an_old_one_vanishes(
    verifier: JwksVerifier, provider: Provider, clock: TestClock
) -> None:
    assert verifier.verify(rs256()) == ADA
    provider.publish(public(rsa_key(2), "r2"))
    refused(verifier, rs256("r2", 2))  # looked at just now
    clock.at += LOOK_AGAIN_AFTER
    assert verifier.verify(rs256("r2", 2)) == ADA
    refused(verifier, rs256())
    assert provider.asked == 2


def test_a_known_key_is_looked_for_again_after_some_minutes(
    verifier: JwksVerifier, provider: Provider, clock: TestClock
) -> None:
    assert verifier.verify(rs256()) == ADA
    provider.publish(public(rsa_key(2), "r2"))
    clock.at += KEPT_FOR
    assert verifier.verify(rs256()) == ADA  # nobody waits for the provider …
    _eventually(lambda: _is_refused(verifier, rs256()))  # … and the key is gone soon
    assert provider.asked == 2


def test_a_provider_that_is_down_at_the_start_is_told_and_asked_again(
    verifier: JwksVerifier, provider: Provider, clock: TestClock
) -> None:
    provider.status = 500
    for _ in range(3):
        with pytest.raises(KeysUnavailable):
            verifier.verify(rs256())
    assert provider.asked == 1
    provider.status = 200
    clock.at += LOOK_AGAIN_AFTER
    assert verifier.verify(rs256()) == ADA


def test_a_provider_that_is_down_later_locks_nobody_out_for_a_day(
    verifier: JwksVerifier, provider: Provider, clock: TestClock
) -> None:
    token = rs256(exp=int((NOW + timedelta(days=9)).timestamp()))
    assert verifier.verify(token) == ADA
    provider.status = 500
    clock.at = NOW + STALE_FOR - timedelta(seconds=1)
    assert verifier.verify(token) == ADA
    _eventually(lambda: provider.asked == 2 and not verifier._is_looking)
    clock.at = NOW + STALE_FOR + LOOK_AGAIN_AFTER
    with pytest.raises(KeysUnavailable):
        verifier.verify(token)
    provider.status = 200
    clock.at += LOOK_AGAIN_AFTER
    assert verifier.verify(token) == ADA


def test_a_flood_of_unknown_key_ids_does_not_reach_the_provider(
    verifier: JwksVerifier, provider: Provider, clock: TestClock
) -> None:
    assert verifier.verify(rs256()) == ADA
    tokens = [signed("s" * 64, f"k{number}", "HS256", claims()) for number in range(200)]
    for token in tokens:
        refused(verifier, token)
    clock.at += LOOK_AGAIN_AFTER
    for token in tokens:
        refused(verifier, token)
    assert provider.asked == 2


def test_a_slow_provider_keeps_no_caller_waiting_whose_key_is_known(
    verifier: JwksVerifier, provider: Provider, clock: TestClock
) -> None:
    assert verifier.verify(rs256()) == ADA
    provider.gate.clear()
    provider.came.clear()
    clock.at += KEPT_FOR
    stranger = threading.Thread(target=_is_refused, args=(verifier, rs256("unknown")))
    stranger.start()
    assert provider.came.wait(10)
    # It waits for the provider. Nobody else does: known keys count, unknown ones are to try again.
    assert verifier.verify(rs256()) == ADA
    with pytest.raises(KeysUnavailable):
        verifier.verify(rs256("unknown"))
    assert stranger.is_alive()
    provider.gate.set()
    stranger.join(10)
    assert not stranger.is_alive()
    refused(verifier, rs256("unknown"))
    assert provider.asked == 2


GARBAGE: list[bytes] = [
    b"",
    b"<html>",
    b"\xff\xfe",
    b"null",
    b"[]",
    b'{"keys": {}}',
    b"[" * 100_000,
    b'{"keys": [' + b" " * MOST_BYTES + b"]}",
]


@pytest.mark.parametrize("body", GARBAGE, ids=range(len(GARBAGE)))
def test_what_is_no_set_of_keys_changes_nothing(
    verifier: JwksVerifier, provider: Provider, clock: TestClock, body: bytes
) -> None:
    good = provider.body
    provider.body = body
    with pytest.raises(KeysUnavailable):
        verifier.verify(rs256())
    provider.body = good
    clock.at += LOOK_AGAIN_AFTER
    assert verifier.verify(rs256()) == ADA
    provider.body = body
    clock.at += LOOK_AGAIN_AFTER
    refused(verifier, rs256("unknown"))
    assert verifier.verify(rs256()) == ADA


def test_an_answer_that_breaks_off_or_leads_elsewhere_changes_nothing(
    verifier: JwksVerifier, provider: Provider, clock: TestClock
) -> None:
    for status, headers in (
        (200, {"Content-Length": str(len(provider.body) + 1)}),
        (200, {"Transfer-Encoding": "chunked"}),
        (302, {"Location": provider.url}),
        (404, {}),
    ):
        provider.status, provider.headers = status, headers
        with pytest.raises(KeysUnavailable):
            verifier.verify(rs256())
        clock.at += LOOK_AGAIN_AFTER
    assert provider.asked == 4


def test_keys_that_sign_no_token_of_ours_are_passed_over(
    verifier: JwksVerifier, provider: Provider
) -> None:
    strange: list[Any] = [
        public(rsa_key(2), "enc", use="enc"),
        public(rsa_key(2), "rs512", alg="RS512"),
        public(rsa_key(2), 5),
        public(ec_key(2, "P-384"), "p384"),
        public(rsa_key(2, 1024), "small"),
        {"kty": "oct", "kid": "oct", "k": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"},
        {"kty": ["RSA"], "kid": "list"},
        {"kty": "RSA", "kid": "none"},
        {"kty": "RSA", "kid": "number", "n": 5, "e": 3},
        {"kty": "RSA", "kid": "text", "n": "!", "e": "AQAB"},
        {"kty": "EC", "kid": "point", "crv": "P-256", "x": "AA", "y": "AA"},
        None,
        5,
    ]
    provider.publish(*strange, public(rsa_key(), "r1"))
    assert verifier.verify(rs256()) == ADA
    for key_id in ("enc", "rs512"):
        refused(verifier, signed(rsa_key(2), key_id, "RS256", claims()))
    with pytest.warns(InsecureKeyLengthWarning):
        small = signed(rsa_key(2, 1024), "small", "RS256", claims())
    refused(verifier, small)
    secret = "secretsecretsecretsecretsecret"
    refused(verifier, signed(secret.ljust(64), "oct", "HS256", claims()))


def test_a_private_part_that_was_published_is_not_read(
    verifier: JwksVerifier, provider: Provider
) -> None:
    whole = RSAAlgorithm.to_jwk(rsa_key(), as_dict=True) | {
        "kid": "r1",
        "use": "sig",
        "key_ops": [],
    }
    provider.publish(whole)
    assert verifier.verify(rs256()) == ADA


def test_without_a_provider_only_the_development_mode_has_a_key(tmp_path: Path) -> None:
    settings = {"QUERIES_HOME": str(tmp_path)}
    with pytest.raises(InvalidSettings, match="QUERIES_TOKEN_KEYS_URL"):
        open_verifier(load_settings(settings), TestClock(NOW))
    assert not (tmp_path / "development-key").exists()
    open_verifier(load_settings(settings | {"QUERIES_DEMO": "1"}), TestClock(NOW))
    assert (tmp_path / "development-key").stat().st_mode & 0o777 == 0o600


def test_a_token_of_the_development_mode_is_none_of_the_providers(
    tmp_path: Path, provider: Provider
) -> None:
    """Not even where somebody left the development mode on."""
    settings = load_settings(
        {
            "QUERIES_HOME": str(tmp_path),
            "QUERIES_DEMO": "1",
            "QUERIES_TOKEN_KEYS_URL": provider.url,
            "QUERIES_TOKEN_ISSUER": ISSUER,
        }
    )
    key = "k" * 64
    (tmp_path / "development-key").write_text(key)
    verifier = open_verifier(settings, TestClock(NOW))
    assert isinstance(verifier, JwksVerifier)
    for key_id in (None, "r1"):
        refused(verifier, signed(key, key_id, "HS256", claims()))


def test_a_provider_without_its_issuer_is_no_setup(tmp_path: Path) -> None:
    settings = {"QUERIES_HOME": str(tmp_path), "QUERIES_TOKEN_KEYS_URL": "https://x.example/keys"}
    with pytest.raises(InvalidSettings, match="QUERIES_TOKEN_ISSUER"):
        open_verifier(load_settings(settings), TestClock(NOW))


def _is_refused(verifier: JwksVerifier, token: str) -> bool:
    try:
        verifier.verify(token)
    except (NotSignedIn, KeysUnavailable):
        return True
    return False


def _eventually(holds: Callable[[], bool]) -> None:
    waiting = threading.Event()
    for _ in range(500):
        if holds():
            return
        waiting.wait(0.02)
    raise AssertionError("it did not come")
