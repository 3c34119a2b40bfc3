"""The log as JSON: one object a line, with what it is about, and no word more than the text has."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import dagster as dg
import pytest
import sqlalchemy as sa

from queries_orchestration.observing.about import about, learn, now_about
from queries_orchestration.observing.json_log import PACKAGE, set_up_log
from queries_orchestration.orchestration.run_requests import run_request_of
from queries_orchestration.settings import Settings
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.monitoring.scraped import TOKEN
from queries_orchestration_tests.orchestration.launches import execute
from queries_orchestration_tests.web.test_serve import serving

JSON = replace(Settings(), log_format="json")
EXPORT = "a" * 26
OCCURRENCE = f"{'b' * 26}@20270104T070000Z"


@pytest.fixture(params=["sqlite"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """One is enough: it is about what a process tells, not about what it keeps."""
    kind: str = request.param
    return kind


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    """The logger of the package as before, whoever has set it up."""
    logger = logging.getLogger(PACKAGE)
    before = (logger.handlers[:], logger.propagate, logger.level)
    yield
    logger.handlers[:], logger.propagate = before[0], before[1]
    logger.setLevel(before[2])


@pytest.fixture
def log() -> logging.Logger:
    return logging.getLogger(f"{PACKAGE}.deliveries.a_test")


@pytest.fixture
def stream() -> io.StringIO:
    written = io.StringIO()
    set_up_log(JSON, stream=written)
    return written


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_event_is_an_object_with_its_fields(log: logging.Logger, stream: io.StringIO) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    log.warning("worker_lost work=%s receive=%d", EXPORT, 2)
    log.warning("unexpected_error work=%s type=%s\n%s", OCCURRENCE, "KeyError", "one\ntwo")

    first, second = lines(stream.getvalue())
    told = datetime.fromisoformat(first.pop("time"))
    assert before <= told <= datetime.now(UTC)
    assert told.utcoffset() == UTC.utcoffset(None)
    assert first == {
        "level": "warning",
        "logger": log.name,
        "message": f"worker_lost work={EXPORT} receive=2",
        "event": "worker_lost",
        "export": EXPORT,
        "receive": 2,
    }
    assert (second["event"], second["type"]) == ("unexpected_error", "KeyError")
    assert (second["schedule"], second["occurrence"]) == (OCCURRENCE[:26], OCCURRENCE)
    assert second["more"] == ["one", "two"]


def test_what_it_is_about_goes_with_each_line(log: logging.Logger, stream: io.StringIO) -> None:
    with about(workspace="w", run="r", lane=None):
        log.info("file_not_removed export=%s", EXPORT)
        with about():
            learn(workspace="v")
            log.info("file_not_removed export=%s", EXPORT)
        log.info("file_not_removed export=%s", EXPORT)
    learn(workspace="nobody's")
    log.info("file_not_removed export=%s", EXPORT)

    told = [{one.get("workspace"), one.get("run")} for one in lines(stream.getvalue())]
    assert told == [{"w", "r"}, {"v", "r"}, {"w", "r"}, {None}]
    assert now_about() == {}


def test_the_words_of_an_error_are_not_told(log: logging.Logger, stream: io.StringIO) -> None:
    try:
        int("ada@example.org")
    except ValueError:
        log.exception("something failed")

    (line,) = lines(stream.getvalue())
    assert line["error"] == "ValueError"
    assert "test_json_log.py" in line["at"][0]
    assert "invalid literal" not in stream.getvalue()


def test_as_text_nothing_changes() -> None:
    logger = logging.getLogger(PACKAGE)
    before = (logger.handlers[:], logger.propagate, logger.level)
    set_up_log(Settings())
    assert (logger.handlers[:], logger.propagate, logger.level) == before


def test_a_failed_run_is_logged_with_all_that_it_is_about(
    house: House, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name, value in house.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("QUERIES_LOG_FORMAT", "json")
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME TO elsewhere"))
    engine.dispose()
    (offer,) = house.dispatch(MONDAY).offers
    with dg.instance_for_test() as instance:
        execute(instance, run_request_of(offer, house.backends.settings))
        (run,) = instance.get_runs()

    ours = [line for line in capfd.readouterr().err.splitlines() if line.startswith("{")]
    (line,) = [one for one in lines("\n".join(ours)) if one.get("event") == "schedule_run_failed"]
    assert {
        "workspace": house.workspace_id,
        "schedule": house.schedule().id,
        "occurrence": offer.key,
        "run": run.run_id,
        "receive": "1",
        "lane": "delivery",
        "code": "source_broken",
    }.items() <= line.items()
    assert now_about() == {}


def test_every_line_of_a_server_is_an_object_without_its_secrets(house: House) -> None:
    house.deliver(MONDAY)
    with serving(house, QUERIES_LOG_FORMAT="json", QUERIES_METRICS_TOKEN=TOKEN) as served:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert served.ask("/metrics", headers=headers)[0] == 200
        assert served.ask("/d/no-such-token")[0] == 410
    printed = served.output.read_text()
    told = lines(printed)
    assert any("Uvicorn running" in one["message"] for one in told)
    assert all({"time", "level", "logger", "message"} <= one.keys() for one in told)
    assert TOKEN not in printed
    assert "no-such-token" not in printed
