"""What no decent mail server does: it costs a limited time, and never a wrong outcome."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from queries_orchestration.communications.smtp_wire import Wire
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    QueriesError,
    RecipientRefused,
    SubmissionUncertain,
)
from queries_orchestration_tests.communications.raw_servers import running_raw, smtp
from queries_orchestration_tests.communications.test_smtp import MESSAGE, opened

HELLO, FEATURES, OK, GO = b"220 hi\r\n", b"250-x\r\n250 SMTPUTF8\r\n", b"250 ok\r\n", b"354 go\r\n"
UP_TO_DATA = (HELLO, FEATURES, OK, OK)


def submitted(replies: Sequence[bytes]) -> QueriesError | None:
    """Submit one message to a server of these replies; returns the error it ends with."""
    with running_raw(smtp(replies)) as port:
        communications = opened(f"smtp://127.0.0.1:{port}", seconds=3)
        try:
            communications.submit(MESSAGE, seconds=10)
        except QueriesError as error:
            return error
        finally:
            communications.close()
    return None


def test_an_answer_before_the_message_has_ended_is_not_taken_for_its_answer() -> None:
    """Else a forged yes would hide the refusal that comes."""
    ended = submitted([*UP_TO_DATA, GO + b"250 forged\r\n", b"550 5.7.1 spam\r\n"])
    assert isinstance(ended, CommunicationsUnavailable)
    assert "before it was asked" in ended.message


def test_an_answer_without_an_end_is_none() -> None:
    begun = time.monotonic()
    ended = submitted([HELLO, b"250-more\r\n" * 10_000])
    assert isinstance(ended, CommunicationsUnavailable)
    assert "does not speak SMTP" in ended.message
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize("end", [b"", b"\r\n"])
def test_a_line_without_an_end_is_no_answer(end: bytes) -> None:
    ended = submitted([*UP_TO_DATA, GO, b"250 " + b"a" * 100_000 + end])
    assert isinstance(ended, SubmissionUncertain)
    assert "does not speak SMTP" in ended.message


def test_a_long_refusal_holds_up_no_other_thread() -> None:
    silences: list[float] = []
    done = threading.Event()

    def beat() -> None:
        while not done.is_set():
            begun = time.monotonic()
            time.sleep(0.01)
            silences.append(time.monotonic() - begun)

    beating = threading.Thread(target=beat)
    beating.start()
    ended = submitted([*UP_TO_DATA[:-1], (b"550-" + b"a" * 8000 + b"\r\n") * 199 + b"550 no\r\n"])
    done.set()
    beating.join()
    assert isinstance(ended, RecipientRefused)
    assert max(silences) < 2


def test_all_addresses_of_a_host_share_one_time(monkeypatch: pytest.MonkeyPatch) -> None:
    silent = []
    for _ in range(4):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        silent.append(listener)
        for _ in range(3):  # its queue is full: whoever connects now waits
            waiting = socket.socket()
            waiting.setblocking(False)
            waiting.connect_ex(listener.getsockname())
            silent.append(waiting)
    answering = socket.create_server(("127.0.0.1", 0))
    places = [one.getsockname() for one in silent[::4]]

    def found(*_: Any, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", place) for place in places]

    monkeypatch.setattr(socket, "getaddrinfo", found)
    try:
        begun = time.monotonic()
        with pytest.raises(CommunicationsUnavailable, match="no answer in time"):
            Wire.connect("mail.example", 25, answer_seconds=1, ends=begun + 5)
        assert 0.9 < time.monotonic() - begun < 2
        places.append(answering.getsockname())
        Wire.connect("mail.example", 25, answer_seconds=2, ends=time.monotonic() + 5).close()
    finally:
        for one in (*silent, answering):
            one.close()


def test_a_name_that_nobody_looks_up_in_time_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(5))
    begun = time.monotonic()
    with pytest.raises(CommunicationsUnavailable, match="no answer in time"):
        Wire.connect("mail.example", 25, answer_seconds=60, ends=begun + 0.3)
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize("host", ["nowhere.invalid", "a" * 64 + ".invalid"])
def test_a_name_that_is_none_is_told(host: str) -> None:
    with pytest.raises(CommunicationsUnavailable, match="its name is not known"):
        Wire.connect(host, 25, answer_seconds=10, ends=time.monotonic() + 10)
