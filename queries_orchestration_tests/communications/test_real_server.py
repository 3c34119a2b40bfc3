"""The good path by a real mail server: STARTTLS, login, addresses beyond ASCII, a mailbox."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from email import message_from_string, policy
from email.message import EmailMessage

import pytest

from queries_orchestration.communications import open_communications
from queries_orchestration.model.errors import CommunicationsUnavailable, RecipientRefused
from queries_orchestration_tests.communications.exim import (
    PACKAGE,
    PASSWORD,
    Exim,
    exim_program,
    running_exim,
)
from queries_orchestration_tests.communications.test_smtp import MESSAGE, NOW
from queries_orchestration_tests.conftest import CI

_MISSING = f"Exim is missing, or may not be started: as root, install {PACKAGE}"


@pytest.fixture
def exim(monkeypatch: pytest.MonkeyPatch) -> Iterator[Exim]:
    program = exim_program()
    if program is None:
        if CI:
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    with running_exim(program) as server:
        monkeypatch.setenv("SSL_CERT_FILE", str(server.certificate))
        yield server


def test_messages_arrive_in_their_mailboxes(exim: Exim) -> None:
    communications = open_communications(
        exim.url, from_address="Reports <reports@q.example.org>", clock=lambda: NOW
    )
    communications.check(seconds=20)
    for address in ("ann@e.test", "jörg@e.test", "nobody@e.test", "bob@e.test"):
        message = replace(MESSAGE, recipient_name="Jörg Ü", recipient_address=address)
        if address.startswith("nobody"):
            with pytest.raises(RecipientRefused) as refused:
                communications.submit(message, seconds=20)
            assert refused.value.reason == "550 5.1.1 <(address)> is no mailbox here"
        else:
            communications.submit(message, seconds=20)
    communications.close()

    arrived = exim.mail(3)
    assert sorted(arrived) == ["ann@e.test", "bob@e.test", "jörg@e.test"]
    for address, raw in arrived.items():
        mail = message_from_string(raw.decode(), _class=EmailMessage, policy=policy.default)
        assert mail["Message-ID"] == MESSAGE.message_id
        assert f"<{address}>" in str(mail["To"])
        body = mail.get_body(("plain",))
        assert body is not None
        assert body.get_content() == MESSAGE.text


def test_a_wrong_password_is_the_settings_fault(exim: Exim) -> None:
    communications = open_communications(
        exim.url.replace(PASSWORD, "wrong"), from_address="r@q.example.org", clock=lambda: NOW
    )
    with pytest.raises(CommunicationsUnavailable, match=r"535.*check user and password"):
        communications.check(seconds=20)
