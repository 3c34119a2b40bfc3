"""Which mail server a URL names, and how it is spoken to."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Final, Literal
from urllib.parse import SplitResult, parse_qsl, unquote

from queries_orchestration.model.errors import InvalidSettings

Security = Literal["tls", "starttls", "none"]

SUBMISSION_PORT: Final = 587
TLS_PORT: Final = 465

_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?"
_HOST: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*")
_FORMS: Final = (
    "use smtp://user:password@host:port, which asks for STARTTLS, or smtps://… for TLS from the"
    " start (in user and password write / ? # @ : and % as %2F %3F %23 %40 %3A and %25)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SmtpPlace:
    """A mail server: ``tls`` from the start, ``starttls`` required, or ``none``."""

    host: str
    port: int
    security: Security
    user: str = ""
    password: str = field(default="", repr=False)


def read_smtp_url(parts: SplitResult, *, password: str = "") -> SmtpPlace:
    """Read ``smtp://…`` or ``smtps://…``.

    Args:
        password: of the settings, for a URL that holds none.

    Raises:
        InvalidSettings: it names no mail server, or names two passwords or none for its user. The
            value is never shown.
    """
    try:
        host, port = parts.hostname or "", parts.port
    except ValueError:
        raise _invalid("has no port that can be used") from None
    if not _HOST.fullmatch(host) or port == 0 or parts.path.strip("/") or parts.fragment:
        raise _invalid("names no mail server")
    user, own_password = unquote(parts.username or ""), unquote(parts.password or "")
    if own_password and password:
        raise _invalid("holds a password beside QUERIES_SMTP_PASSWORD or its file: give it once")
    if bool(user) != bool(own_password or password):
        raise _invalid("must have a user and a password, or neither")
    if "\0" in user + own_password + password:
        raise _invalid("has a user or password that no mail server can take")
    return SmtpPlace(
        host=host,
        port=port or (TLS_PORT if parts.scheme == "smtps" else SUBMISSION_PORT),
        security=_security(parts, host),
        user=user,
        password=own_password or password,
    )


def _security(parts: SplitResult, host: str) -> Security:
    options = parse_qsl(parts.query, keep_blank_values=True)
    if parts.scheme == "smtps":
        if options:
            raise _invalid("is smtps:// and takes nothing after ?")
        return "tls"
    match options:
        case []:
            return "none" if _is_loopback(host) else "starttls"
        case [("tls", "none")]:
            return "none"
        case [("tls", "starttls")]:
            return "starttls"
        case _:
            raise _invalid("takes after ? only tls=none or tls=starttls")


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _invalid(what: str) -> InvalidSettings:
    return InvalidSettings(f"QUERIES_COMMUNICATIONS_URL {what}: {_FORMS}")
