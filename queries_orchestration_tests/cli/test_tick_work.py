"""``queries tick --work`` through the real Dagster jobs, and what is left when it is killed."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from queries_orchestration.model.clock import system_clock
from queries_orchestration.store import dispatchers
from queries_orchestration.store.database import Database
from queries_orchestration_tests.cli.conftest import Call, Place, answer_of
from queries_orchestration_tests.cli.watched import PATIENCE, children, wait_for_upload
from queries_orchestration_tests.house import CATALOG

PASSWORD = "tr0ub4dor"
ADDRESSES = ("bob@example.org", "cyd@example.org", "ada@example.org")

AWAY = """\
  away:
    title: Orders from a shop that cannot be reached
    query: away-orders
    owner: ada
    cron: 0 8 * * 1
    time_zone: Europe/Berlin
    format: xlsx
    recipients: [bob]
"""
AWAY_SOURCE = """\
datasets:
  away-orders:
    title: Orders elsewhere
    connection: away
    relation: orders
    fields:
      id: {type: integer, nullable: false}
    key: [id]
    access:
      - {who: {roles: [author]}, fields: all, rows: all}
"""
AWAY_QUERY = """\
queries:
  away-orders:
    title: Orders elsewhere
    dataset: away-orders
    fields: [{field: id}]
"""


def _set_up(place: Place, call: Call, catalog: str) -> str:
    """Make the house by the command; returns the first slot, which may lie in the future."""
    place.catalog.write_text(catalog)
    assert call(place.environment, "init").status == 0
    assert call(place.environment, "catalog", "apply", place.catalog).status == 0
    (slot,) = {
        one["next_slot"] for one in call(place.environment, "history", "--json").json()["schedules"]
    }
    return str(slot)


def _messages(place: Place, call: Call) -> Counter[tuple[str, str]]:
    """How often each address has a message about each subject."""
    messages = call(place.environment, "mailbox", "--json").json()["messages"]
    return Counter((message["to"], message["subject"]) for message in messages)


def test_it_delivers_what_may_be_delivered_and_leaves_no_secret_in_any_log(
    place: Place, call: Call
) -> None:
    place.environment.update(
        AWAY_URL=f"postgresql+psycopg2://shop:{PASSWORD}@127.0.0.1:1/shop",
        QUERIES_RETRY_DELAY="600",
    )
    catalog = CATALOG.replace("datasets:\n", AWAY_SOURCE).replace("queries:\n", AWAY_QUERY) + AWAY
    catalog = catalog.replace("connections:\n", "connections:\n  away: {url_variable: AWAY_URL}\n")
    slot = _set_up(place, call, catalog)

    told = place.queries("tick", "--at", slot, "--work", "--json")

    answer = told.json()
    keys = {one["schedule"]: one["occurrence"] for one in answer["worked"]}
    (waiting,) = answer.pop("waiting")
    left = datetime.fromisoformat(waiting.pop("until")) - system_clock()
    assert timedelta(seconds=500) < left <= timedelta(seconds=600)
    assert waiting == {
        "occurrence": keys["away"],
        "schedule": "away",
        "why": "its next receive",
    }
    worked = sorted(answer.pop("worked"), key=lambda one: str(one["schedule"]))
    assert answer == {
        "at": slot,
        "held_by": None,
        "stopped": None,
        "admitted": 2,
        "missed": 0,
        "recovered": 0,
        "exports": [],
    }
    assert worked == [
        _worked(keys, "away", state="waiting", outcome=None),
        _worked(keys, "weekly", state="settled", outcome="delivered"),
    ]

    history = call(place.environment, "history", "weekly", "--json").json()["occurrences"]
    assert [(one["outcome"], one["actor"], one["file"]["rows"]) for one in history] == [
        ("delivered", "ada", 2_500)
    ]
    assert Path(history[0]["file"]["location"]).read_bytes().count(b"\n") == 2_501
    assert sum(_messages(place, call).values()) == 2
    texts = [call(place.environment, "history"), call(place.environment, "tick")]
    assert f"delivered         {keys['weekly']}" in texts[0].out
    assert "acme/away" in texts[1].out
    assert not any(answer.status or answer.err for answer in texts)

    _no_secret_in_any_log(
        place, call, keys["away"], told.out + told.err, *(one.out for one in texts)
    )


def _worked(keys: dict[str, str], schedule: str, **rest: Any) -> dict[str, Any]:
    return {
        "occurrence": keys[schedule],
        "workspace": "acme",
        "schedule": schedule,
        "code": None,
        **rest,
    }


def _no_secret_in_any_log(place: Place, call: Call, failed_key: str, *outputs: str) -> None:
    messages = call(place.environment, "mailbox", "--json").json()["messages"]
    tokens = [message["link"].rpartition("/")[2] for message in messages]
    assert len(tokens) == 2
    key = (place.home / "link-keys").read_text().strip().partition(":")[2]
    # A token without its last part opens nothing, but nobody needs the rest of it either.
    secrets = [PASSWORD, key, *(part for token in tokens for part in token.split(".")[1:])]
    own = {"mailbox", "link-keys"}
    kept = [
        file
        for file in place.home.rglob("*")
        if file.is_file() and file.relative_to(place.home).parts[0] not in own
    ]
    names = {file.name for file in kept}
    assert {"queries.db", "delivery.log", "runs.db", "index.db"} <= names
    assert any(file.suffix == ".err" for file in kept)
    # The search does find what is there: the failed run's key, in its tags and in its events.
    telling = {file.parent.name for file in kept if failed_key.encode() in file.read_bytes()}
    assert {"history", "runs"} <= telling
    for file in kept:
        content = file.read_bytes()
        # The application database is where people's addresses are at home.
        hidden = secrets if file.name.startswith("queries.db") else [*secrets, *ADDRESSES]
        for secret in hidden:
            assert secret.encode() not in content, f"{file} holds {secret}"
    for output in outputs:
        for secret in (*secrets, *ADDRESSES):
            assert secret not in output


def test_killed_in_the_middle_of_a_file_it_is_found_again_and_delivered_once(
    place: Place, call: Call
) -> None:
    place.environment.update(
        QUERIES_HEARTBEAT_INTERVAL="0.5",
        QUERIES_HEARTBEAT_SILENCE="4",
        QUERIES_RETRY_DELAY="0.001",
    )
    weekly = CATALOG[CATALOG.index("  weekly:") :]
    more = [weekly.replace("weekly", name).replace("Weekly", name) for name in ("second", "third")]
    slot = _set_up(place, call, CATALOG + "".join(more))
    with closing(sqlite3.connect(place.folder / "shop.db", isolation_level=None)) as shop:
        shop.execute("BEGIN EXCLUSIVE")  # whoever reads the source waits
        command = place.start("tick", "--at", slot, "--work")
        wait_for_upload(place, command)
        (lane,) = children(command.pid)
        os.kill(lane, signal.SIGKILL)
        killed = answer_of(command)
    assert killed.status == 1
    assert killed.err.splitlines()[-1].startswith(
        f"lane_failed: The process of the delivery lane ended with status -9; see {place.home}/"
    )
    assert _messages(place, call) == Counter()

    waiting = call(place.environment, "tick", "--at", slot, "--json").json()["waiting"]

    (held,) = [one for one in waiting if one["until"]]
    assert held["why"] == "its worker, or the worker's heartbeat to fall silent"
    assert [one["why"] for one in waiting if one is not held] == [
        "an earlier slot of its schedule, or its turn"
    ] * 2
    silent_at = datetime.fromisoformat(held["until"])
    time.sleep(max(0.0, (silent_at - system_clock()).total_seconds()) + 0.1)

    # Two at once, the second while the first works.
    known = _passes_ended(place)
    first = place.start("tick", "--at", slot, "--work", "--json")
    _wait_for_another_pass(place, known)
    second = place.start("tick", "--at", slot, "--work", "--json")
    answers = [answer_of(first).json(), answer_of(second).json()]

    worked = [one for answer in answers for one in answer["worked"]]
    assert sorted(one["schedule"] for one in worked) == ["second", "third", "weekly"]
    assert {one["outcome"] for one in worked} == {"delivered"}, answers
    assert [answer["recovered"] for answer in answers] == [1, 0]
    history = call(place.environment, "history", "--json").json()["occurrences"]
    assert {one["occurrence"]: one["receives"] for one in history} == {
        one["occurrence"]: 2 if one["occurrence"] == held["occurrence"] else 1 for one in worked
    }
    messages = _messages(place, call)
    assert len(messages) == 6
    assert set(messages.values()) == {1}
    assert list((place.home / "files" / ".uploads").iterdir()) == []
    assert call(place.environment, "tick", "--json").json()["waiting"] == []


def test_two_at_once_work_side_by_side_while_a_third_holds_the_dispatcher(
    place: Place, call: Call
) -> None:
    weekly = CATALOG[CATALOG.index("  weekly:") :]
    slot = _set_up(
        place, call, CATALOG + weekly.replace("weekly", "second").replace("Weekly", "Second")
    )
    call(place.environment, "tick", "--at", slot)
    with dispatchers.only_pass(Database(f"sqlite:///{place.home / 'queries.db'}")) as alone:
        assert alone
        at_once = [place.start("tick", "--at", slot, "--work", "--json") for _ in range(2)]
        answers = [answer_of(command).json() for command in at_once]

    assert all(answer["held_by"] for answer in answers)
    worked = [one for answer in answers for one in answer["worked"]]
    assert sorted(one["schedule"] for one in worked) == ["second", "weekly"]
    assert {one["outcome"] for one in worked} == {"delivered"}
    assert set(_messages(place, call).values()) == {1}


def test_two_begun_at_once_are_both_done(place: Place, call: Call) -> None:
    slot = _set_up(place, call, CATALOG)
    at_once = [place.start("tick", "--at", slot, "--work", "--json") for _ in range(2)]

    answers = [answer_of(command).json() for command in at_once]

    assert sum(answer["admitted"] for answer in answers) == 1
    assert [one["outcome"] for answer in answers for one in answer["worked"]] == ["delivered"]
    assert set(_messages(place, call).values()) == {1}


def _passes_ended(place: Place) -> list[tuple[str]]:
    with closing(sqlite3.connect(place.home / "queries.db")) as store:
        return store.execute("SELECT pass_ended_at FROM dispatcher_heartbeats").fetchall()


def _wait_for_another_pass(place: Place, known: list[tuple[str]]) -> None:
    """Wait until a pass has ended that is not ``known``: what it recovered is worked now."""
    end = time.monotonic() + PATIENCE
    while _passes_ended(place) in (known, [(None,)]):
        assert time.monotonic() < end
        time.sleep(0.05)
