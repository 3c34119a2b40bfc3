"""A conversation with a mail server: opened and logged in, then one message after another."""

from __future__ import annotations

import base64
import contextlib
import ssl
from typing import Final

from queries_orchestration.communications.smtp_url import SmtpPlace
from queries_orchestration.communications.smtp_wire import SERVER, Answer, Wire
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    RecipientRefused,
    SubmissionUncertain,
)

END: Final = "the end of the message"
FINAL_PATIENCE: Final = 5
"""A server may look into a message before it takes it (RFC 5321 4.5.3.2.6), and a lost answer
costs a second copy."""

_PATIENCE_AT_THE_END: Final = 0.1  # nothing hangs on this answer

_LATER: Final = "it may take messages later"
_OF_OUR_LOGIN: Final = frozenset({530, 534, 535, 538})
"""Codes that ask for a login or for encryption (RFC 4954), wherever they come."""


class SmtpSession:
    """An open conversation; ``features`` are the server's extensions in upper case."""

    def __init__(self, wire: Wire, features: dict[str, str]) -> None:
        self._wire = wire
        self._features = features

    @classmethod
    def open(
        cls, place: SmtpPlace, *, own_name: str, answer_seconds: float, ends: float
    ) -> SmtpSession:
        """Connect, make it secure and log in.

        Args:
            own_name: the domain that we greet with.
            answer_seconds: how long an answer may take.
            ends: the monotonic moment by which it must be done.

        Raises:
            CommunicationsUnavailable: the server cannot be used. No recipient is to blame for that.
        """
        wire = Wire.connect(place.host, place.port, answer_seconds=answer_seconds, ends=ends)
        try:
            if place.security == "tls":
                wire.start_tls(place.host, ssl.create_default_context())
            _expect(wire.answer(at="connect"), 2, at="connect")
            features = _greet(wire, own_name)
            if place.security == "starttls":
                _start_tls(wire, place, features)
                features = _greet(wire, own_name)  # what was said before TLS counts for nothing
            if place.user:
                _log_in(wire, place, features.get("AUTH", ""))
        except BaseException:
            wire.close()
            raise
        return cls(wire, features)

    @property
    def takes_utf8(self) -> bool:
        """Whether the server takes addresses beyond ASCII (RFC 6531)."""
        return "SMTPUTF8" in self._features

    def is_alive(self, *, ends: float) -> bool:
        """Whether the next message can go this way; forgets what is left of the one before."""
        self._wire.ends = ends
        try:
            return self._wire.command("RSET", at="RSET").kind == 2
        except CommunicationsUnavailable:
            return False

    def hand_over(self, sender: str, recipient: str, data: bytes, *, utf8: bool) -> None:
        """Hand one message over: ``data`` is as it goes over the wire, its final dot included.

        Raises:
            CommunicationsUnavailable: it was not taken; it may be later.
            RecipientRefused: it never will be.
            SubmissionUncertain: it was written whole, and no answer came.
        """
        options = " BODY=8BITMIME SMTPUTF8" if utf8 else ""
        commands = (
            ("MAIL", f"MAIL FROM:<{sender}>{options}", 2),
            ("RCPT", f"RCPT TO:<{recipient}>", 2),
            ("DATA", "DATA", 3),
        )
        for at, command, wanted in commands:
            _check(self._wire.command(command, at=at), wanted, at=at)
        self._wire.write_message(data, at="DATA")
        try:
            answer = self._wire.answer(at=END, patience=FINAL_PATIENCE)
        except CommunicationsUnavailable as error:
            raise SubmissionUncertain(f"{error.message}; it may have taken the message") from None
        _check(answer, 2, at=END)

    def drop(self) -> None:
        """End the connection without a word, for who may not answer any more."""
        self._wire.close()

    def close(self) -> None:
        """Take leave and end the connection."""
        with contextlib.suppress(CommunicationsUnavailable):  # it may be gone already
            self._wire.write(b"QUIT\r\n", at="QUIT")
            self._wire.answer(at="QUIT", patience=_PATIENCE_AT_THE_END)
        self._wire.close()


def _greet(wire: Wire, own_name: str) -> dict[str, str]:
    answer = wire.command(f"EHLO {own_name}", at="EHLO")
    _expect(answer, 2, at="EHLO")
    features = (line.upper().partition(" ") for line in answer.lines[1:])
    return {name: values for name, _, values in features}


def _start_tls(wire: Wire, place: SmtpPlace, features: dict[str, str]) -> None:
    if "STARTTLS" not in features:
        raise CommunicationsUnavailable(
            f"{SERVER} offers no STARTTLS: use smtps://, or ?tls=none where nobody can listen"
        )
    _expect(wire.command("STARTTLS", at="STARTTLS"), 2, at="STARTTLS")
    wire.start_tls(place.host, ssl.create_default_context())


def _log_in(wire: Wire, place: SmtpPlace, offered: str) -> None:
    def encoded(text: str) -> str:
        return base64.b64encode(text.encode()).decode()

    if "PLAIN" in offered.split():
        login = encoded(f"\0{place.user}\0{place.password}")
        answer = wire.command(f"AUTH PLAIN {login}", at="AUTH")
    elif "LOGIN" in offered.split():
        _expect(wire.command("AUTH LOGIN", at="AUTH"), 3, at="AUTH")
        _expect(wire.command(encoded(place.user), at="AUTH"), 3, at="AUTH")
        answer = wire.command(encoded(place.password), at="AUTH")
    else:
        raise CommunicationsUnavailable(
            f"{SERVER} offers no AUTH by PLAIN or LOGIN: leave user and password out, or let it"
        )
    _expect(answer, 2, at="AUTH")


def _expect(answer: Answer, wanted: int, *, at: str) -> None:
    """Refuse an answer to what concerns no recipient."""
    if answer.kind == wanted:
        return
    # Servers repeat a command that they do not take, and this one holds the password.
    said = str(answer.code) if at == "AUTH" else repr(answer.words)
    if answer.kind == 4:
        raise CommunicationsUnavailable(f"{SERVER} said {said} at {at}: {_LATER}")
    what_to_do = "check user and password" if at == "AUTH" else "see that it may take our messages"
    raise CommunicationsUnavailable(f"{SERVER} said {said} at {at}: {what_to_do}")


def _check(answer: Answer, wanted: int, *, at: str) -> None:
    """Refuse an answer to what concerns one recipient."""
    if answer.kind == wanted:
        return
    if answer.code in _OF_OUR_LOGIN:
        raise CommunicationsUnavailable(
            f"{SERVER} said {answer.words!r} at {at}: give the URL a user and password, and TLS"
        )
    if answer.kind == 5:
        raise RecipientRefused(answer.words)
    if answer.kind == 4:
        raise CommunicationsUnavailable(f"{SERVER} said {answer.words!r} at {at}: {_LATER}")
    if at == END:
        raise SubmissionUncertain(f"{SERVER} said {answer.words!r} at {at}, which tells nothing")
    raise CommunicationsUnavailable(f"{SERVER} said {answer.words!r} at {at}: is it a mail server?")
