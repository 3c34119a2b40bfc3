"""A `Message` as an RFC 5322 e-mail, the same for every backend that sends mail."""

from __future__ import annotations

from datetime import datetime
from email.header import Header
from email.headerregistry import Address, BaseHeader, HeaderRegistry
from email.message import EmailMessage
from email.policy import SMTP, EmailPolicy, Policy

from queries_orchestration.communications.interface import Message, clean_header_text
from queries_orchestration.model.addresses import clean_address


class _Header(BaseHeader):
    """A header beyond ASCII is folded by `Header`, the older of the library's two ways.

    The newer one, of CPython 3.11, loses a space where it folds between two encoded words.
    """

    def fold(self, *, policy: Policy) -> str:
        if self.name.lower() == "list-unsubscribe":
            # A link has nowhere to fold, and the library would make encoded words of it.
            return f"{self.name}: {self}{policy.linesep}"
        if self.isascii() or (isinstance(policy, EmailPolicy) and policy.utf8):
            return super().fold(policy=policy)
        text, rest = str(self), ""
        for address in getattr(self, "addresses", ()):  # one at most: `email_message` sets them
            text, rest = address.display_name, f"{policy.linesep} <{address.addr_spec}>"
        words = Header(text, "utf-8", header_name=self.name).encode(linesep=policy.linesep)
        return f"{self.name}: {words}{rest}{policy.linesep}"


# Bodies are seven-bit: they pass every server, and a long link is never broken for good.
_SMTP = SMTP.clone(header_factory=HeaderRegistry(base_class=_Header), cte_type="7bit")


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
