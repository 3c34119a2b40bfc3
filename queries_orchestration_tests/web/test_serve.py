"""`queries serve`, a real process: what it prints holds no token, whoever asks for what."""

from __future__ import annotations

import http.client
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from queries_orchestration_tests.deliveries.wider_house import token_to
from queries_orchestration_tests.house import House, build_house

BOB = "bob@example.org"
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}


@dataclass
class Served:
    """A running server and what it has printed so far."""

    port: int
    output: Path

    def ask(
        self, path: str, *, method: str = "GET", headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, headers=headers or {})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, told, answer.read()
        finally:
            connection.close()


@contextmanager
def serving(house: House, *options: str, **settings: str) -> Iterator[Served]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    output = house.folder / f"served-{port}"
    command = [sys.executable, "-m", "queries_orchestration", "serve", "--port", str(port)]
    with output.open("wb") as printed:
        process = subprocess.Popen(
            [*command, *options],
            env=dict(house.environment) | {"QUERIES_DEMO": "1"} | settings,
            stdout=printed,
            stderr=subprocess.STDOUT,
        )
    served = Served(port, output)
    try:
        for _ in range(600):
            try:
                served.ask("/healthz")
                break
            except OSError:
                assert process.poll() is None, output.read_text()
                time.sleep(0.1)
        yield served
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """One is enough: it is about what a process prints."""
    kind: str = request.param
    return kind


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str) -> House:
    """The house, delivered just now: the process has the real clock."""
    now = datetime.now(UTC).replace(microsecond=0)
    house = build_house(tmp_path, store_url, source_url, at=now - timedelta(days=8))
    assert house.deliver(now) == ["delivered"]
    return house


def test_no_token_reaches_the_output_of_a_server_whatever_happens(house: House) -> None:
    token, unsubscribing = token_to(house, BOB), token_to(house, BOB, "u")
    with serving(house) as served:
        status, told, _ = served.ask(f"/d/{token}")
        assert status == 302
        assert "server" not in told
        stored = told["location"].rpartition("/")[2]
        status, told, content = served.ask(f"/files/{stored}")
        assert (status, content) == (200, house.file(house.history()[-1].key))
        assert told["content-length"] == str(len(content))
        assert served.ask(f"/files/{stored}", headers={"Range": "bytes=0-4"})[2] == content[:5]
        for path in (f"/d/{token}", f"/u/{unsubscribing}", f"/files/{stored}", "/d/made-up"):
            assert served.ask(path, method="HEAD")[2] == b""
        assert served.ask(f"/u/{unsubscribing}", method="POST")[0] == 200
        for path in (f"/d/{token[:-3]}", f"/x/{token}", f"/d/{token}?x={token}"):
            served.ask(path)
        assert served.ask(f"/d/{token}", method="BREW")[0] in (400, 405)
        for path in (f"/d/{token}", f"/u/{unsubscribing}", f"/files/{stored}"):
            served.ask(path, headers=UPGRADE)
        assert served.ask("/api/v1/exports", headers={"Authorization": f"Bearer {token}"})[0] == 401
        # What fails here is told in the log, and by its code alone.
        files = house.folder / "home" / "files"
        files.rename(house.folder / "moved")
        files.write_bytes(b"no folder")
        assert served.ask(f"/d/{token}")[0] == 503
        assert served.ask(f"/files/{stored}")[0] == 503
    printed = served.output.read_text()
    assert "link_failed method=GET code=storage_unavailable" in printed
    for secret in (token, unsubscribing, stored):
        for part in secret.split(".")[1:]:  # the first says the kind alone
            assert part not in printed
    assert BOB not in printed


def test_an_address_is_believed_of_a_named_proxy_alone(house: House) -> None:
    limits = {"QUERIES_LINK_REQUESTS_PER_ADDRESS": "2"}

    def asked(served: Served) -> list[int]:
        return [
            served.ask(f"/d/{number}", headers={"X-Forwarded-For": f"192.0.2.{number}"})[0]
            for number in range(4)
        ]

    with serving(house, **limits) as served:
        assert asked(served) == [410, 410, 429, 429]
    with serving(house, "--proxies", "127.0.0.1", **limits) as served:
        assert asked(served) == [410] * 4
