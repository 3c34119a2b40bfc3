"""Messages by Amazon SES, API version 2, each as a raw e-mail."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from datetime import datetime
from email.headerregistry import Address
from typing import Any, Final

from queries_orchestration.communications.email_message import email_message, needs_utf8
from queries_orchestration.communications.interface import SUBMIT_SECONDS, Message, Submission
from queries_orchestration.communications.ses_client import (
    SERVER,
    Connect,
    SesClient,
    as_ours,
    ask,
    connect as connect_by_boto3,
    unreadable,
)
from queries_orchestration.communications.ses_url import SesPlace
from queries_orchestration.model.errors import CommunicationsUnavailable, RecipientRefused

MESSAGE_TAG: Final = "queries-message"
"""The tag that holds our Message-ID, for SES gives the message another one and tells of that."""

_FINAL_PATIENCE: Final = 5


class Ses:
    """Hands each message to SES, which does not know one that it has already.

    SES writes a Message-ID of its own over ours: of two copies nothing but the link is the same.
    """

    idempotent_by_key = False

    def __init__(
        self,
        place: SesPlace,
        *,
        sender: Address,
        clock: Callable[[], datetime],
        answer_seconds: float,
        connect: Connect = connect_by_boto3,
    ) -> None:
        """``clock`` gives aware moments; to connect may take ``answer_seconds``, an answer five
        times as long.
        """
        self._place = place
        self._sender = sender
        self._clock = clock
        self._answer_seconds = answer_seconds
        self._connect = connect
        self._client: SesClient | None = None

    def submit(self, message: Message, *, seconds: float = SUBMIT_SECONDS) -> Submission:
        """Hand one message over.

        Raises:
            CommunicationsUnavailable: it was not taken; it may be later.
            RecipientRefused: SES refuses this recipient, or this message, for good.
            SubmissionUncertain: it was sent, and the answer was lost.
        """
        mail = email_message(message, sender=self._sender, date=self._clock())
        if needs_utf8(mail):
            raise self._no_utf8()
        options: dict[str, Any] = {}
        if self._place.configuration_set is not None:
            options["ConfigurationSetName"] = self._place.configuration_set
        with as_ours():
            answer = ask(
                self._client_for(seconds).send_email,
                seconds=seconds,
                FromEmailAddress=self._sender.addr_spec,
                Destination={"ToAddresses": [message.recipient_address]},
                Content={"Raw": {"Data": mail.as_bytes()}},
                EmailTags=[{"Name": MESSAGE_TAG, "Value": tag_of(message.message_id)}],
                **options,
            )
        if not answer.get("MessageId"):
            # Whoever says yes in another way, a proxy perhaps, is not SES.
            raise unreadable()
        return Submission("accepted", message.message_id)

    def forget(self, communication_keys: Iterable[str]) -> None:
        """Do nothing: no message is kept here."""

    def close(self) -> None:
        """Do nothing: boto3 keeps its connections and mends them itself."""

    def check(self, *, seconds: float = SUBMIT_SECONDS) -> None:
        """Ask for the account, which shows credentials and region to be right.

        Raises:
            CommunicationsUnavailable: it cannot be asked, or it may not send.
        """
        with as_ours():
            account = ask(self._client_for(seconds).get_account, seconds=seconds)
        if not account.get("SendingEnabled", True):
            raise CommunicationsUnavailable(f"{SERVER} may not send for this account: see SES")

    def _client_for(self, seconds: float) -> SesClient:
        usual = _FINAL_PATIENCE * self._answer_seconds
        if seconds < usual:  # near the end of a receive
            return self._connect(self._place, min(seconds, self._answer_seconds), seconds)
        if self._client is None:
            self._client = self._connect(self._place, self._answer_seconds, usual)
        return self._client

    def _no_utf8(self) -> RecipientRefused | CommunicationsUnavailable:
        if self._sender.addr_spec.isascii():
            return RecipientRefused(
                "Amazon SES takes no address with characters beyond ASCII before the @"
            )
        return CommunicationsUnavailable(
            f"{SERVER} takes no address with characters beyond ASCII before the @, and that of"
            " QUERIES_FROM_ADDRESS is one"
        )


def tag_of(message_id: str) -> str:
    """Return a Message-ID as the value of a tag, which has letters, digits, ``_`` and ``-``."""
    return base64.urlsafe_b64encode(message_id.encode()).decode().rstrip("=")


def message_id_of(tag: str) -> str | None:
    """Return the Message-ID that a tag holds; None if it holds none."""
    try:
        return base64.urlsafe_b64decode(tag + "=" * (-len(tag) % 4)).decode("ascii")
    except ValueError:
        return None
