"""A message of SNS is believed only with its signature, of our topic, by a certificate of SNS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from queries_orchestration.communications.sns_signatures import SnsSignatures
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    EventRefused,
    InvalidSettings,
)
from queries_orchestration.model.sns import (
    is_certificate_url,
    is_confirmation_url,
    read_topics,
)
from queries_orchestration_tests.communications.certificates import Certificate, make_certificate
from queries_orchestration_tests.communications.sns_messages import (
    CERTIFICATE_URL,
    SUBSCRIBE_URL,
    TOPIC,
    body,
    signed,
)

NOW = datetime(2027, 1, 4, 7, tzinfo=UTC)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return _certificate(tmp_path_factory.mktemp("sns"))


def _certificate(folder: Path) -> Certificate:
    return make_certificate(
        folder,
        host="sns.amazonaws.com",
        valid_from=NOW - timedelta(days=1),
        valid_until=NOW + timedelta(days=1),
    )


class Fetched:
    """What the certificate's address holds, and how often it was asked for."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.urls: list[str] = []

    def __call__(self, url: str) -> bytes:
        self.urls.append(url)
        if not self.content:
            raise CommunicationsUnavailable("It does not answer.")
        return self.content


def checking(certificate: Certificate, *, now: datetime = NOW) -> tuple[SnsSignatures, Fetched]:
    fetched = Fetched(certificate.pem)
    return SnsSignatures(frozenset({TOPIC}), fetch=fetched, clock=lambda: now), fetched


@pytest.mark.parametrize("version", ["1", "2"])
@pytest.mark.parametrize("subject", [{}, {"Subject": "Grüße\nand more"}])
def test_a_signed_message_is_read_and_its_certificate_fetched_once(
    certificate: Certificate, version: str, subject: dict[str, str]
) -> None:
    signatures, fetched = checking(certificate)
    for _ in range(2):
        message = signatures.verified(
            body(signed(certificate, version=version, Message="ü\n1", **subject))
        )
        assert (message.type, message.fields["Message"]) == ("Notification", "ü\n1")
    assert fetched.urls == [CERTIFICATE_URL]


def test_a_confirmation_is_signed_over_its_address_and_token(certificate: Certificate) -> None:
    signatures, _ = checking(certificate)
    fields = signed(
        certificate, Type="SubscriptionConfirmation", SubscribeURL=SUBSCRIBE_URL, Token="t"
    )
    assert signatures.verified(body(fields)).fields["SubscribeURL"] == SUBSCRIBE_URL
    with pytest.raises(EventRefused):
        signatures.verified(body(fields | {"SubscribeURL": SUBSCRIBE_URL + "2"}))


@pytest.mark.parametrize(
    "change",
    [
        {"Message": "other"},
        {"MessageId": "other"},
        {"Timestamp": "2027-01-04T07:00:01.000Z"},
        {"Subject": "added"},
        {"Type": "UnsubscribeConfirmation"},
        {"Type": "Other"},
        {"SignatureVersion": "1"},
        {"SignatureVersion": "3"},
        {"Signature": ""},
        {"Signature": "AAAA"},
        {"Signature": "not base64!"},
        {"TopicArn": TOPIC + "2"},
        {"SigningCertURL": CERTIFICATE_URL.replace("sns.", "evil.")},
        {"SigningCertURL": ""},
    ],
)
def test_whatever_is_changed_it_is_refused_with_the_same_answer(
    certificate: Certificate, change: dict[str, str]
) -> None:
    signatures, _ = checking(certificate)
    with pytest.raises(EventRefused) as refused:
        signatures.verified(body(signed(certificate) | change))
    assert refused.value.message == (
        "this is not a signed message of a topic of QUERIES_SNS_TOPICS"
    )


def test_a_key_of_another_kind_is_refused_as_any_other(certificate: Certificate) -> None:
    """An elliptic one verifies by other arguments: it must not end in an error of ours."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "sns.amazonaws.com")])
    elliptic = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(NOW - timedelta(days=1))
        .not_valid_after(NOW + timedelta(days=1))
        .sign(key, hashes.SHA256())
    )
    pem = elliptic.public_bytes(serialization.Encoding.PEM)
    signatures = SnsSignatures(frozenset({TOPIC}), fetch=Fetched(pem), clock=lambda: NOW)
    with pytest.raises(EventRefused):
        signatures.verified(body(signed(certificate)))


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"{", b"\xff", b"[" * 100_000, b"{}"])
def test_what_is_no_message_is_refused(certificate: Certificate, content: bytes) -> None:
    signatures, fetched = checking(certificate)
    with pytest.raises(EventRefused):
        signatures.verified(content)
    assert fetched.urls == []


def test_a_topic_of_somebody_else_is_refused_before_anything_is_fetched(
    certificate: Certificate,
) -> None:
    signatures, fetched = checking(certificate)
    with pytest.raises(EventRefused):
        signatures.verified(body(signed(certificate, TopicArn=TOPIC.replace("123", "999"))))
    assert fetched.urls == []


def test_the_certificate_of_somebody_else_does_not_do(
    certificate: Certificate, tmp_path: Path
) -> None:
    signatures, _ = checking(_certificate(tmp_path))
    with pytest.raises(EventRefused):
        signatures.verified(body(signed(certificate)))


@pytest.mark.parametrize("now", [NOW - timedelta(days=2), NOW + timedelta(days=2)])
def test_a_certificate_out_of_its_time_does_not_do(certificate: Certificate, now: datetime) -> None:
    signatures, _ = checking(certificate, now=now)
    with pytest.raises(EventRefused):
        signatures.verified(body(signed(certificate)))


def test_a_certificate_that_cannot_be_had_now_is_asked_for_again(certificate: Certificate) -> None:
    signatures, fetched = checking(certificate)
    fetched.content = b""
    with pytest.raises(CommunicationsUnavailable):
        signatures.verified(body(signed(certificate)))
    fetched.content = b"no certificate"
    with pytest.raises(EventRefused):
        signatures.verified(body(signed(certificate)))
    fetched.content = certificate.pem
    signatures.verified(body(signed(certificate)))
    assert len(fetched.urls) == 3


def test_few_certificates_are_kept(certificate: Certificate) -> None:
    signatures, fetched = checking(certificate)
    urls = [CERTIFICATE_URL.replace("0123", f"{number:04}") for number in range(9)]
    for url in [*urls, urls[-1], urls[0]]:
        signatures.verified(body(signed(certificate, SigningCertURL=url)))
    assert fetched.urls == [*urls, urls[0]]


@pytest.mark.parametrize(
    ("url", "right"),
    [
        (CERTIFICATE_URL, True),
        (CERTIFICATE_URL.replace("eu-central-1", "us-gov-west-1"), True),
        (CERTIFICATE_URL.replace(".com/", ".com.cn/"), True),
        (CERTIFICATE_URL.replace("https", "http"), False),
        (CERTIFICATE_URL.replace("https", "HTTPS"), False),
        (CERTIFICATE_URL.replace(".com/", ".com.evil.test/"), False),
        (CERTIFICATE_URL.replace("sns.", "evil.test/sns."), False),
        (CERTIFICATE_URL.replace("sns.", "a@sns."), False),
        (CERTIFICATE_URL.replace("sns.", "sns.evil."), False),
        (CERTIFICATE_URL.replace(".com/", ".com:8443/"), False),
        (CERTIFICATE_URL.replace(".com/", ".com\\@evil.test/"), False),
        (CERTIFICATE_URL.replace("/Simple", "/../Simple"), False),
        (CERTIFICATE_URL + "?a=b", False),
        (CERTIFICATE_URL + "#a", False),
        (CERTIFICATE_URL.removesuffix(".pem"), False),
        ("https://sns.eu-central-1.amazonaws.com/?Action=Publish&x=.pem", False),
        ("https://[", False),
        ("", False),
    ],
)
def test_certificates_come_from_sns_alone(url: str, right: bool) -> None:
    assert is_certificate_url(url) is right


@pytest.mark.parametrize(
    ("url", "right"),
    [
        (SUBSCRIBE_URL, True),
        (SUBSCRIBE_URL.replace("ConfirmSubscription", "DeleteTopic"), False),
        (SUBSCRIBE_URL + "&Action=DeleteTopic", False),
        (SUBSCRIBE_URL.replace("sns.", "evil."), False),
        (SUBSCRIBE_URL.replace("/?", "/a?"), False),
        (CERTIFICATE_URL, False),
        ("", False),
    ],
)
def test_only_the_address_that_confirms_is_fetched(url: str, right: bool) -> None:
    assert is_confirmation_url(url) is right


def test_topics_are_arns() -> None:
    assert read_topics("") == frozenset()
    assert read_topics(f" {TOPIC}, {TOPIC}2 ,") == {TOPIC, f"{TOPIC}2"}
    with pytest.raises(InvalidSettings, match="QUERIES_SNS_TOPICS"):
        read_topics(f"{TOPIC},mail")
