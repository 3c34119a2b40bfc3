"""What of Amazon SES's API a submission meets: it checks requests and answers as told."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

SIGNED: Final = re.compile(
    r"AWS4-HMAC-SHA256 Credential=[A-Z0-9]+/[0-9]{8}/[a-z0-9-]+/ses/aws4_request,"
    r" SignedHeaders=[a-z0-9;-]+, Signature=[0-9a-f]{64}"
)


@dataclass(slots=True)
class SesStub:
    """The stub as a test sees it: ``answers`` come first, then what SES usually says."""

    url: str
    answers: list[tuple[int, str, str] | str] = field(default_factory=list)
    """Status, error's name and words; or ``drop``: SES takes the message and no answer comes."""
    account: dict[str, Any] = field(default_factory=lambda: {"SendingEnabled": True})
    bodies: list[dict[str, Any]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def messages(self) -> list[bytes]:
        return [base64.b64decode(body["Content"]["Raw"]["Data"]) for body in self.bodies]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    seen: SesStub


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._check("/v2/email/account")
        self._say(200, self.server.seen.account)

    def do_POST(self) -> None:
        seen = self.server.seen
        self._check("/v2/email/outbound-emails")
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        answer = seen.answers.pop(0) if seen.answers else None
        if isinstance(answer, tuple):
            status, name, words = answer
            self._say(status, {"message": words}, {"x-amzn-ErrorType": name})
            return
        seen.bodies.append(body)
        if answer == "drop":
            self.close_connection = True
            return
        self._say(200, {"MessageId": f"0100-{len(seen.bodies)}"})

    def _check(self, path: str) -> None:
        if self.path != path:
            self.server.seen.faults.append(f"{self.path} is not {path}")
        if not SIGNED.fullmatch(self.headers.get("Authorization", "")):
            self.server.seen.faults.append("it is not signed")
        if not re.fullmatch(r"[0-9]{8}T[0-9]{6}Z", self.headers.get("X-Amz-Date", "")):
            self.server.seen.faults.append("it has no date")

    def _say(
        self, status: int, body: dict[str, Any], headers: dict[str, str] | None = None
    ) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@contextmanager
def running_ses() -> Iterator[SesStub]:
    """Run the stub on this machine until the block ends; every request must have been right."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.seen = SesStub(f"http://127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        thread.start()
        try:
            yield server.seen
        finally:
            server.shutdown()
            thread.join()
    assert server.seen.faults == []
