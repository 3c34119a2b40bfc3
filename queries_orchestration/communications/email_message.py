"""A `Message` as an RFC 5322 e-mail, the same for every backend that sends mail."""

from __future__ import annotations

from datetime import datetime
from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy, Policy
from typing import Any, Final

from queries_orchestration.communications.interface import Message, clean_header_text
from queries_orchestration.model.addresses import clean_address

_LINE: Final = 78
"""Characters of a header's line that need no fold (RFC 5322 2.1.1)."""


class _Header(BaseHeader):
    """A header beyond ASCII is folded by `Header`, the older of the library's two ways.

    The newer one, of CPython 3.11, loses a space where it folds between two encoded words.
    """

    def fold(self, *, policy: Policy) -> str:
        if self.name.lower() == "list-unsubscribe":
            # A link has nowhere to fold, and the library would make encoded words of it.
            return f"{self.name}: {self}{policy.linesep}"
        if self.isascii():
            return super().fold(policy=policy)
        return f"{self.name}: {_encoded(str(self), self.name, policy)}{policy.linesep}"


class _AddressHeader(_Header):
    """A header of one address, written as it is: the library neither parses nor folds it.

    It parses what it folds: encoded words in a local part would be decoded into the header, line
    breaks too, and a name that it folds can leave its quotes and become addresses. So a name stands
    on one line, in quotes where it needs them, or else as encoded words, which need none.
    """

    max_count = 1

    @classmethod
    def parse(cls, value: Address, kwds: dict[str, Any]) -> None:
        """Take the address; called by the library with what the header is set to."""
        kwds |= {"decoded": str(value), "parse_tree": None, "address": value}

    def init(self, name: str, *, address: Address, **kwds: Any) -> None:  # type: ignore[override]
        self._address = address
        super().init(name, **kwds)

    def fold(self, *, policy: Policy) -> str:
        line = f"{self.name}: {self._address}"
        name, address = self._address.display_name, f"<{self._address.addr_spec}>"
        if name and not (name.isascii() and len(line) <= _LINE):
            first = line.removesuffix(f" {address}")
            if not name.isascii() or len(first) > _LINE:
                first = f"{self.name}: {_encoded(name, self.name, policy)}"
            line = f"{first}{policy.linesep} {address}"
        return f"{line}{policy.linesep}"


def _encoded(text: str, header: str, policy: Policy) -> str:
    return Header(text, "utf-8", header_name=header).encode(linesep=policy.linesep)


def _registry() -> HeaderRegistry:
    registry = HeaderRegistry(base_class=_Header)
    for header in ("from", "to"):
        registry.map_to_type(header, _AddressHeader)
    return registry


# Bodies are seven-bit: they pass every server, and a long link is never broken for good.
_SMTP = SMTP.clone(header_factory=_registry(), cte_type="7bit")


def parse_sender(text: str) -> Address:
    """The From address of ``name@example.org`` or ``Name <name@example.org>``.

    Raises:
        InvalidAddress: the address is none.
    """
    name, opened, rest = text.strip().rpartition("<")
    address = clean_address(rest.removesuffix(">") if opened else rest)
    return _address(clean_header_text(name.strip().strip('"')), address)


def email_message(message: Message, *, sender: Address, date: datetime) -> EmailMessage:
    """The e-mail: text and HTML as alternatives, one recipient, dated ``date`` (aware).

    Headers are plain ASCII unless an address itself is not; ``policy.utf8`` of the result then
    says that only a server with SMTPUTF8 (RFC 6531) can take it.
    """
    recipient = _address(message.recipient_name, message.recipient_address)
    utf8 = not (recipient.addr_spec.isascii() and sender.addr_spec.isascii())
    mail = EmailMessage(_SMTP.clone(utf8=utf8))
    mail["From"] = Address(
        message.sender_name or sender.display_name, sender.username, sender.domain
    )
    mail["To"] = recipient
    mail["Subject"] = message.subject
    mail["Date"] = date
    mail["Message-ID"] = message.message_id
    mail["Auto-Submitted"] = "auto-generated"  # RFC 3834: no out-of-office answers
    for name, value in message.headers.items():
        mail[name] = value
    mail.set_content(message.text)
    mail.add_alternative(message.html, subtype="html")
    return mail


def needs_utf8(mail: EmailMessage) -> bool:
    """Whether only a server with SMTPUTF8 can take ``mail``, for an address beyond ASCII."""
    return isinstance(mail.policy, EmailPolicy) and mail.policy.utf8


def _address(name: str, address: str) -> Address:
    username, _, domain = address.rpartition("@")
    return Address(name, username, domain)
