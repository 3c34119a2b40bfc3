"""Messages to recipients: the interface, its backends, and what the messages say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from email.headerregistry import Address
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from queries_orchestration.communications.email_message import parse_sender
from queries_orchestration.communications.interface import Communications
from queries_orchestration.communications.mailbox import Mailbox
from queries_orchestration.model.errors import InvalidAddress, InvalidSettings

ANSWER_SECONDS: Final = 60.0
"""What one answer of a mail server may take where no setting says otherwise."""


def open_communications(
    url: str,
    *,
    from_address: str,
    clock: Callable[[], datetime],
    password: str = "",
    answer_seconds: float = ANSWER_SECONDS,
) -> Communications:
    """The backend that ``url`` names: ``mailbox:///folder``, ``smtp(s)://host`` or ``ses://region``.

    Nothing is reached before it is used.

    Args:
        url: the setting QUERIES_COMMUNICATIONS_URL.
        from_address: the setting QUERIES_FROM_ADDRESS, ``name@example.org`` or
            ``Name <name@example.org>``.
        clock: gives the aware moment that a message is dated with.
        password: of the user of a mail server, where the URL holds none.
        answer_seconds: how long a mail server or SES may take for an answer.

    Raises:
        InvalidSettings: one of the settings cannot be used.
    """
    try:
        sender = parse_sender(from_address)
    except InvalidAddress as error:
        raise InvalidSettings(f"QUERIES_FROM_ADDRESS: {error.message}") from None
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _invalid_url() from None
    match parts.scheme:
        case "mailbox":
            return _mailbox(parts, sender, clock)
        case "smtp" | "smtps":
            from queries_orchestration.communications.smtp import Smtp
            from queries_orchestration.communications.smtp_url import read_smtp_url

            place = read_smtp_url(parts, password=password)
            return Smtp(place, sender=sender, clock=clock, answer_seconds=answer_seconds)
        case "ses":
            from queries_orchestration.communications.ses import Ses
            from queries_orchestration.communications.ses_url import read_ses_url

            region = read_ses_url(parts)
            return Ses(region, sender=sender, clock=clock, answer_seconds=answer_seconds)
        case _:
            raise _invalid_url()


def _mailbox(parts: SplitResult, sender: Address, clock: Callable[[], datetime]) -> Mailbox:
    folder = unquote(parts.path)
    if (
        parts.netloc
        or parts.query
        or parts.fragment
        or not folder.strip("/")
        or not folder.startswith("/")
        or "\0" in folder
    ):
        raise _invalid_url()
    return Mailbox(Path(folder), sender=sender, clock=clock)


def _invalid_url() -> InvalidSettings:
    # The value is not shown: other schemes carry passwords.
    return InvalidSettings(
        "QUERIES_COMMUNICATIONS_URL is not the address of a known backend: "
        "use mailbox:///absolute/folder (in a folder's name write ? and # as %3F and %23), "
        "smtp://user:password@host:port, smtps://… or ses://region"
    )
