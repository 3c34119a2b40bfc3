"""A mail server that does what a test says at any step, as servers and networks do."""

from __future__ import annotations

import base64
import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Final, Literal

Stage = Literal["connect", "EHLO", "STARTTLS", "TLS", "AUTH", "MAIL", "RCPT", "DATA", "END", "RSET"]


SLOWNESS: Final = 0.3


class Fault(Enum):
    DROP = auto()
    """The connection ends instead of the answer; at END the server keeps the message."""
    SILENCE = auto()
    """No answer comes; at END the server keeps the message."""
    DRIP = auto()
    """The answer comes byte by byte and never ends; at END the server keeps the message."""
    SLOW = auto()
    """The usual answer comes after twice ``SLOWNESS``, which a test may make its time-out."""
    DROP_AFTER = auto()
    """The connection ends right after the usual answer."""
    DROP_INSIDE = auto()
    """At DATA: the connection ends in the middle of the message, which the server forgets."""
    GARBAGE = auto()
    """What comes is no SMTP."""
    INJECT = auto()
    """At STARTTLS: another answer comes with the usual one, in the clear."""


@dataclass(slots=True, kw_only=True)
class Plan:
    """What happens at a step instead of the usual, so many times, perhaps for one recipient."""

    at: Stage
    does: Fault | str
    times: int = 1
    recipient: str | None = None


@dataclass(frozen=True, slots=True)
class Taken:
    """A message that the server keeps."""

    sender: str
    recipient: str
    options: str
    data: bytes


@dataclass(slots=True)
class SmtpServer:
    """The server as a test sees it; ``plans`` may grow while it runs."""

    port: int
    tls: ssl.SSLContext | None = None
    tls_from_start: bool = False
    login: tuple[str, str] | None = None
    mechanisms: str = "PLAIN LOGIN"
    utf8: bool = True
    plans: list[Plan] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    connections: int = 0

    def plan(
        self, at: Stage, does: Fault | str, *, times: int = 1, recipient: str | None = None
    ) -> None:
        self.plans.append(Plan(at=at, does=does, times=times, recipient=recipient))

    def next_fault(self, at: Stage, recipient: str | None) -> Fault | str | None:
        for plan in self.plans:
            if plan.at == at and plan.times > 0 and plan.recipient in (None, recipient):
                plan.times -= 1
                return plan.does
        return None

    def recipients(self) -> list[str]:
        return sorted(one.recipient for one in self.taken)

    def url(self, credentials: str = "", options: str = "") -> str:
        return f"smtp://{credentials}127.0.0.1:{self.port}{options}"


class _Over(Exception):
    """The conversation ends here."""


_USUAL: Final[dict[str, str]] = {
    "connect": "220 mail.test ready",
    "STARTTLS": "220 go on",
    "MAIL": "250 2.1.0 ok",
    "RCPT": "250 2.1.5 ok",
    "DATA": "354 go on",
    "END": "250 2.0.0 taken",
    "RSET": "250 2.0.0 ok",
    "AUTH": "235 2.7.0 welcome",
}


class _Conversation:
    def __init__(self, server: SmtpServer, connected: socket.socket) -> None:
        self.server = server
        self.socket = connected
        self.unread = b""
        self.sender = self.options = self.recipient = ""
        self.is_secure = False

    def hold(self) -> None:
        self.server.connections += 1
        if self.server.tls_from_start:
            self._start_tls()
        self._answer("connect")
        while True:
            line = self._line().decode()
            self.server.commands.append(line)
            self._obey(line)

    def _obey(self, line: str) -> None:
        verb, _, rest = line.partition(" ")
        match verb.upper():
            case "EHLO":
                self._answer("EHLO", self._features())
            case "STARTTLS":
                self._answer("STARTTLS")
                self._start_tls()
            case "AUTH":
                self._log_in(rest)
            case "MAIL":
                self.sender, _, self.options = rest.removeprefix("FROM:<").partition(">")
                self._answer("MAIL")
            case "RCPT":
                self.recipient = rest.removeprefix("TO:<").partition(">")[0]
                self._answer("RCPT")
            case "DATA":
                self._take()
            case "RSET":
                self._answer("RSET")
            case "QUIT":
                self._write(b"221 bye\r\n")
                raise _Over
            case _:
                self._write(b"502 what?\r\n")

    def _features(self) -> str:
        features = ["mail.test", "8BITMIME"]
        if self.server.utf8:
            features.append("SMTPUTF8")
        if self.server.tls is not None and not self.is_secure:
            features.append("STARTTLS")
        if self.server.login is not None:
            features.append(f"AUTH {self.server.mechanisms}")
        last = features.pop()
        return "".join(f"250-{one}\r\n" for one in features) + f"250 {last}"

    def _log_in(self, rest: str) -> None:
        def decoded(text: str) -> str:
            return base64.b64decode(text).decode()

        mechanism, _, initial = rest.partition(" ")
        if mechanism == "PLAIN":
            _, user, password = decoded(initial).split("\0")
        else:
            self._write(b"334 VXNlcm5hbWU6\r\n")
            user = decoded(self._line().decode())
            self._write(b"334 UGFzc3dvcmQ6\r\n")
            password = decoded(self._line().decode())
        right = (user, password) == self.server.login
        self._answer("AUTH", None if right else "535 5.7.8 wrong user or password")

    def _take(self) -> None:
        fault = self.server.next_fault("DATA", self.recipient)
        if isinstance(fault, Fault) and fault is not Fault.DROP_INSIDE:
            self._do(fault, _USUAL["DATA"])
        self._write(f"{fault if isinstance(fault, str) else _USUAL['DATA']}\r\n".encode())
        if isinstance(fault, str):
            return
        if fault is Fault.DROP_INSIDE:
            self._line()
            raise _Over
        lines = []
        while (line := self._line()) != b".":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        data = b"".join(line + b"\r\n" for line in lines)
        fault = self.server.next_fault("END", self.recipient)
        if not isinstance(fault, str):
            self.server.taken.append(Taken(self.sender, self.recipient, self.options.strip(), data))
        self._respond(fault, _USUAL["END"])

    def _answer(self, at: Stage, usual: str | None = None) -> None:
        recipient = self.recipient if at == "RCPT" else None
        self._respond(self.server.next_fault(at, recipient), usual or _USUAL[at])

    def _respond(self, fault: Fault | str | None, usual: str) -> None:
        if isinstance(fault, Fault):
            self._do(fault, usual)
            return
        answer = fault or usual
        self._write(f"{answer}\r\n".encode())
        if answer.startswith("421"):
            raise _Over

    def _do(self, fault: Fault, usual: str) -> None:
        match fault:
            case Fault.DROP:
                raise _Over
            case Fault.SILENCE:
                self.socket.recv(65536)  # until the client gives up
                raise _Over
            case Fault.DRIP:
                ended = threading.Event()
                self._write(b"250-")
                while not ended.wait(0.02):
                    self._write(b"x")
            case Fault.SLOW:
                threading.Event().wait(2 * SLOWNESS)
                self._write(f"{usual}\r\n".encode())
            case Fault.DROP_AFTER:
                self._write(f"{usual}\r\n".encode())
                raise _Over
            case Fault.GARBAGE:
                self._write(b"HTTP/1.1 400 Bad Request\r\n")
            case Fault.INJECT:
                self._write(f"{usual}\r\n250 injected\r\n".encode())
            case Fault.DROP_INSIDE:
                raise AssertionError("only while the message comes")

    def _start_tls(self) -> None:
        fault = self.server.next_fault("TLS", None)
        if fault is not None:
            if fault is Fault.GARBAGE:
                self.socket.recv(65536)
                self._write(b"this is no TLS at all\r\n")
            raise _Over
        assert self.server.tls is not None
        try:
            self.socket = self.server.tls.wrap_socket(self.socket, server_side=True)
        except OSError:
            raise _Over from None
        self.is_secure = True

    def _line(self) -> bytes:
        while b"\r\n" not in self.unread:
            received = self.socket.recv(65536)
            if not received:
                raise _Over
            self.unread += received
        line, _, self.unread = self.unread.partition(b"\r\n")
        return line

    def _write(self, data: bytes) -> None:
        self.socket.sendall(data)


class _Listener(ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
    seen: SmtpServer


class _Handler(BaseRequestHandler):
    server: _Listener

    def handle(self) -> None:
        conversation = _Conversation(self.server.seen, self.request)
        with contextlib.suppress(_Over, OSError):
            conversation.hold()
        with contextlib.suppress(OSError):
            conversation.socket.close()


@contextmanager
def running_smtp(
    *,
    tls: ssl.SSLContext | None = None,
    tls_from_start: bool = False,
    login: tuple[str, str] | None = None,
    utf8: bool = True,
) -> Iterator[SmtpServer]:
    """Run a server on this machine until the block ends."""
    with _Listener(("127.0.0.1", 0), _Handler) as listener:
        port = int(listener.server_address[1])
        listener.seen = SmtpServer(port, tls, tls_from_start, login, utf8=utf8)
        thread = threading.Thread(
            target=listener.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        thread.start()
        try:
            yield listener.seen
        finally:
            listener.shutdown()
            thread.join()
