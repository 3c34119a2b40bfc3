"""Bearer tokens: JWTs that say for which person of which workspace somebody asks.

The names are those of the catalog. What the person may do is looked up in the store, never read
from the token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

import jwt

from queries_orchestration.model.clock import Clock
from queries_orchestration.model.errors import Refused, TransientError
from queries_orchestration.model.titles import is_one_line

LEEWAY: Final = timedelta(seconds=60)
"""By how much the clock of who issued a token may differ from ours."""

LONGEST_TOKEN: Final = 8_192
_LONGEST_NAME: Final = 200


class NotSignedIn(Refused):
    """No token, or one that does not count: always the same answer."""

    code = "not_signed_in"

    def __init__(self) -> None:
        super().__init__("Sign in: a valid token of an active person is needed.")


class KeysUnavailable(TransientError):
    """The keys that tokens are signed with cannot be read now."""

    code = "keys_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """Whom a token speaks for, by their names in the catalog."""

    workspace: str
    person: str


class TokenVerifier(Protocol):
    """Says whom a token speaks for."""

    def verify(self, token: str) -> Named:
        """Return whom ``token`` speaks for.

        Raises:
            NotSignedIn: it is not valid; always the same answer.
            KeysUnavailable: the keys to check it with cannot be read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a token must say; ``issuer`` is None where any is taken."""

    audience: str
    issuer: str | None
    workspace_claim: str
    person_claim: str
    clock: Clock

    def named(self, token: str, key: Any, algorithms: Sequence[str]) -> Named:
        """Return whom a token speaks for that must be signed with ``key``.

        Raises:
            NotSignedIn: it is not valid.
        """
        try:
            claims = jwt.decode(
                token,
                key,
                algorithms=list(algorithms),
                audience=self.audience,
                issuer=self.issuer,
                # Our clock is injected, so PyJWT must not look at its own.
                options={
                    "require": ["exp"],
                    "verify_exp": False,
                    "verify_iat": False,
                    "verify_nbf": False,
                },
            )
            self._check_time(claims)
            return Named(
                workspace=_name(claims, self.workspace_claim),
                person=_name(claims, self.person_claim),
            )
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, KeyError):
            raise NotSignedIn from None

    def _check_time(self, claims: Mapping[str, Any]) -> None:
        now = self.clock()
        if now >= _moment(claims["exp"], now) + LEEWAY:
            raise NotSignedIn
        if "nbf" in claims and now < _moment(claims["nbf"], now) - LEEWAY:
            raise NotSignedIn


def ends_at(token: str) -> datetime:
    """Return when a token ends that was verified before."""
    claims = jwt.decode(token, options={"verify_signature": False})
    return datetime.fromtimestamp(claims["exp"], UTC)


def _moment(value: object, now: datetime) -> datetime:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NotSignedIn
    return datetime.fromtimestamp(value, now.tzinfo)


def _name(claims: Mapping[str, Any], claim: str) -> str:
    name = claims[claim]
    if not isinstance(name, str) or not 0 < len(name) <= _LONGEST_NAME or not is_one_line(name):
        raise NotSignedIn
    return name
