"""Personal delivery links: which token is ours, and what it opens.

A token is a JWT, signed with HS256 alone. The store keeps the fields of a `DeliveryLink`, never
the token: signing the same fields gives the same token again, byte for byte. A verified token
says only which link it is; whether its person may still open the file is checked at the click.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from queries_orchestration.model.errors import InvalidSettings, LinkRefused

LINK_LIFETIME = timedelta(days=7)

_ALGORITHM = "HS256"
_TYPE = "queries-delivery-link+jwt"
_AUDIENCE = "queries/delivery-link"
_SETTING = "QUERIES_LINK_KEYS"
_SECRET_BYTES = 32
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_SECRET = re.compile(r"[!-~]+")
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TOKEN_CHARACTERS = 2048
# Claim name -> field of DeliveryLink; the order is part of the token's bytes.
_TEXT_CLAIMS = {
    "jti": "token_id",
    "workspace": "workspace_id",
    "occurrence": "occurrence_key",
    "export": "export_id",
    "sub": "person_id",
}
_CLAIMS = frozenset({"aud", *_TEXT_CLAIMS, "iat", "exp"})


@dataclass(frozen=True, slots=True)
class LinkKeys:
    """The signing keys, by id: the first signs new links, all of them verify.

    To change keys, put the new one first and keep the old one until its last link has ended.
    """

    secrets: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def parse(cls, text: str) -> LinkKeys:
        """Read ``id1:secret1,id2:secret2``.

        Raises:
            InvalidSettings: empty, malformed, an id twice, or a secret below 32 bytes. The
                message counts entries from 1 and shows neither ids nor secrets.
        """
        if not text.strip():
            raise InvalidSettings(
                f"{_SETTING} is empty: set it to `id:secret`, the secret at least "
                f"{_SECRET_BYTES} random bytes of text, several keys with commas between them"
            )
        secrets: dict[str, str] = {}
        for number, entry in enumerate(text.split(","), start=1):
            key_id, _, secret = entry.strip().partition(":")
            if not _KEY_ID.fullmatch(key_id) or not _SECRET.fullmatch(secret):
                raise InvalidSettings(
                    f"{_SETTING}: entry {number} is not `id:secret` (id: 1 to 32 letters, digits, "
                    "`_`, `-`; secret: visible ASCII characters without a comma)"
                )
            if len(secret) < _SECRET_BYTES:
                raise InvalidSettings(
                    f"{_SETTING}: the secret of entry {number} is shorter than "
                    f"{_SECRET_BYTES} bytes"
                )
            if key_id in secrets:
                raise InvalidSettings(f"{_SETTING}: entry {number} uses an id a second time")
            secrets[key_id] = secret
        return cls(tuple(secrets.items()))

    @property
    def signing_key_id(self) -> str:
        """The id that a new `DeliveryLink` carries."""
        return self.secrets[0][0]

    def secret(self, key_id: str) -> str | None:
        """The secret of ``key_id``, or None when the setting no longer holds it."""
        return dict(self.secrets).get(key_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryLink:
    """One recipient's link to one file. Times are aware UTC in whole seconds."""

    token_id: str
    key_id: str
    workspace_id: str
    occurrence_key: str
    export_id: str
    person_id: str
    issued_at: datetime
    expires_at: datetime

    def __post_init__(self) -> None:
        for moment in (self.issued_at, self.expires_at):
            if moment.utcoffset() != timedelta(0) or moment.microsecond:
                raise ValueError("a link's times are UTC in whole seconds")
        if self.expires_at <= self.issued_at:
            raise ValueError("a link ends after it was issued")


def sign(keys: LinkKeys, link: DeliveryLink) -> str:
    """The token of ``link``: always the same one for the same fields.

    Raises:
        InvalidSettings: the key that the link names was taken out of the setting.
    """
    secret = keys.secret(link.key_id)
    if secret is None:
        raise InvalidSettings(
            f"{_SETTING} no longer holds the key {link.key_id!r} of a link that is still in use: "
            f"keep a key for {LINK_LIFETIME.days} days after it signed for the last time"
        )
    claims: dict[str, Any] = {"aud": _AUDIENCE}
    claims |= {claim: getattr(link, name) for claim, name in _TEXT_CLAIMS.items()}
    claims |= {"iat": int(link.issued_at.timestamp()), "exp": int(link.expires_at.timestamp())}
    headers = {"typ": _TYPE, "kid": link.key_id}
    return jwt.encode(claims, secret, algorithm=_ALGORITHM, headers=headers)


def verify(keys: LinkKeys, token: str, *, now: datetime) -> DeliveryLink:
    """The link that ``token`` stands for, at ``now`` (aware).

    Raises:
        LinkRefused: anything else than an unchanged, unexpired token of ours; the same answer
            whatever is wrong.
    """
    try:
        return _read(keys, token, now)
    except (jwt.PyJWTError, ValueError, OverflowError, OSError):
        raise LinkRefused from None


def _read(keys: LinkKeys, token: str, now: datetime) -> DeliveryLink:
    if len(token) > _TOKEN_CHARACTERS or not _TOKEN.fullmatch(token):
        raise LinkRefused
    header = jwt.get_unverified_header(token)
    key_id = header.get("kid")
    if not isinstance(key_id, str) or header != {"alg": _ALGORITHM, "kid": key_id, "typ": _TYPE}:
        raise LinkRefused
    secret = keys.secret(key_id)
    if secret is None:
        raise LinkRefused
    claims = jwt.decode(
        token,
        secret,
        algorithms=[_ALGORITHM],
        audience=_AUDIENCE,
        # Our clock is injected, so PyJWT must not look at its own.
        options={"verify_exp": False, "verify_iat": False, "verify_nbf": False, "strict_aud": True},
    )
    if claims.keys() != _CLAIMS:
        raise LinkRefused
    link = DeliveryLink(
        key_id=key_id,
        issued_at=_moment(claims["iat"]),
        expires_at=_moment(claims["exp"]),
        **{name: _text(claims[claim]) for claim, name in _TEXT_CLAIMS.items()},
    )
    if now >= link.expires_at:
        raise LinkRefused
    return link


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise LinkRefused
    return value


def _moment(value: object) -> datetime:
    if type(value) is not int:  # a bool is an int, and a fraction is not ours
        raise LinkRefused
    return datetime.fromtimestamp(value, UTC)


def link_url(public_url: str, token: str) -> str:
    """The address that goes into the message; ``public_url`` is the root of our public site."""
    return f"{public_url.rstrip('/')}/d/{token}"
