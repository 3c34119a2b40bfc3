"""Messages by SMTP: to a server of one's own, or the one of a provider."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from threading import Lock
from typing import Final

from queries_orchestration.communications.email_message import email_message, needs_utf8
from queries_orchestration.communications.interface import SUBMIT_SECONDS, Message, Submission
from queries_orchestration.communications.smtp_session import SmtpSession
from queries_orchestration.communications.smtp_url import SmtpPlace
from queries_orchestration.communications.smtp_wire import SERVER
from queries_orchestration.model.errors import CommunicationsUnavailable, RecipientRefused

SHUT_SECONDS: Final = 20.0
"""For how long a server that could not be opened is not tried again, for other recipients."""


class Smtp:
    """Hands each message to a mail server; one conversation serves the messages of a receive.

    Nothing tells a server that it has a message already, so a second submission is a second copy,
    with the same Message-ID.
    """

    idempotent_by_key = False

    def __init__(
        self,
        place: SmtpPlace,
        *,
        sender: Address,
        clock: Callable[[], datetime],
        answer_seconds: float,
    ) -> None:
        """``clock`` gives aware moments; an answer may take ``answer_seconds``."""
        self._place = place
        self._sender = sender
        self._clock = clock
        self._answer_seconds = answer_seconds
        self._turn = Lock()
        self._session: SmtpSession | None = None
        self._shut: tuple[float, str] | None = None

    def submit(self, message: Message, *, seconds: float = SUBMIT_SECONDS) -> Submission:
        """Hand one message over.

        Raises:
            CommunicationsUnavailable: it was not taken; it may be later.
            RecipientRefused: the server refuses this recipient, or this message, for good.
            SubmissionUncertain: it was written whole, and no answer came.
        """
        mail = email_message(message, sender=self._sender, date=self._clock())
        with self._turn:
            session = self._opened(time.monotonic() + seconds)
            self._session = None  # kept for the next message only if this one leaves it whole
            utf8 = needs_utf8(mail)
            try:
                self._check_utf8(session, utf8)
                session.hand_over(
                    self._sender.addr_spec, message.recipient_address, on_the_wire(mail), utf8=utf8
                )
            except RecipientRefused:
                self._session = session
                raise
            except BaseException:
                session.drop()
                raise
            self._session = session
        return Submission("accepted", message.message_id)

    def forget(self, communication_keys: Iterable[str]) -> None:
        """Do nothing: no message is kept here."""

    def close(self) -> None:
        """End the conversation, if there is one."""
        with self._turn:
            session, self._session, self._shut = self._session, None, None
            if session is not None:
                session.close()

    def check(self, *, seconds: float = SUBMIT_SECONDS) -> None:
        """Connect and log in, and send nothing.

        Raises:
            CommunicationsUnavailable: that fails.
        """
        self._open(time.monotonic() + seconds).close()

    def _opened(self, ends: float) -> SmtpSession:
        session = self._session
        if session is not None:
            if session.is_alive(ends=ends):
                return session
            session.drop()
        if self._shut is not None and time.monotonic() < self._shut[0]:
            raise CommunicationsUnavailable(self._shut[1])
        try:
            return self._open(ends)
        except CommunicationsUnavailable as error:
            # Else each of many recipients would wait for the same silence.
            self._shut = (time.monotonic() + SHUT_SECONDS, error.message)
            raise

    def _open(self, ends: float) -> SmtpSession:
        return SmtpSession.open(
            self._place,
            own_name=self._sender.domain,
            answer_seconds=self._answer_seconds,
            ends=ends,
        )

    def _check_utf8(self, session: SmtpSession, needed: bool) -> None:
        if not needed or session.takes_utf8:
            return
        if self._sender.addr_spec.isascii():
            raise RecipientRefused(
                "the mail server takes no address with characters beyond ASCII (no SMTPUTF8)"
            )
        raise CommunicationsUnavailable(
            f"{SERVER} takes no address with characters beyond ASCII (no SMTPUTF8), and that of"
            " QUERIES_FROM_ADDRESS is one"
        )


def on_the_wire(mail: EmailMessage) -> bytes:
    """Return a message as it is written after DATA: lines of CRLF, dots doubled, the final dot."""
    lines = re.sub(rb"\r\n|\r|\n", b"\r\n", mail.as_bytes())
    dotted = re.sub(rb"(?m)^\.", b"..", lines)
    return dotted + (b".\r\n" if dotted.endswith(b"\r\n") else b"\r\n.\r\n")
