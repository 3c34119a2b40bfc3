"""What every backend of communications takes, gives back and raises."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, Protocol

HEADER_TEXT_LIMIT = 200
SUBMIT_SECONDS: Final = 900.0
"""What one submission may take where nobody says otherwise: a whole receive."""

_COMMUNICATION_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9@!._-]{0,199}")
_MESSAGE_ID_CHARACTERS = 200
_MESSAGE_ID = re.compile(r"<[A-Za-z0-9._-]+@[A-Za-z0-9.-]+>")
# These turn the reading direction of what follows; a name could show as another one.
_DIRECTION_MARKS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e")
_DIRECTION_ISOLATES = frozenset("\u2066\u2067\u2068\u2069")


def clean_header_text(text: str, *, limit: int = HEADER_TEXT_LIMIT) -> str:
    """``text`` as one line that is safe in a header: at most ``limit`` characters.

    Line breaks and control characters become spaces, runs of spaces one; direction marks go;
    what no encoding can write becomes U+FFFD. A text that is already clean stays as it is.
    """
    characters = (_clean_character(character) for character in text)
    line = " ".join("".join(characters).split())
    # `=?` opens an encoded word (RFC 2047), which would be decoded to something we never saw.
    line = line.replace("=?", "= ?")
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def _clean_character(character: str) -> str:
    if character in _DIRECTION_MARKS or character in _DIRECTION_ISOLATES:
        return ""
    category = unicodedata.category(character)
    if category in {"Cc", "Zl", "Zp"}:
        return " "
    return "\ufffd" if category == "Cs" else character


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message to one recipient. Its names and subject are cleaned here, for every backend.

    Args:
        communication_key: names this message of this occurrence to this recipient; letters,
            digits and ``@ ! . _ -``, at most 200, a letter or digit first.
        recipient_address: as `model.addresses.clean_address` gives it.
        message_id: as `message_id` gives it.
        sender_name: what the sender is called; "" for the name of the settings.
        headers: further header fields.

    Raises:
        ValueError: a key or Message-ID that is none; both are made by us.
    """

    communication_key: str
    recipient_name: str = field(repr=False)
    recipient_address: str = field(repr=False)
    subject: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)
    message_id: str
    sender_name: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if not is_communication_key(self.communication_key):
            raise ValueError("a communication key has letters, digits and @ ! . _ - only")
        if not is_message_id(self.message_id):
            raise ValueError("a Message-ID is <left@domain>")
        object.__setattr__(self, "recipient_name", clean_header_text(self.recipient_name))
        object.__setattr__(self, "subject", clean_header_text(self.subject))
        object.__setattr__(self, "sender_name", clean_header_text(self.sender_name))


@dataclass(frozen=True, slots=True)
class Submission:
    """The backend has the message: taken now, or already there from an earlier submission."""

    state: Literal["accepted", "already_accepted"]
    message_id: str


class Communications(Protocol):
    """A way to get messages to recipients, one message and one recipient at a time."""

    @property
    def idempotent_by_key(self) -> bool:
        """Whether a second submission under the same communication key sends nothing."""
        ...

    def submit(self, message: Message, *, seconds: float = SUBMIT_SECONDS) -> Submission:
        """Hand one message over; when this returns, the backend keeps it.

        Args:
            seconds: how long it may take at most.

        Raises:
            CommunicationsUnavailable: it was not taken; it may be later.
            RecipientRefused: this recipient can never get it.
            SubmissionUncertain: it was handed over whole, and no answer came back.
        """
        ...

    def forget(self, communication_keys: Iterable[str]) -> None:
        """Remove what the backend itself keeps of messages; those that are not there are no error.

        What a mail server has taken is out of our hands.

        Raises:
            CommunicationsUnavailable: it cannot be removed now.
        """
        ...

    def close(self) -> None:
        """End the connection that is kept for the next message, if there is one."""
        ...

    def check(self, *, seconds: float = SUBMIT_SECONDS) -> None:
        """Ask whether the backend would take messages, and send none.

        Raises:
            CommunicationsUnavailable: it would not; the message says what to do.
        """
        ...


def is_communication_key(text: str) -> bool:
    """Whether ``text``, which may be anything, has the form of a communication key."""
    return _COMMUNICATION_KEY.fullmatch(text) is not None


def message_id(communication_key: str, domain: str) -> str:
    """The Message-ID of a communication key: always the same one, so that copies are known.

    A digest, because a key may hold characters that a Message-ID may not.
    """
    return f"<{hashlib.sha256(communication_key.encode()).hexdigest()[:32]}@{domain}>"


def is_message_id(text: str) -> bool:
    """Whether ``text`` is written as a Message-ID of ours is."""
    return len(text) <= _MESSAGE_ID_CHARACTERS and _MESSAGE_ID.fullmatch(text) is not None


def unsubscribe_headers(url: str) -> dict[str, str]:
    """The header fields by which mail programs offer to unsubscribe.

    With one click (RFC 8058) if ``url`` is one of https, as that requires.
    """
    one_click = {"List-Unsubscribe-Post": "List-Unsubscribe=One-Click"}
    return {"List-Unsubscribe": f"<{url}>"} | (one_click if url.startswith("https://") else {})
