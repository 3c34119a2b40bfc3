"""What holds for every backend of communications; a new one joins by a case in `backend`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email import message_from_string, policy
from email.header import decode_header, make_header
from email.message import EmailMessage
from email.utils import getaddresses
from pathlib import Path

import pytest

from queries_orchestration.communications import open_communications
from queries_orchestration.communications.interface import (
    Communications,
    Message,
    clean_header_text,
    message_id,
)
from queries_orchestration.model.errors import RecipientRefused
from queries_orchestration_tests.communications.aiosmtpd_server import running_aiosmtpd
from queries_orchestration_tests.communications.ses_stub import running_ses

NOW = datetime(2026, 5, 4, 5, 0, 7, tzinfo=UTC)
KEY = "0190f0c2-7a31-7000-8000-000000000001@20260504T050000Z.p1"
LINK = "https://q.example.org/d/" + "x" * 500
MESSAGE = Message(
    communication_key=KEY,
    recipient_name="Ann Smith",
    recipient_address="ann@e.test",
    subject="Daily sales · 2026-05-04 07:00",
    text=f"Hello,\n\n{LINK}\n\nNorthwind\n",
    html=f'<p>Grüße</p><a href="{LINK}">Download</a>\n',
    message_id=message_id(KEY, "q.example.org"),
)


@dataclass(frozen=True, slots=True)
class Backend:
    """One backend, and what arrived through it, as raw messages."""

    communications: Communications
    arrived: Callable[[], list[bytes]]
    takes_utf8: bool = True

    def only(self) -> EmailMessage:
        (raw,) = self.arrived()
        return parsed(raw)


def parsed(raw: bytes) -> EmailMessage:
    # Headers beyond ASCII are UTF-8 (RFC 6532), which the parser of bytes does not decode.
    return message_from_string(raw.decode(), _class=EmailMessage, policy=policy.SMTP)


def recipient(mail: EmailMessage) -> tuple[str, str]:
    """Name and address, read by the older parser: the newer one misreads folded names."""
    raw = dict(mail.raw_items())["To"].replace("\r\n", "")
    ((name, address),) = getaddresses([raw])
    return str(make_header(decode_header(name))), address


SENDER = "Reports <reports@q.example.org>"


@contextmanager
def mailbox_backend(tmp_path: Path) -> Iterator[Backend]:
    folder = tmp_path / "mail box"
    communications = open_communications(
        f"mailbox://{folder}", from_address=SENDER, clock=lambda: NOW
    )
    yield Backend(
        communications, lambda: [file.read_bytes() for file in sorted(folder.glob("*.eml"))]
    )


@contextmanager
def smtp_backend(tmp_path: Path) -> Iterator[Backend]:
    with running_aiosmtpd() as server:
        communications = open_communications(server.url, from_address=SENDER, clock=lambda: NOW)
        yield Backend(communications, lambda: server.messages)


@contextmanager
def ses_backend(tmp_path: Path) -> Iterator[Backend]:
    with running_ses() as stub:
        url = f"ses://eu-central-1?endpoint={stub.url}"
        communications = open_communications(url, from_address=SENDER, clock=lambda: NOW)
        yield Backend(communications, stub.messages, takes_utf8=False)


BACKENDS = {"mailbox": mailbox_backend, "smtp": smtp_backend, "ses": ses_backend}


@pytest.fixture(params=BACKENDS)
def backend(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Backend]:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with BACKENDS[request.param](tmp_path) as opened:
        yield opened
        opened.communications.close()


def body(mail: EmailMessage, kind: str) -> str:
    part = mail.get_body(preferencelist=(kind,))
    assert part is not None
    content: str = part.get_content()
    return content.replace("\r\n", "\n")


def test_a_message_arrives_whole(backend: Backend) -> None:
    submission = backend.communications.submit(MESSAGE)
    assert (submission.state, submission.message_id) == ("accepted", MESSAGE.message_id)
    mail = backend.only()
    assert mail["From"] == "Reports <reports@q.example.org>"
    assert mail["To"] == "Ann Smith <ann@e.test>"
    assert mail["Subject"] == "Daily sales · 2026-05-04 07:00"
    assert mail["Date"].datetime == NOW
    assert mail["Message-ID"] == MESSAGE.message_id
    assert mail["Auto-Submitted"] == "auto-generated"
    assert mail.get_content_type() == "multipart/alternative"
    assert [part.get_content_type() for part in mail.iter_parts()] == ["text/plain", "text/html"]
    assert body(mail, "plain") == MESSAGE.text
    assert body(mail, "html") == MESSAGE.html
    assert backend.arrived()[0].isascii()  # passes servers without 8BITMIME


def test_the_same_key_again_sends_nothing_or_the_same(
    backend: Backend,
) -> None:
    backend.communications.submit(MESSAGE)
    before = backend.arrived()
    again = backend.communications.submit(MESSAGE)
    assert again.message_id == MESSAGE.message_id
    if backend.communications.idempotent_by_key:
        assert again.state == "already_accepted"
        assert backend.arrived() == before
    else:
        # The same bytes but for what separates parts, so that a program sees it is a copy.
        first, second = (parsed(raw) for raw in backend.arrived())
        assert first["Message-ID"] == second["Message-ID"] == MESSAGE.message_id
        assert body(first, "plain") == body(second, "plain")


def test_a_backend_that_can_be_used_says_so_and_sends_nothing(backend: Backend) -> None:
    backend.communications.check(seconds=10)
    assert backend.arrived() == []


def test_after_it_was_closed_it_goes_on(backend: Backend) -> None:
    backend.communications.submit(MESSAGE, seconds=10)
    backend.communications.close()
    backend.communications.submit(replace(MESSAGE, communication_key="other"), seconds=10)
    assert len(backend.arrived()) == 2


def test_each_recipient_gets_a_message_with_their_own_address_and_link_only(
    backend: Backend,
) -> None:
    people = ["ann", "bob", "eve"]
    for person in people:
        backend.communications.submit(
            replace(
                MESSAGE,
                communication_key=f"o1.{person}",
                recipient_name=person,
                recipient_address=f"{person}@e.test",
                text=f"https://q.example.org/d/token-of-{person}",
                html=f"<a href='https://q.example.org/d/token-of-{person}'>Download</a>",
                message_id=message_id(f"o1.{person}", "q.example.org"),
            )
        )
    raw = backend.arrived()
    assert len(raw) == 3
    for person, content in zip(
        people, sorted(raw, key=lambda one: one.split(b"To: ")[1]), strict=True
    ):
        mail = parsed(content)
        assert mail["To"] == f"{person} <{person}@e.test>"
        assert mail["Cc"] is mail["Bcc"] is mail["Reply-To"] is None
        for other in people:
            assert (f"token-of-{other}".encode() in content) == (other == person)
            assert (f"{other}@e.test".encode() in content) == (other == person)
    assert len({parsed(content)["Message-ID"] for content in raw}) == 3


@pytest.mark.parametrize(
    "name",
    [
        "Q1\r\nBcc: x@e.test",
        "Q1\nline",
        "Q1\rBcc: x@e.test",
        "<a href=https://e.test>Click</a>",
        "{{7*7}}",
        "x" * 900,
        "📊" * 900,
        "👩‍👩‍👧 Umsätze",
        "=?utf-8?q?Q1=0D=0ABcc:_x@e.test?=",
        "Doe, Jane",
        'Jane "JD" \\ Doe',
        "jane@e.test, bob",
        "a <b@e.test>",
        "",
    ],
)
def test_no_name_or_subject_adds_a_header_or_a_recipient(backend: Backend, name: str) -> None:
    backend.communications.submit(replace(MESSAGE, recipient_name=name, subject=name))
    (raw,) = backend.arrived()
    head = raw.split(b"\r\n\r\n", 1)[0]
    assert max(len(line) for line in head.split(b"\r\n")) <= 78
    assert head.isascii()
    mail = backend.only()
    assert [field.lower() for field in mail] == [
        *("from", "to", "subject", "date", "message-id", "auto-submitted"),
        *("mime-version", "content-type"),
    ]
    assert recipient(mail) == (clean_header_text(name), "ann@e.test")
    assert mail["Subject"] == clean_header_text(name)
    assert len(mail["Subject"]) <= 200


@pytest.mark.parametrize("address", ["user@xn--bcher-kva.example", "jörg@example.test"])
def test_no_address_is_written_as_an_encoded_word(backend: Backend, address: str) -> None:
    message = replace(MESSAGE, recipient_name="Jörg Ü", recipient_address=address)
    if not (backend.takes_utf8 or address.isascii()):
        with pytest.raises(RecipientRefused, match="beyond ASCII") as refused:
            backend.communications.submit(message)
        assert address not in refused.value.message
        assert backend.arrived() == []
        return
    backend.communications.submit(message)
    (raw,) = backend.arrived()
    assert f"<{address}>".encode() in raw
    assert recipient(backend.only()) == ("Jörg Ü", address)


def test_a_further_header_is_carried_and_a_line_break_in_it_is_not(backend: Backend) -> None:
    backend.communications.submit(
        replace(MESSAGE, headers={"List-Unsubscribe": "<https://q.example.org/u/1>"})
    )
    assert backend.only()["List-Unsubscribe"] == "<https://q.example.org/u/1>"
    with pytest.raises(ValueError, match="linefeed"):
        backend.communications.submit(
            replace(MESSAGE, communication_key="k2", headers={"X-A": "1\r\nBcc: x@e.test"})
        )
    assert len(backend.arrived()) == 1
