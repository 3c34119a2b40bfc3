"""What all our signed tokens share: JWTs, HS256 alone, each kind with a type and audience.

A token of one kind is refused as any other kind, and so is everything that is not exactly what
we sign: another header, a claim too many or too few, a value of another type.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

from queries_orchestration.model.errors import InvalidSettings, LinkRefused
from queries_orchestration.model.link_keys import LINK_KEYS_SETTING, LinkKeys

_ALGORITHM = "HS256"
_TOKEN = re.compile(r"[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+")
_TOKEN_CHARACTERS = 2048


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenKind:
    """One purpose of tokens; ``texts`` and ``moments`` name its claims besides ``aud``.

    Moments are instants in whole seconds; ``exp``, the token's end, is one of them.
    """

    type: str
    audience: str
    texts: tuple[str, ...]
    moments: tuple[str, ...]


def sign_token(
    keys: LinkKeys, kind: TokenKind, *, key_id: str, claims: Mapping[str, str | datetime]
) -> str:
    """The token of these claims: the same one for the same claims in the same order.

    Raises:
        InvalidSettings: the key ``key_id`` was taken out of the setting.
    """
    secret = keys.secret(key_id)
    if secret is None:
        raise InvalidSettings(
            f"{LINK_KEYS_SETTING} no longer holds the key {key_id!r} of a link that is still in "
            "use: keep a key for seven days after it signed for the last time"
        )
    payload: dict[str, Any] = {"aud": kind.audience}
    payload |= {
        name: int(value.timestamp()) if isinstance(value, datetime) else value
        for name, value in claims.items()
    }
    headers = {"typ": kind.type, "kid": key_id}
    return jwt.encode(payload, secret, algorithm=_ALGORITHM, headers=headers)


def read_token(
    keys: LinkKeys, kind: TokenKind, token: str, *, now: datetime
) -> tuple[str, dict[str, Any]]:
    """The key id and the claims of a token of this kind, at ``now`` (aware).

    Texts are ``str`` and not empty, moments aware UTC.

    Raises:
        LinkRefused: anything else than an unchanged, unexpired token of this kind; the same
            answer whatever is wrong.
    """
    try:
        return _read(keys, kind, token, now)
    except (jwt.PyJWTError, ValueError, OverflowError, OSError):
        raise LinkRefused from None


def is_whole_second(moment: datetime) -> bool:
    """Whether a token can hold ``moment``: UTC, in whole seconds."""
    return moment.utcoffset() == timedelta(0) and not moment.microsecond


def _read(keys: LinkKeys, kind: TokenKind, token: str, now: datetime) -> tuple[str, dict[str, Any]]:
    if len(token) > _TOKEN_CHARACTERS or not _TOKEN.fullmatch(token):
        raise LinkRefused
    header = jwt.get_unverified_header(token)
    key_id = header.get("kid")
    wanted = {"alg": _ALGORITHM, "kid": key_id, "typ": kind.type}
    if not isinstance(key_id, str) or header != wanted:
        raise LinkRefused
    secret = keys.secret(key_id)
    if secret is None:
        raise LinkRefused
    claims = jwt.decode(
        token,
        secret,
        algorithms=[_ALGORITHM],
        audience=kind.audience,
        # Our clock is injected, so PyJWT must not look at its own.
        options={"verify_exp": False, "verify_iat": False, "verify_nbf": False, "strict_aud": True},
    )
    if claims.keys() != {"aud", *kind.texts, *kind.moments}:
        raise LinkRefused
    read: dict[str, Any] = {name: _text(claims[name]) for name in kind.texts}
    read |= {name: _moment(claims[name]) for name in kind.moments}
    if now >= read["exp"]:
        raise LinkRefused
    return key_id, read


def _text(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise LinkRefused
    return value


def _moment(value: object) -> datetime:
    if type(value) is not int:  # a bool is an int, and a fraction is not ours
        raise LinkRefused
    return datetime.fromtimestamp(value, UTC)
