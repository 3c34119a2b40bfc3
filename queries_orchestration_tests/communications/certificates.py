"""A certificate of this machine, made for the test and trusted by nobody else."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class Certificate:
    """A key and what proves it; ``file`` holds the certificate for who shall trust it."""

    key: rsa.RSAPrivateKey
    pem: bytes
    file: Path
    server: ssl.SSLContext


def make_certificate(
    folder: Path,
    *,
    host: str = "localhost",
    valid_from: datetime | None = None,
    valid_until: datetime | None = None,
) -> Certificate:
    """Make a self-signed certificate of ``host`` and 127.0.0.1."""
    now = datetime.now(UTC)
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    names = [x509.DNSName(host)]
    loopback = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))] if host == "localhost" else []
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(valid_from or now - timedelta(days=1))
        .not_valid_after(valid_until or now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([*names, *loopback]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = certificate.public_bytes(serialization.Encoding.PEM)
    file, key_file = folder / "certificate.pem", folder / "key.pem"
    file.write_bytes(pem)
    key_file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file, key_file)
    return Certificate(key, pem, file, context)
