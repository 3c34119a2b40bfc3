"""Who works what ``queries export`` asked for: the command itself, or Dagster."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.house import House

ASKED = ("export", "all-orders", "--as", "ada", "--format", "csv")


def test_it_can_be_worked_here_without_dagster_running(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    other = call(small_house.environment, *ASKED, "--no-wait").out.strip()
    out = tmp_path / "orders.csv"

    told = call(small_house.environment, *ASKED, "--out", out, "--work", "--json").json()

    assert (told["state"], told["rows"]) == ("ready", 2_500)
    assert len(out.read_bytes().splitlines()) == 2_501
    assert small_house.claim(told["export"]).receive_number == 1
    assert small_house.claim(other).state == "waiting"  # one's own only, out of turn


def test_dagsters_web_server_is_asked_for_the_run_at_once(
    house: House, call: Call, tmp_path: Path
) -> None:
    with _dagster({"data": {"launchRun": {"__typename": "LaunchRunSuccess"}}}) as (url, asked):
        told = call(
            {**house.environment, "QUERIES_DAGSTER_URL": url}, *ASKED, "--no-wait", "--json"
        ).json()

    (launch,) = asked
    run = launch["variables"]["run"]
    assert run["selector"]["jobName"] == "export_query"
    assert run["runConfigData"] == {
        "ops": {"start_export": {"config": {"export": told["export"], "offer": 1}}}
    }
    claim = house.claim(told["export"])
    assert (claim.offer_number, claim.lease_until is not None) == (1, True)


def test_a_launch_that_is_refused_leaves_the_export_to_the_sensor(
    small_house: House, call: Call
) -> None:
    environment = {**small_house.environment, "QUERIES_DAGSTER_URL": "http://127.0.0.1:1"}

    told = call(environment, *ASKED, "--no-wait", "--json").json()

    claim = small_house.claim(told["export"])
    assert (claim.state, claim.offer_number, claim.lease_until) == ("waiting", 1, None)


@contextmanager
def _dagster(answer: dict[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A web server that answers every question so, and what it was asked."""
    asked: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()
        serving.join()
