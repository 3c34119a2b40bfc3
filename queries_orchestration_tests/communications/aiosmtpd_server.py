"""A mail server of somebody else's, in this process."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope


@dataclass(slots=True)
class AioSmtp:
    """What it took, as raw messages."""

    url: str
    messages: list[bytes] = field(default_factory=list)

    async def handle_DATA(self, server: Any, session: Any, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        assert len(envelope.rcpt_tos) == 1
        self.messages.append(envelope.content)
        return "250 taken"


@contextmanager
def running_aiosmtpd(
    *, tls: ssl.SSLContext | None = None, login: tuple[str, str] | None = None
) -> Iterator[AioSmtp]:
    """Run it until the block ends; with ``tls`` it wants STARTTLS, with ``login`` AUTH."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def authenticate(
        server: Any, session: Any, envelope: Any, mechanism: str, data: Any
    ) -> AuthResult:
        right = (data.login.decode(), data.password.decode()) == login
        return AuthResult(success=right, handled=right)

    taken = AioSmtp(f"smtp://127.0.0.1:{port}")
    controller = Controller(
        taken,
        hostname="127.0.0.1",
        port=port,
        enable_SMTPUTF8=True,
        tls_context=tls,
        require_starttls=tls is not None,
        auth_required=login is not None,
        auth_require_tls=tls is not None,
        authenticator=authenticate,
    )
    controller.start()
    try:
        yield taken
    finally:
        controller.stop()
