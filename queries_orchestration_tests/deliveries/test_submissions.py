"""A receive against a mail server that fails: who gets a message, how often, and what is told."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from email import message_from_bytes, policy
from email.message import EmailMessage
from pathlib import Path

import pytest
import sqlalchemy as sa

from queries_orchestration.cli.told_occurrence import result_text
from queries_orchestration.deliveries.provider_events import record_events
from queries_orchestration.model.message_states import ProviderEvent
from queries_orchestration.receives.backends import communications_of
from queries_orchestration.store import workspaces
from queries_orchestration.telling.occurrences import occurrence_json
from queries_orchestration_tests.communications.ses_stub import running_ses
from queries_orchestration_tests.communications.smtp_server import (
    Fault,
    SmtpServer,
    running_smtp,
)
from queries_orchestration_tests.house import CATALOG, MONDAY, House, build_house

NAMES = ("ann", "bob", "cyd", "dan")
PEOPLE = "".join(
    f"  {name}: {{title: {name.title()}, address: {name}@e.test, roles: [reader]}}\n"
    for name in NAMES
)
FOUR = re.sub(r"  bob: .*\n  cyd: .*\n  dan: .*\n", PEOPLE, CATALOG).replace(
    "[bob, dan, cyd]", "[ann, bob, cyd, dan]"
)


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with running_smtp() as running:
        yield running


@pytest.fixture
def house(tmp_path: Path, store_url: str, source_url: str, server: SmtpServer) -> House:
    """A schedule with four recipients, whose messages go to the server."""
    return build_house(
        tmp_path,
        store_url,
        source_url,
        catalog=FOUR,
        rows=3,
        settings={
            "QUERIES_COMMUNICATIONS_URL": server.url(),
            "QUERIES_SEND_TIMEOUT": "0.2",
        },
    )


def states(house: House) -> dict[str, str]:
    rows = house.deliveries(house.history()[0].key)
    return {name: row.state for name, row in sorted(rows.items())}


def told(house: House) -> str:
    """The line of `queries history` that says who got what."""
    with house.backends.database.across.read() as connection:
        place = workspaces.get(connection, house.workspace_id)
        assert place is not None
        one = occurrence_json(
            connection, house.backends, place, house.schedule(), house.history()[0]
        )
    json.dumps(one, default=str)
    return result_text(one)


def mail_to(server: SmtpServer, recipient: str) -> list[EmailMessage]:
    found = []
    for taken in server.taken:
        if taken.recipient == recipient:
            mail = message_from_bytes(taken.data, policy=policy.SMTP)
            assert isinstance(mail, EmailMessage)
            found.append(mail)
    return found


def link_in(mail: EmailMessage) -> str:
    body = mail.get_body(("plain",))
    assert body is not None
    found = re.search(r"https://queries\.example\.org/d/\S+", body.get_content())
    assert found is not None
    return found[0]


def test_one_bad_recipient_blocks_nobody_and_the_retry_touches_one(
    house: House, server: SmtpServer, caplog: pytest.LogCaptureFixture
) -> None:
    """E01."""
    server.plan("RCPT", "550 5.1.1 <bob@e.test>: no such user", recipient="bob@e.test", times=9)
    server.plan("RCPT", "451 4.3.0 try later", recipient="dan@e.test")
    with caplog.at_level(logging.DEBUG):
        assert house.deliver(MONDAY) == ["communications_unavailable"]
        assert states(house) == {"ann": "sent", "bob": "refused", "cyd": "sent", "dan": "sending"}
        server.commands.clear()
        assert house.deliver(MONDAY) == ["delivered_partly"]

    assert [one for one in server.commands if one.startswith("RCPT")] == ["RCPT TO:<dan@e.test>"]
    assert server.recipients() == ["ann@e.test", "cyd@e.test", "dan@e.test"]
    assert states(house) == {"ann": "sent", "bob": "refused", "cyd": "sent", "dan": "sent"}
    rows = house.deliveries(house.history()[0].key)
    assert rows["bob"].refusal_words == "550 5.1.1 <(address)>: no such user"
    assert rows["dan"].refusal_words is None
    assert "bob refused (recipient_refused: 550 5.1.1 <(address)>: no such user)" in told(house)
    assert "@e.test" not in caplog.text


def test_each_recipient_has_a_message_and_a_link_of_their_own(
    house: House, server: SmtpServer
) -> None:
    """E11: no message shows another recipient."""
    assert house.deliver(MONDAY) == ["delivered"]
    assert server.connections == 1
    links = {name: link_in(mail_to(server, f"{name}@e.test")[0]) for name in NAMES}
    assert len(set(links.values())) == 4
    for taken in server.taken:
        others = {f"{name}@e.test" for name in NAMES} - {taken.recipient}
        assert not any(other.encode() in taken.data for other in others)


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.SILENCE])
def test_a_lost_answer_costs_one_copy_with_the_same_message_id_and_link(
    house: House, server: SmtpServer, fault: Fault
) -> None:
    server.plan("END", fault, recipient="bob@e.test")

    assert house.deliver(MONDAY) == ["submission_uncertain"]
    assert states(house)["bob"] == "sending"
    assert house.deliver(MONDAY) == ["delivered"]

    first, second = mail_to(server, "bob@e.test")
    assert first["Message-ID"] == second["Message-ID"]
    assert link_in(first) == link_in(second)
    assert len(server.taken) == 5
    row = house.deliveries(house.history()[0].key)["bob"]
    assert (row.state, row.unanswered, row.resubmitted_at) == ("sent", 1, MONDAY)
    assert "bob sent, submitted twice" in told(house)


def test_a_second_lost_answer_is_uncertain_and_final(house: House, server: SmtpServer) -> None:
    server.plan("END", Fault.DROP, recipient="bob@e.test", times=9)

    assert house.deliver(MONDAY) == ["submission_uncertain"]
    assert house.deliver(MONDAY) == ["delivered"]

    assert len(mail_to(server, "bob@e.test")) == 2
    row = house.deliveries(house.history()[0].key)["bob"]
    assert (row.state, row.code, row.unanswered) == ("uncertain", "submission_uncertain", 2)
    assert house.history()[0].receive_number == 2


def test_what_was_never_taken_is_tried_thrice_and_never_called_uncertain(
    house: House, server: SmtpServer
) -> None:
    """E12."""
    server.plan("RCPT", "451 4.3.0 try later", recipient="bob@e.test", times=9)

    assert [house.deliver(MONDAY) for _ in range(4)] == [["communications_unavailable"]] * 3 + [[]]

    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "communications_unavailable")
    row = house.deliveries(occurrence.key)["bob"]
    assert (row.state, row.unanswered, row.resubmitted_at) == ("unsent", 0, None)
    assert "451 4.3.0 try later" in (row.refusal_words or "")
    told = ["ada@example.org"]  # the owner, of the failure
    assert server.recipients() == [*told, "ann@e.test", "cyd@e.test", "dan@e.test"]
    assert len([one for one in server.commands if one == "RCPT TO:<bob@e.test>"]) == 3


def test_a_copy_that_was_plainly_not_taken_is_no_copy(house: House, server: SmtpServer) -> None:
    server.plan("END", Fault.DROP, recipient="bob@e.test")
    assert house.deliver(MONDAY) == ["submission_uncertain"]
    server.plan("RCPT", "451 4.3.0 later", recipient="bob@e.test")
    assert house.deliver(MONDAY) == ["communications_unavailable"]
    row = house.deliveries(house.history()[0].key)["bob"]
    assert (row.state, row.unanswered, row.resubmitted_at) == ("sending", 1, None)

    assert house.deliver(MONDAY) == ["delivered"]

    assert len(mail_to(server, "bob@e.test")) == 2


def test_an_answer_lost_in_the_last_receive_counts_as_a_message(
    house: House, server: SmtpServer
) -> None:
    server.plan("RCPT", "451 4.3.0 later", recipient="bob@e.test", times=2)
    server.plan("END", Fault.DROP, recipient="bob@e.test")

    assert [house.deliver(MONDAY) for _ in range(3)] == [
        ["communications_unavailable"],
        ["communications_unavailable"],
        ["delivered"],
    ]
    assert states(house)["bob"] == "uncertain"
    assert len(mail_to(server, "bob@e.test")) == 1


def test_a_server_that_is_away_leaves_a_row_for_every_recipient(
    house: House, server: SmtpServer
) -> None:
    server.plan("connect", "421 4.3.2 not now", times=3)

    assert [house.deliver(MONDAY) for _ in range(3)] == [["communications_unavailable"]] * 3

    assert states(house) == dict.fromkeys(NAMES, "unsent")
    assert server.connections == 3


def test_a_login_that_fails_is_no_recipients_fault(house: House, server: SmtpServer) -> None:
    settings = replace(house.backends.settings, communications_url=server.url("ann:wrong@"))
    server.login = ("ann", "right")
    barred = house.with_backends(
        replace(house.backends, communications=communications_of(settings, house.clock))
    )
    assert barred.deliver(MONDAY) == ["communications_unavailable"]
    assert states(house) == dict.fromkeys(NAMES, "sending")
    assert house.deliver(MONDAY) == ["delivered"]  # the settings are mended
    assert len(server.taken) == 4


def test_what_the_provider_tells_of_is_not_sent_again(house: House, server: SmtpServer) -> None:
    server.plan("END", Fault.DROP, recipient="bob@e.test")
    house.deliver(MONDAY)
    row = house.deliveries(house.history()[0].key)["bob"]
    assert row.message_id is not None
    event = ProviderEvent(message_id=row.message_id, state="delivered", at=MONDAY)
    assert record_events(house.backends, [event]) == 1

    assert house.deliver(MONDAY) == ["delivered"]

    assert len(mail_to(server, "bob@e.test")) == 1
    assert states(house)["bob"] == "sent"
    assert "bob sent, delivered" in told(house)


def test_who_may_have_the_message_and_left_is_uncertain(house: House, server: SmtpServer) -> None:
    server.plan("END", Fault.DROP, recipient="bob@e.test")
    house.deliver(MONDAY)
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE people SET active = false WHERE name = 'bob'"))

    assert house.deliver(MONDAY) == ["delivered"]

    row = house.deliveries(house.history()[0].key)["bob"]
    assert (row.state, row.code) == ("uncertain", "inactive")
    assert len(mail_to(server, "bob@e.test")) == 1


def test_a_schedules_name_adds_no_header_and_no_recipient(house: House, server: SmtpServer) -> None:
    """E04, as it goes over the wire, though the catalog lets no such name in."""
    title = "Q1\r\nBcc: x@e.test\r\n\r\n.\r\nMAIL FROM:<x@e.test> {{7*7}} <b>📊</b>"
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE schedules SET title = :title"), {"title": title})

    assert house.deliver(MONDAY) == ["delivered"]

    assert server.recipients() == [f"{name}@e.test" for name in NAMES]
    for taken in server.taken:
        mail = message_from_bytes(taken.data, policy=policy.SMTP)
        assert mail["Bcc"] is None
        assert mail.get_all("Subject") == [mail["Subject"]]
        assert "{{7*7}}" in mail["Subject"]


def test_an_answer_that_ses_loses_costs_one_request_more(
    tmp_path: Path, store_url: str, source_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with running_ses() as stub:
        url = f"ses://eu-central-1?configuration_set=reports&endpoint={stub.url}"
        house = build_house(
            tmp_path,
            store_url,
            source_url,
            catalog=FOUR,
            rows=3,
            settings={"QUERIES_COMMUNICATIONS_URL": url},
        )
        stub.answers += ["drop", (400, "MessageRejected", "Address bob@e.test is blocked.")]

        assert house.deliver(MONDAY) == ["submission_uncertain"]
        assert states(house) == {"ann": "sending", "bob": "refused", "cyd": "sent", "dan": "sent"}
        assert house.deliver(MONDAY) == ["delivered_partly"]

    to = [body["Destination"]["ToAddresses"] for body in stub.bodies]
    assert to == [["ann@e.test"], ["cyd@e.test"], ["dan@e.test"], ["ann@e.test"]]
    first, second = (message_from_bytes(stub.messages()[number]) for number in (0, 3))
    assert first["Message-ID"] == second["Message-ID"]
    assert "ann sent, submitted twice" in told(house)
    assert "bob refused (recipient_refused: MessageRejected: Address (address) is bl" in told(house)
