"""What all our signed tokens share: JWTs, HS256 alone, each kind with a type and audience.

A token of one kind is refused as any other kind, and so is everything that is not exactly what
we sign: another header, a claim too many or too few, a value of another type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, TypeVar

import jwt

from queries_orchestration.model.errors import InvalidSettings, LinkRefused
from queries_orchestration.model.link_keys import LINK_KEYS_SETTING, LinkKeys

_ALGORITHM = "HS256"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TOKEN_CHARACTERS = 2048

Link = TypeVar("Link")


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenKind(Generic[Link]):
    """One purpose of tokens: claims of the names in ``texts`` and ``moments`` besides ``aud``.

    Each claim stands for the field of ``link`` that its name is mapped to; their order is part of
    a token's bytes. Moments are instants in whole seconds; ``exp``, the token's end, is one.
    ``key_field`` is the field that names the signing key; without it, the first one signs.
    """

    typ: str
    audience: str
    link: type[Link]
    texts: Mapping[str, str]
    moments: Mapping[str, str]
    key_field: str | None = None

    def sign(self, keys: LinkKeys, link: Link) -> str:
        """The token of ``link``: always the same one for the same fields.

        Raises:
            InvalidSettings: the key that the link names was taken out of the setting.
        """
        key_id = getattr(link, self.key_field) if self.key_field else keys.signing_key_id
        secret = keys.secret(key_id)
        if secret is None:
            raise InvalidSettings(
                f"{LINK_KEYS_SETTING} no longer holds the key {key_id!r} of a link that is still "
                "in use: keep a key for seven days after it signed for the last time"
            )
        payload: dict[str, Any] = {"aud": self.audience}
        payload |= {claim: getattr(link, name) for claim, name in self.texts.items()}
        payload |= {
            claim: int(getattr(link, name).timestamp()) for claim, name in self.moments.items()
        }
        headers = {"typ": self.typ, "kid": key_id}
        return jwt.encode(payload, secret, algorithm=_ALGORITHM, headers=headers)

    def verify(self, keys: LinkKeys, token: str, *, now: datetime) -> Link:
        """The link that ``token`` stands for, at ``now`` (aware).

        Raises:
            LinkRefused: anything else than an unchanged, unexpired token of this kind; the same
                answer whatever is wrong.
        """
        try:
            key_id, claims = self._claims(keys, token)
            read = {name: _text(claims[claim]) for claim, name in self.texts.items()}
            ends = {name: _moment(claims[claim]) for claim, name in self.moments.items()}
            if now >= ends[self.moments["exp"]]:
                raise LinkRefused
            named = {self.key_field: key_id} if self.key_field else {}
            return self.link(**named, **read, **ends)
        except (jwt.PyJWTError, ValueError, OverflowError, OSError):
            raise LinkRefused from None

    def _claims(self, keys: LinkKeys, token: str) -> tuple[str, dict[str, Any]]:
        if len(token) > _TOKEN_CHARACTERS or not _TOKEN.fullmatch(token):
            raise LinkRefused
        header = jwt.get_unverified_header(token)
        key_id = header.get("kid")
        wanted = {"alg": _ALGORITHM, "kid": key_id, "typ": self.typ}
        if not isinstance(key_id, str) or header != wanted:
            raise LinkRefused
        secret = keys.secret(key_id)
        if secret is None:
            raise LinkRefused
        claims = jwt.decode(
            token,
            secret,
            algorithms=[_ALGORITHM],
            audience=self.audience,
            # Our clock is injected, so PyJWT must not look at its own.
            options={
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
                "strict_aud": True,
            },
        )
        if claims.keys() != {"aud", *self.texts, *self.moments}:
            raise LinkRefused
        return key_id, claims


def is_whole_second(moment: datetime) -> bool:
    """Whether a token can hold ``moment``: UTC, in whole seconds."""
    return moment.utcoffset() == timedelta(0) and not moment.microsecond


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise LinkRefused
    return value


def _moment(value: object) -> datetime:
    if type(value) is not int:  # a bool is an int, and a fraction is not ours
        raise LinkRefused
    return datetime.fromtimestamp(value, UTC)
