"""kill -9 around a submission to a mail server, which cannot tell a copy: two at most, and only
where the first may have been taken."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest

from queries_orchestration.store.offers import Offer
from queries_orchestration_tests.communications.smtp_server import SmtpServer, running_smtp
from queries_orchestration_tests.crash.kills import finish, kill_receive_at
from queries_orchestration_tests.house import MONDAY, House, build_house

ADA = "ada@example.org"
BOB, CYD = "bob@example.org", "cyd@example.org"


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with running_smtp() as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str, server: SmtpServer) -> House:
    return build_house(
        tmp_path,
        store_url,
        source_url,
        settings={"QUERIES_COMMUNICATIONS_URL": server.url(), "QUERIES_SEND_TIMEOUT": "5"},
    )


def test_a_message_submitted_and_not_recorded_is_submitted_once_more(
    house: House, server: SmtpServer
) -> None:
    kill_receive_at(house, _offer(house), "submitted, not recorded")
    assert server.recipients() == [BOB]

    finish(house)

    assert server.recipients() == [BOB, BOB, CYD]
    _assert_copies(server, BOB)
    assert _ended(house) == ("delivered", {"bob": "sent", "cyd": "sent", "dan": "skipped"})
    row = house.deliveries(house.history()[0].key)["bob"]
    assert (row.unanswered, row.resubmitted_at is not None) == (1, True)


def test_killed_there_twice_it_is_uncertain_and_never_submitted_again(
    house: House, server: SmtpServer
) -> None:
    for _ in range(2):
        kill_receive_at(house, _offer(house), "submitted, not recorded")
    assert server.recipients() == [BOB, BOB]

    finish(house)

    assert server.recipients() == [BOB, BOB, CYD]
    _assert_copies(server, BOB)
    assert _ended(house) == ("delivered", {"bob": "uncertain", "cyd": "sent", "dan": "skipped"})


def test_killed_there_three_times_the_occurrence_fails_and_the_rest_is_told(
    house: House, server: SmtpServer
) -> None:
    for _ in range(3):
        kill_receive_at(house, _offer(house), "submitted, not recorded")

    finish(house)

    # The owner is told of the failure.
    assert server.recipients() == [ADA, BOB, BOB, CYD]
    outcome, states = _ended(house)
    assert (outcome, states["bob"], states["cyd"]) == ("failed", "uncertain", "uncertain")


def test_killed_before_anything_was_submitted_there_is_one_message(
    house: House, server: SmtpServer
) -> None:
    """Nobody can tell this kill from one after the submission: the second message is the first."""
    kill_receive_at(house, _offer(house), "sending recorded")
    assert server.taken == []

    finish(house)

    assert server.recipients() == [BOB, CYD]
    assert _ended(house)[0] == "delivered"


def test_killed_with_the_second_submission_noted_it_is_not_made_a_third_time(
    house: House, server: SmtpServer
) -> None:
    kill_receive_at(house, _offer(house), "submitted, not recorded")
    kill_receive_at(house, _offer(house), "further submission noted")
    assert server.recipients() == [BOB]

    finish(house)

    assert server.recipients() == [BOB, CYD]
    assert _ended(house) == ("delivered", {"bob": "uncertain", "cyd": "sent", "dan": "skipped"})


def test_killed_before_a_refusal_for_now_is_recorded_it_may_be_submitted_once_more(
    house: House, server: SmtpServer
) -> None:
    server.plan("RCPT", "451 4.3.0 later", recipient=BOB)
    kill_receive_at(house, _offer(house), "not taken, not recorded")
    assert server.taken == []

    finish(house)

    assert server.recipients() == [BOB, CYD]
    assert _ended(house) == ("delivered", {"bob": "sent", "cyd": "sent", "dan": "skipped"})


def _offer(house: House) -> Offer:
    """The next offer of the occurrence, once the killed receive has been found."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        if offers := house.dispatch(MONDAY).offers:
            return offers[0]
        time.sleep(0.05)
    raise AssertionError("the occurrence was not offered in time")


def _ended(house: House) -> tuple[str | None, dict[str, str]]:
    (occurrence,) = house.history()
    rows = house.deliveries(occurrence.key)
    return occurrence.outcome, {name: row.state for name, row in sorted(rows.items())}


def _assert_copies(server: SmtpServer, recipient: str) -> None:
    """Both messages to ``recipient`` have one Message-ID and one link."""
    seen = set()
    for taken in server.taken:
        if taken.recipient != recipient:
            continue
        mail = message_from_bytes(taken.data, policy=policy.SMTP)
        assert isinstance(mail, EmailMessage)
        body = mail.get_body(("plain",))
        assert body is not None
        link = re.search(r"https://queries\.example\.org/d/\S+", body.get_content())
        assert link is not None
        seen.add((mail["Message-ID"], link[0]))
    assert len(seen) == 1
