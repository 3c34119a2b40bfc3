"""Messages to recipients: the interface, its backends, and what the messages say."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

from queries_orchestration.communications.email_message import parse_sender
from queries_orchestration.communications.interface import Communications
from queries_orchestration.communications.mailbox import Mailbox
from queries_orchestration.model.errors import InvalidAddress, InvalidSettings


def open_communications(
    url: str, *, from_address: str, clock: Callable[[], datetime]
) -> Communications:
    """The backend that ``url`` names: ``mailbox:///absolute/folder``.

    Args:
        url: the setting QUERIES_COMMUNICATIONS_URL.
        from_address: the setting QUERIES_FROM_ADDRESS, ``name@example.org`` or
            ``Name <name@example.org>``.
        clock: gives the aware moment that a message is dated with.

    Raises:
        InvalidSettings: one of the two settings cannot be used.
    """
    try:
        sender = parse_sender(from_address)
    except InvalidAddress as error:
        raise InvalidSettings(f"QUERIES_FROM_ADDRESS: {error.message}") from None
    try:
        parts = urlsplit(url)
    except ValueError:
        raise _invalid_url() from None
    folder = unquote(parts.path)
    if (
        parts.scheme != "mailbox"
        or parts.netloc
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
        "use mailbox:///absolute/folder (in a folder's name write ? and # as %3F and %23)"
    )
