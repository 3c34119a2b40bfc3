"""One connection to a mail server: commands and answers, each within its time.

Not smtplib: there a time-out begins anew with every byte, and nobody learns whether the end of a
message was written before the connection broke, which decides between "not taken" and "unknown".
"""

from __future__ import annotations

import contextlib
import errno
import re
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Final

from queries_orchestration.communications.connected_socket import connected_socket
from queries_orchestration.model.errors import CommunicationsUnavailable
from queries_orchestration.model.server_words import clean_server_words

SERVER: Final = "the mail server of QUERIES_COMMUNICATIONS_URL"

_LINE: Final = re.compile(rb"([2-5][0-9]{2})([ -]?)(.*)")
_LINE_BYTES: Final = 8192
_LINES: Final = 200
_CHECK_ADDRESS: Final = "check its host and port and the network"


@dataclass(frozen=True, slots=True)
class Answer:
    """A code and the lines that came with it, as the server wrote them."""

    code: int
    lines: tuple[str, ...]

    @property
    def kind(self) -> int:
        """2 for yes, 3 for go on, 4 for not now, 5 for no."""
        return self.code // 100

    @property
    def words(self) -> str:
        """Code and words, fit to be kept and shown."""
        return clean_server_words(f"{self.code} {' '.join(self.lines)}")


class Wire:
    """A connection; ``ends`` is the monotonic moment by which all that is waited for must come."""

    def __init__(self, connected: socket.socket, *, answer_seconds: float, ends: float) -> None:
        self._socket = connected
        self._answer_seconds = answer_seconds
        self._unread = b""
        self.ends = ends

    @classmethod
    def connect(cls, host: str, port: int, *, answer_seconds: float, ends: float) -> Wire:
        """Connect to a server.

        Raises:
            CommunicationsUnavailable: nobody answers there in time.
        """
        try:
            connected = connected_socket(
                host, port, ends=min(ends, time.monotonic() + answer_seconds)
            )
        except OSError as error:
            raise _failed("cannot be connected to", error) from None
        return cls(connected, answer_seconds=answer_seconds, ends=ends)

    def start_tls(self, host: str, context: ssl.SSLContext) -> None:
        """Go on encrypted, with a server that proves to be ``host``.

        Raises:
            CommunicationsUnavailable: TLS failed, or something came before it that must not.
        """
        if self._unread:
            # Somebody between us and the server put answers in front of the encrypted ones.
            raise CommunicationsUnavailable(f"{SERVER} spoke before TLS began: do not trust it")
        try:
            self._socket.settimeout(_left(self._until(1)))
            self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except ssl.SSLCertVerificationError as error:
            raise CommunicationsUnavailable(
                f"{SERVER} cannot be trusted ({error.verify_message}): give it a certificate of"
                " its host, or name the authority that signed it in SSL_CERT_FILE"
            ) from None
        except (ssl.SSLError, OSError) as error:
            raise _failed("failed at TLS", error) from None

    def command(self, line: str, *, at: str) -> Answer:
        """Write a command and read its answer.

        Raises:
            CommunicationsUnavailable: it did not come, or is none.
        """
        if "\r" in line or "\n" in line:
            raise ValueError("a command is one line")
        self.write(f"{line}\r\n".encode(), at=at)
        return self.answer(at=at)

    def write_message(self, data: bytes, *, at: str) -> None:
        """Write a message, to which no answer has come yet.

        Raises:
            CommunicationsUnavailable: one has, which would be taken for the one to the message; or
                it could not be written in time.
        """
        if self._unread or self._has_more():
            raise CommunicationsUnavailable(f"{SERVER} answered at {at} before it was asked")
        self.write(data, at=at)

    def write(self, data: bytes, *, at: str) -> None:
        """Write all of ``data``: after an error its last byte has not left us.

        Raises:
            CommunicationsUnavailable: it could not be written in time.
        """
        try:
            self._socket.settimeout(_left(self._until(1)))
            self._socket.sendall(data)
        except OSError as error:
            raise _failed(f"broke off at {at}", error) from None

    def answer(self, *, at: str, patience: float = 1) -> Answer:
        """Read one answer, for ``patience`` times as long as usual at most.

        Raises:
            CommunicationsUnavailable: it did not come, or is none.
        """
        until = self._until(patience)
        lines: list[str] = []
        while len(lines) < _LINES:
            line = self._line(until, at=at)
            found = _LINE.fullmatch(line)
            if found is None or len(line) > _LINE_BYTES:
                break
            lines.append(found[3].decode(errors="replace"))
            if found[2] != b"-":
                return Answer(int(found[1]), tuple(lines))
        raise CommunicationsUnavailable(f"{SERVER} does not speak SMTP at {at}: {_CHECK_ADDRESS}")

    def close(self) -> None:
        """End the connection, whatever it is in the middle of."""
        with contextlib.suppress(OSError):
            self._socket.close()

    def _has_more(self) -> bool:
        """Whether something came that nobody has waited for."""
        try:
            self._socket.settimeout(0)
            self._unread += self._socket.recv(_LINE_BYTES)
        except (BlockingIOError, ssl.SSLWantReadError):
            return False
        except OSError:
            return False  # whatever it is, writing will tell
        return bool(self._unread)

    def _line(self, until: float, *, at: str) -> bytes:
        while b"\n" not in self._unread and len(self._unread) <= _LINE_BYTES:
            try:
                self._socket.settimeout(_left(until))
                received = self._socket.recv(_LINE_BYTES)
            except OSError as error:
                raise _failed(f"did not answer at {at}", error) from None
            if not received:
                raise CommunicationsUnavailable(f"{SERVER} ended the connection at {at}")
            self._unread += received
        line, _, self._unread = self._unread.partition(b"\n")
        return line.removesuffix(b"\r")

    def _until(self, patience: float) -> float:
        return min(self.ends, time.monotonic() + patience * self._answer_seconds)


def _left(until: float) -> float:
    left = until - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _failed(what: str, error: OSError) -> CommunicationsUnavailable:
    if isinstance(error, TimeoutError):
        why = "no answer in time"
    elif isinstance(error, ssl.SSLError):
        why = error.reason or "no TLS"
    elif isinstance(error, socket.gaierror):
        why = "its name is not known"
    else:
        why = errno.errorcode.get(error.errno or 0, type(error).__name__)
    return CommunicationsUnavailable(f"{SERVER} {what} ({why}): {_CHECK_ADDRESS}")
