"""Is a message of Amazon SNS signed by SNS, and from a topic of ours?"""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from queries_orchestration.model.sns import (
    SnsMessage,
    is_certificate_url,
    read_sns,
    refused,
)

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

Fetch = Callable[[str], bytes]
"""Fetches an https URL, follows no redirect; raises CommunicationsUnavailable."""

_KEPT: Final = 8
"""Certificates; SNS changes its own about once a year."""


class SnsSignatures:
    """Checks messages; it keeps the certificates that it has fetched."""

    def __init__(
        self, topics: frozenset[str], *, fetch: Fetch, clock: Callable[[], datetime]
    ) -> None:
        """``topics`` are the ARNs that messages may come from; ``clock`` gives aware moments."""
        self._topics = topics
        self._fetch = fetch
        self._clock = clock
        self._certificates: dict[str, Certificate] = {}

    def verified(self, body: bytes) -> SnsMessage:
        """Read a message and check its topic and signature, of version 1 or 2.

        Raises:
            EventRefused: it is not one of ours, or was changed.
            CommunicationsUnavailable: its certificate cannot be fetched now.
        """
        # Loaded when a message comes: loading the definitions must stay quick.
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric import padding, rsa

        message = read_sns(body)
        if message.topic not in self._topics:
            raise refused()
        algorithm: hashes.HashAlgorithm
        match message.fields.get("SignatureVersion"):
            case "1":
                algorithm = hashes.SHA1()  # noqa: S303  # as SNS signs unless told otherwise
            case "2":
                algorithm = hashes.SHA256()
            case _:
                raise refused()
        key = self._certificate(message.fields.get("SigningCertURL", "")).public_key()
        if not isinstance(key, rsa.RSAPublicKey):
            raise refused()
        try:
            signature = base64.b64decode(message.fields.get("Signature", ""), validate=True)
            key.verify(signature, message.signed_text, padding.PKCS1v15(), algorithm)
        except (ValueError, InvalidSignature):
            raise refused() from None
        return message

    def _certificate(self, url: str) -> Certificate:
        from cryptography.x509 import load_pem_x509_certificate

        if not is_certificate_url(url):
            raise refused()
        certificate = self._certificates.get(url)
        if certificate is None:
            try:
                certificate = load_pem_x509_certificate(self._fetch(url))
            except ValueError:
                raise refused() from None
            while len(self._certificates) >= _KEPT:
                self._certificates.pop(next(iter(self._certificates)))
            self._certificates[url] = certificate
        now = self._clock()
        if not certificate.not_valid_before_utc <= now <= certificate.not_valid_after_utc:
            raise refused()
        return certificate
