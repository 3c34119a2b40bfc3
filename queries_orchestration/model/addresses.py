"""E-mail addresses: one spelling to keep, and which of them are one mailbox."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import idna

from queries_orchestration.model.errors import InvalidAddress

_ADDRESS_BYTES = 254  # RFC 5321 4.5.3.1.3 with erratum 1690
_LOCAL_PART_BYTES = 64
# RFC 5322 dot-atom; RFC 6531 adds the characters beyond ASCII.
_ATOM = r"(?:[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]|[^\x00-\x7f])+"
_LOCAL_PART = re.compile(rf"{_ATOM}(?:\.{_ATOM})*")


def clean_address(text: str) -> str:
    """One e-mail address in the spelling we keep: trimmed, its domain as A-label in lower case.

    A local part beyond ASCII is kept; a backend that cannot send to it refuses that recipient
    alone. Quoted local parts and address literals (``a@[192.0.2.1]``) are not taken, nor what may
    open an encoded word (``=?``, RFC 2047): a mail program could show another address for it.

    Raises:
        InvalidAddress: not exactly one address. The message does not show it.
    """
    address = unicodedata.normalize("NFC", text.strip())
    local_part, at, domain = address.rpartition("@")
    if (
        not at
        or len(address) > _ADDRESS_BYTES
        or not address.isprintable()
        or not _LOCAL_PART.fullmatch(local_part)
        or any(character.isspace() for character in local_part)
        or "=?" in local_part
        or len(local_part.encode()) > _LOCAL_PART_BYTES
    ):
        raise _invalid()
    try:
        address = f"{local_part}@{clean_domain(domain)}"
    except InvalidAddress:
        raise _invalid() from None
    if len(address.encode()) > _ADDRESS_BYTES:
        raise _invalid()
    return address


def clean_domain(text: str) -> str:
    """One domain of e-mail addresses in the spelling we keep: as A-label in lower case.

    Raises:
        InvalidAddress: it is none.
    """
    try:
        domain = idna.encode(text, uts46=True, std3_rules=True).decode("ascii").lower()
    except idna.IDNAError:
        domain = ""
    if not domain or domain.endswith("."):
        raise InvalidAddress("not a domain of e-mail addresses: write it as example.org, alone")
    return domain


def domain_of(address: str) -> str:
    """The domain of an address as `clean_address` gives it."""
    return address.rpartition("@")[2]


def mailbox_key(address: str) -> str:
    """What makes two addresses one mailbox, for one message per mailbox.

    Domains are equal without regard to case, as DNS has it. RFC 5321 lets a server tell `Ann`
    from `ann`, but hardly one does, so our rule compares local parts without regard to case too:
    by Unicode's simple folding, for which both small sigmas are one letter, and ``ß`` is not
    ``ss``.

    Raises:
        InvalidAddress: as `clean_address`.
    """
    return unicodedata.normalize("NFC", "".join(map(_folded, clean_address(address))))


def mailbox_digest(workspace_id: str, address: str) -> str:
    """What is kept of a mailbox where its address must not be: whether another is the same.

    Each workspace has its own. Who knows an address can compute it, so it is personal data still.

    Raises:
        InvalidAddress: as `clean_address`.
    """
    return hashlib.sha256(f"{workspace_id} {mailbox_key(address)}".encode()).hexdigest()


def _folded(character: str) -> str:
    folded = character.casefold()
    return folded if len(folded) == 1 else character.lower()


def _invalid() -> InvalidAddress:
    return InvalidAddress(
        "not one e-mail address: write it alone, as in name@example.org, without a name beside it "
        "or a second address"
    )
