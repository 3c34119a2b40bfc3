"""Something small is fetched by https from a host that proves itself, and from nowhere else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from queries_orchestration.communications.https_fetch import https_fetch
from queries_orchestration.model.errors import CommunicationsUnavailable
from queries_orchestration_tests.communications.certificates import Certificate, make_certificate


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        content = b"x" * 300_000 if self.path == "/large" else self.path.encode()
        self.send_response(302 if self.path == "/elsewhere" else 200)
        self.send_header("Location", "/there")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of who breaks off."""


@contextmanager
def serving(certificate: Certificate) -> Iterator[str]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.socket = certificate.server.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        thread.start()
        try:
            yield f"https://localhost:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


def test_what_is_there_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = make_certificate(tmp_path)
    with serving(certificate) as url:
        with pytest.raises(CommunicationsUnavailable, match="SSLCertVerificationError"):
            https_fetch(f"{url}/a")  # not trusted yet
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
        assert https_fetch(f"{url}/a?b=c") == b"/a?b=c"
        assert https_fetch(url) == b"/"


@pytest.mark.parametrize(("path", "said"), [("/elsewhere", "HTTP 302"), ("/large", "262145 bytes")])
def test_no_redirect_is_followed_and_nothing_large_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, said: str
) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with serving(certificate) as url, pytest.raises(CommunicationsUnavailable, match=said):
        https_fetch(url + path)


def test_where_nobody_listens_it_may_be_tried_again(tmp_path: Path) -> None:
    with serving(make_certificate(tmp_path)) as url:
        pass
    with pytest.raises(CommunicationsUnavailable, match="ConnectionRefusedError"):
        https_fetch(url)


@pytest.mark.parametrize("url", ["http://localhost/", "file:///etc/passwd", "https://", ""])
def test_nothing_but_https_is_fetched(url: str) -> None:
    with pytest.raises(ValueError, match="only https"):
        https_fetch(url)
