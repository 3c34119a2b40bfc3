"""An HTTP proxy between us and a store that does one thing wrong, as networks and stores do."""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Fault(Enum):
    CUT_REQUEST = auto()
    """The connection ends in the middle of the request; the store sees nothing of it."""
    LOSE_ANSWER = auto()
    """The store does the work, then the connection ends."""
    CUT_ANSWER = auto()
    """The connection ends in the middle of the answer."""
    ERROR_500 = auto()
    ERROR_503 = auto()
    ERROR_UNDER_200 = auto()
    """An error in the body under 200; the store sees nothing."""
    ERROR_UNDER_200_DONE = auto()
    """The same, after the store did the work."""
    NO_XML = auto()
    """Something else than a store answers under 200."""
    HALF_XML = auto()
    """An answer under 200 that ends too early for itself, though not for the connection."""
    REDIRECT = auto()
    SLOW = auto()
    """The answer comes after ``FaultProxy.slowness`` seconds."""


_ERROR = b"<?xml version='1.0'?><Error><Code>%s</Code><Message>secret driver text</Message></Error>"
_STATUS = {
    Fault.ERROR_500: (500, _ERROR % b"InternalError"),
    Fault.ERROR_503: (503, _ERROR % b"SlowDown"),
    Fault.ERROR_UNDER_200: (200, _ERROR % b"InternalError"),
    Fault.ERROR_UNDER_200_DONE: (200, _ERROR % b"InternalError"),
    Fault.NO_XML: (200, b"It works!"),
    Fault.HALF_XML: (200, b"<?xml version='1.0'?><ListMultipartUploadsResult><Up"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes = field(repr=False)

    @property
    def does(self) -> str:
        """What it asks for, in the words of our storage interface."""
        if self.method == "POST":
            return "begin" if "uploads" in self.path.partition("?")[2] else "complete"
        if self.method == "GET" and "uploads" in self.path.partition("?")[2]:
            return "list"
        return {"PUT": "part", "HEAD": "size", "GET": "open", "DELETE": "delete"}[self.method]


@dataclass(slots=True)
class FaultProxy:
    """Forwards everything but what a fault is planned for.

    ``requests`` are those that arrived whole, in their order.
    """

    port: int
    upstream_port: int
    slowness: float = 0.0
    requests: list[Request] = field(default_factory=list)
    _plan: list[tuple[str, Fault]] = field(default_factory=list)
    _refuse: Callable[[Request], bytes | None] = lambda request: None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Forward everything again, as at the beginning."""
        self.slowness, self.requests, self._plan = 0.0, [], []
        self._refuse = lambda request: None

    def plan(self, does: str, *faults: Fault) -> None:
        """Let the next requests that do this fail one after the other."""
        self._plan += [(does, fault) for fault in faults]

    def refuse(self, code: Callable[[Request], bytes | None]) -> None:
        """Refuse with 400 what ``code`` gives an error code for."""
        self._refuse = code

    def did(self, does: str) -> int:
        """Return how many requests asked for this."""
        return sum(request.does == does for request in self.requests)

    def next_fault(self, request: Request) -> Fault | None:
        for planned in self._plan:
            if planned[0] == request.does:
                self._plan.remove(planned)
                return planned[1]
        return None

    def refusal(self, request: Request) -> bytes | None:
        code = self._refuse(request)
        return None if code is None else _ERROR % code


@contextmanager
def fault_proxy(upstream_port: int) -> Iterator[FaultProxy]:
    """Run a proxy in front of a store."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    proxy = FaultProxy(server.server_address[1], upstream_port)
    server.proxy = proxy  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else head and body of an answer wait for each other

    def handle_any(self) -> None:
        proxy: FaultProxy = self.server.proxy  # type: ignore[attr-defined]
        length = int(self.headers.get("Content-Length", 0))
        request = Request(
            method=self.command, path=self.path, headers=dict(self.headers.items()), body=b""
        )
        fault = proxy.next_fault(request)
        if fault is Fault.CUT_REQUEST:
            self.rfile.read(length // 2)
            self._cut()
            return
        request = Request(
            method=self.command,
            path=self.path,
            headers=request.headers,
            body=self.rfile.read(length),
        )
        proxy.requests.append(request)
        refusal = proxy.refusal(request)
        if refusal is not None:
            self._answer(400, [], refusal)
            return
        if fault is Fault.REDIRECT:
            self._answer(302, [("Location", f"{proxy.endpoint}/elsewhere")], b"")
            return
        if fault in _STATUS and fault is not Fault.ERROR_UNDER_200_DONE:
            self._answer(_STATUS[fault][0], [], _STATUS[fault][1])
            return
        status, headers, body = self._forward(proxy, request)
        if fault is Fault.SLOW:
            time.sleep(proxy.slowness)
        if fault is Fault.LOSE_ANSWER:
            self._cut()
        elif fault is Fault.ERROR_UNDER_200_DONE:
            self._answer(*(_STATUS[fault][0], [], _STATUS[fault][1]))
        elif fault is Fault.CUT_ANSWER:
            self._answer(status, headers, body, cut=True)
        else:
            self._answer(status, headers, body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = handle_any

    def _forward(
        self, proxy: FaultProxy, request: Request
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.upstream_port, timeout=30)
        try:
            connection.putrequest(
                request.method, request.path, skip_host=True, skip_accept_encoding=True
            )
            for name, value in request.headers.items():
                if name.lower() not in ("connection", "expect"):
                    connection.putheader(name, value)
            connection.endheaders(request.body or None)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    def _answer(
        self, status: int, headers: list[tuple[str, str]], body: bytes, *, cut: bool = False
    ) -> None:
        self.send_response(status)
        own_length = None
        for name, value in headers:
            if name.lower() == "content-length":
                own_length = value
            elif name.lower() not in ("connection", "transfer-encoding", "date", "server"):
                self.send_header(name, value)
        length = own_length if self.command == "HEAD" and own_length else str(len(body))
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self._cut()

    def _cut(self) -> None:
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
