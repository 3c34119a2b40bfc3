"""Addresses under which we are reached: as links have them, and what Message-IDs end with."""

from __future__ import annotations

import re
from ipaddress import IPv6Address
from typing import Final
from urllib.parse import quote, urlsplit

import idna

_HOST_CHARACTERS: Final = 253
_USUAL_PORTS: Final = {"http": 80, "https": 443}
_LABEL: Final = r"[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?"
_HOST: Final = re.compile(rf"{_LABEL}(\.{_LABEL})*\.?")  # an underscore is no host's, but works
_DOMAIN_CHARACTERS: Final = 150  # SES takes a Message-ID in a tag of 256, as base64
_DOMAIN_LABEL: Final = r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_DOMAIN: Final = re.compile(rf"{_DOMAIN_LABEL}(\.{_DOMAIN_LABEL})*")


def clean_web_url(url: str) -> str | None:
    """Return the root of a site in the spelling that works in every link and header: plain ASCII.

    The host becomes an A-label, what a path may not hold is percent-encoded. None if it is no URL
    of a site, or has a user, a query or a fragment.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return None
    host = _clean_host(parts.hostname or "")
    is_root = not (parts.query or parts.fragment or "@" in parts.netloc or port == 0)
    if parts.scheme not in ("http", "https") or host is None or not is_root:
        return None
    is_usual = port in (None, _USUAL_PORTS[parts.scheme])  # browsers leave it out
    place = (f"[{host}]" if ":" in host else host) + ("" if is_usual else f":{port}")
    path = quote(parts.path, safe="/%:@!$&'()*+,;=~")
    return f"{parts.scheme}://{place}{path}"


def message_domain(public_url: str, sender_domain: str) -> str:
    """Return what a Message-ID of ours has after its ``@``.

    The public URL's host; where that is no domain (an IPv6 address, a name with an underscore) or a
    very long one, the domain of the sender's address.
    """
    host = (urlsplit(public_url).hostname or "").rstrip(".")
    for domain in (host, sender_domain):
        if len(domain) <= _DOMAIN_CHARACTERS and _DOMAIN.fullmatch(domain):
            return domain
    return "localhost"


def _clean_host(host: str) -> str | None:
    try:
        if ":" in host:
            return None if "%" in host else str(IPv6Address(host))
        ascii_host = host if host.isascii() else idna.encode(host, uts46=True).decode()
    except ValueError:  # of `idna.IDNAError` too
        return None
    return ascii_host if len(host) <= _HOST_CHARACTERS and _HOST.fullmatch(ascii_host) else None
