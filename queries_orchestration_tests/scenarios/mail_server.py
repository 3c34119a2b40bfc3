"""A mail server as a process of its own: it writes down what it took, a line a message."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from pathlib import Path
from threading import Event
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope

from queries_orchestration_tests.end_with_us import end_with_us

USER, PASSWORD = "queries", "of-the-tests"


@dataclass(frozen=True, kw_only=True)
class MailServer:
    """Where it listens, and what it took."""

    port: int
    folder: Path

    @property
    def url(self) -> str:
        """The communications URL; the password is given beside it."""
        return f"smtp://{USER}@127.0.0.1:{self.port}"

    def taken(self) -> Counter[tuple[str, str]]:
        """How often it took each message for each recipient: message id, address."""
        lines = (self.folder / "taken").read_text().splitlines()
        return Counter((line.split("\t")[0], line.split("\t")[1]) for line in lines)

    def last_message(self) -> bytes:
        """A message that it took."""
        return (self.folder / "last.eml").read_bytes()


@contextmanager
def running_mail_server(folder: Path, port: int) -> Iterator[MailServer]:
    """Run it until the block ends."""
    folder.mkdir()
    (folder / "taken").touch()
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder), str(port)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=end_with_us(),
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"up\n"
            yield MailServer(port=port, folder=folder)
        finally:
            process.kill()


class _Taking:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        message = message_from_bytes(envelope.content, policy=policy.default)
        with (self._folder / "taken").open("a") as file:
            for address in envelope.rcpt_tos:
                file.write(f"{message['Message-ID']}\t{address}\t{message['Subject']}\n")
        (self._folder / "last.eml").write_bytes(envelope.content)
        return "250 taken"


def _authenticate(
    server: Any, session: Any, envelope: Any, mechanism: str, data: Any
) -> AuthResult:
    right = (data.login.decode(), data.password.decode()) == (USER, PASSWORD)
    return AuthResult(success=right, handled=right)


def main() -> None:
    """Serve until killed."""
    controller = Controller(
        _Taking(Path(sys.argv[1])),
        hostname="127.0.0.1",
        port=int(sys.argv[2]),
        enable_SMTPUTF8=True,
        auth_required=True,
        auth_require_tls=False,
        authenticator=_authenticate,
    )
    controller.start()
    sys.stdout.write("up\n")
    sys.stdout.flush()
    ended = Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    ended.wait()
    controller.stop()


if __name__ == "__main__":
    main()
