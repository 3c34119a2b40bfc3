"""The nudge: what each answer of Dagster's web server, or none, means for the offer."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from queries_orchestration.orchestration import nudge
from queries_orchestration.orchestration.nudge import launch_run


@pytest.mark.parametrize(
    ("status", "body", "answer"),
    [
        (200, {"data": {"launchRun": {"__typename": "LaunchRunSuccess"}}}, "accepted"),
        (200, {"data": {"launchRun": {"__typename": "PipelineNotFoundError"}}}, "refused"),
        (200, {"errors": [{"message": "no"}]}, "refused"),
        (500, {}, "refused"),
    ],
)
def test_an_answer_is_believed(status: int, body: dict[str, object], answer: str) -> None:
    with _server(status, json.dumps(body).encode()) as (url, asked):
        assert _launch(url) == answer
    (request,) = asked
    run = request["variables"]["run"]
    assert run["selector"]["jobName"] == "export_query"
    assert run["runConfigData"] == {"ops": {}}
    assert run["executionMetadata"]["tags"] == [{"key": "queries/export", "value": "e1"}]


def test_an_answer_that_cannot_be_read_leaves_the_offer_to_its_lease() -> None:
    with _server(200, b"<html>") as (url, _asked):
        assert _launch(url) == "unknown"


def test_nobody_there_is_a_refusal() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert _launch(f"http://127.0.0.1:{port}") == "refused"


def test_silence_leaves_the_offer_to_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nudge, "NUDGE_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert _launch(f"http://127.0.0.1:{silent.getsockname()[1]}") == "unknown"


def _launch(url: str) -> str:
    return launch_run(url, "export_query", config={"ops": {}}, tags={"queries/export": "e1"})


@contextmanager
def _server(status: int, body: bytes) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
