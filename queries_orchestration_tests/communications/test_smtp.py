"""What a mail server may do at each step, and what then is known of the message."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from email import message_from_bytes, policy

import pytest

from queries_orchestration.communications import open_communications
from queries_orchestration.communications.interface import Communications, Message, message_id
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    QueriesError,
    RecipientRefused,
    SubmissionUncertain,
)
from queries_orchestration_tests.communications.smtp_server import (
    SLOWNESS,
    Fault,
    SmtpServer,
    Stage,
    running_smtp,
)

NOW = datetime(2026, 5, 4, 5, tzinfo=UTC)
PATIENCE = SLOWNESS
SECRET = "tr0ub4dor & 3"
TOKEN = "e" * 300
MESSAGE = Message(
    communication_key="o1.ann",
    recipient_name="Ann",
    recipient_address="ann@e.test",
    subject="Sales",
    text=f"Hello\n.\n..two\nhttps://q.example.org/d/{TOKEN}\n",
    html="<p>.</p>",
    message_id=message_id("o1.ann", "q.example.org"),
)


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with running_smtp() as running:
        yield running


def opened(
    url: str, *, password: str = "", sender: str = "r@q.example.org", seconds: float = PATIENCE
) -> Communications:
    return open_communications(
        url,
        from_address=sender,
        clock=lambda: NOW,
        password=password,
        answer_seconds=seconds,
    )


@contextmanager
def connected(server: SmtpServer) -> Iterator[Communications]:
    communications = opened(server.url())
    try:
        yield communications
    finally:
        communications.close()


def submit(server: SmtpServer, message: Message = MESSAGE) -> QueriesError | None:
    """Submit one message; returns the error it ends with."""
    failed: QueriesError | None = None
    with connected(server) as communications:
        try:
            communications.submit(message, seconds=10)
        except QueriesError as error:
            failed = error
    for secret in (message.recipient_address, TOKEN):
        assert secret not in str(failed)
    return failed


def test_a_message_arrives_as_it_was_written(server: SmtpServer) -> None:
    assert submit(server) is None
    (taken,) = server.taken
    assert (taken.sender, taken.recipient) == ("r@q.example.org", "ann@e.test")
    mail = message_from_bytes(taken.data, policy=policy.SMTP)
    assert mail["Message-ID"] == MESSAGE.message_id
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().replace("\r\n", "\n") == MESSAGE.text
    assert server.commands[0] == "EHLO q.example.org"
    assert server.commands[-1] == "QUIT"


REFUSALS: list[tuple[Stage, str]] = [
    ("MAIL", "550 5.1.8 no such sender <r@q.example.org>"),
    ("MAIL", "552 5.3.4 too large"),
    ("RCPT", "550 5.1.1 <ann@e.test>: Recipient address rejected: User unknown"),
    ("RCPT", "551-5.1.6 moved\r\n551 5.1.6 to ann@elsewhere.test"),
    ("RCPT", "554 5.7.1 denied"),
    ("DATA", "554 5.7.1 no"),
    ("END", "552 5.2.2 mailbox full"),
    ("END", "550 5.7.1 blocked for https://q.example.org/d/" + TOKEN),
]


@pytest.mark.parametrize(("at", "answer"), REFUSALS)
def test_no_for_one_recipient_is_final_for_that_recipient_alone(
    server: SmtpServer, at: Stage, answer: str
) -> None:
    server.plan(at, answer)
    with connected(server) as communications:
        with pytest.raises(RecipientRefused) as refused:
            communications.submit(MESSAGE, seconds=10)
        communications.submit(replace(MESSAGE, recipient_address="bob@e.test"), seconds=10)
    assert refused.value.reason.startswith(answer[:3])
    assert "@" not in refused.value.reason
    assert TOKEN not in refused.value.reason
    assert server.recipients() == ["bob@e.test"]
    assert server.connections == 1


def test_the_words_of_a_refusal_are_kept_without_the_address(server: SmtpServer) -> None:
    server.plan("RCPT", REFUSALS[2][1])
    error = submit(server)
    assert isinstance(error, RecipientRefused)
    assert error.reason == "550 5.1.1 <(address)>: Recipient address rejected: User unknown"


NOT_TAKEN: list[tuple[Stage, Fault | str]] = [
    ("connect", "421 4.3.2 too many connections"),
    ("connect", "554 5.7.1 we do not know you"),
    ("connect", Fault.DROP),
    ("connect", Fault.SILENCE),
    ("connect", Fault.DRIP),
    ("connect", Fault.GARBAGE),
    ("EHLO", "421 4.3.2 closing"),
    ("EHLO", "550 5.7.1 not with that name"),
    ("EHLO", Fault.DROP),
    ("EHLO", Fault.SILENCE),
    ("MAIL", "421 4.7.0 too many messages"),
    ("MAIL", "451 4.3.0 later"),
    ("MAIL", "454 4.7.0 throttled"),
    ("MAIL", "530 5.7.0 Authentication required"),
    ("MAIL", Fault.DROP),
    ("MAIL", Fault.SILENCE),
    ("RCPT", "450 4.2.1 greylisted <ann@e.test>"),
    ("RCPT", "451 4.3.0 later"),
    ("RCPT", "452 4.5.3 too many"),
    ("RCPT", Fault.DROP),
    ("RCPT", Fault.SILENCE),
    ("RCPT", Fault.DRIP),
    ("DATA", "451 4.3.0 later"),
    ("DATA", Fault.DROP),
    ("DATA", Fault.SILENCE),
    ("DATA", Fault.GARBAGE),
    ("END", "421 4.3.0 closing"),
    ("END", "451 4.3.0 later"),
    ("END", "452 4.3.1 disk full"),
]


@pytest.mark.parametrize(("at", "fault"), NOT_TAKEN)
def test_what_was_plainly_not_taken_may_be_tried_again(
    server: SmtpServer, at: Stage, fault: Fault | str
) -> None:
    server.plan(at, fault)
    began = time.monotonic()
    error = submit(server)
    assert isinstance(error, CommunicationsUnavailable)
    assert time.monotonic() - began < 5
    assert "QUERIES_COMMUNICATIONS_URL" in error.message
    if isinstance(fault, str):
        assert fault[:3] in error.message
    assert server.taken == []
    assert submit(server) is None
    assert server.recipients() == ["ann@e.test"]


@pytest.mark.parametrize("fault", [Fault.DROP, Fault.SILENCE, Fault.DRIP, Fault.GARBAGE])
def test_an_answer_lost_after_the_final_dot_is_uncertain(server: SmtpServer, fault: Fault) -> None:
    server.plan("END", fault)
    with connected(server) as communications:
        with pytest.raises(SubmissionUncertain, match="may have taken"):
            communications.submit(MESSAGE, seconds=1)
        communications.submit(replace(MESSAGE, recipient_address="bob@e.test"), seconds=10)
    assert server.recipients() == ["ann@e.test", "bob@e.test"]


def test_the_answer_to_a_whole_message_may_take_five_times_as_long(server: SmtpServer) -> None:
    server.plan("END", Fault.SLOW)
    assert submit(server) is None
    server.plan("RCPT", Fault.SLOW)
    assert isinstance(submit(server), CommunicationsUnavailable)


def test_a_connection_lost_in_the_middle_of_the_message_is_not_uncertain() -> None:
    # So long a message that the connection breaks while it is written.
    long = replace(MESSAGE, html="<p>" + "long " * 4_000_000 + "</p>")
    with running_smtp() as server:
        server.plan("DATA", Fault.DROP_INSIDE)
        with connected(server) as communications, pytest.raises(CommunicationsUnavailable):
            communications.submit(long, seconds=20)
        assert server.taken == []


def test_an_answer_that_comes_before_the_connection_ends_counts(server: SmtpServer) -> None:
    server.plan("END", Fault.DROP_AFTER)
    with connected(server) as communications:
        communications.submit(MESSAGE, seconds=10)
        communications.submit(MESSAGE, seconds=10)  # by a new connection
    assert len(server.taken) == server.connections == 2


def test_the_messages_of_a_receive_go_through_one_connection(server: SmtpServer) -> None:
    with connected(server) as communications:
        for name in ("ann", "bob", "cyd"):
            communications.submit(replace(MESSAGE, recipient_address=f"{name}@e.test"), seconds=10)
    assert server.recipients() == ["ann@e.test", "bob@e.test", "cyd@e.test"]
    assert server.connections == 1


def test_a_server_that_is_away_is_not_waited_for_by_every_recipient() -> None:
    with running_smtp() as server:
        server.plan("connect", Fault.SILENCE, times=99)
        communications = opened(server.url())
        for _ in range(3):
            with pytest.raises(CommunicationsUnavailable):
                communications.submit(MESSAGE, seconds=10)
        assert server.connections == 1
        communications.close()  # the next receive tries it
        with pytest.raises(CommunicationsUnavailable):
            communications.submit(MESSAGE, seconds=10)
        assert server.connections == 2


def test_no_answer_is_waited_for_beyond_the_end_of_the_receive() -> None:
    with running_smtp() as server:
        server.plan("RCPT", Fault.SILENCE)
        communications = opened(server.url(), seconds=60)
        began = time.monotonic()
        with pytest.raises(CommunicationsUnavailable, match="no answer in time"):
            communications.submit(MESSAGE, seconds=0.3)
        assert time.monotonic() - began < 5


def test_nobody_listens() -> None:
    with running_smtp() as server:
        url = server.url()
    with pytest.raises(CommunicationsUnavailable, match="ECONNREFUSED"):
        opened(url).submit(MESSAGE, seconds=5)


# Non-ASCII addresses: E06


def test_an_address_beyond_ascii_goes_where_the_server_takes_it(server: SmtpServer) -> None:
    assert submit(server, replace(MESSAGE, recipient_address="jörg@example.test")) is None
    (taken,) = server.taken
    assert taken.recipient == "jörg@example.test"
    assert taken.options == "BODY=8BITMIME SMTPUTF8"
    assert "To: Ann <jörg@example.test>".encode() in taken.data


def test_an_address_beyond_ascii_is_refused_alone_where_it_does_not() -> None:
    with running_smtp(utf8=False) as server, connected(server) as communications:
        with pytest.raises(RecipientRefused, match="no SMTPUTF8"):
            communications.submit(
                replace(MESSAGE, recipient_address="jörg@example.test"), seconds=10
            )
        for address in ("user@xn--bcher-kva.example", "ann@e.test"):
            communications.submit(
                replace(MESSAGE, recipient_name="Jörg", recipient_address=address), seconds=10
            )
        assert server.recipients() == ["ann@e.test", "user@xn--bcher-kva.example"]
        assert [one.options for one in server.taken] == ["", ""]


def test_a_sender_beyond_ascii_is_nobodys_fault_but_the_settings() -> None:
    with running_smtp(utf8=False) as server:
        communications = opened(server.url(), sender="jörg@q.example.org")
        with pytest.raises(CommunicationsUnavailable, match="QUERIES_FROM_ADDRESS"):
            communications.submit(MESSAGE, seconds=10)
