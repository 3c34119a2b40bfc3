"""The e-mail itself: names and subjects arrive as they were, the sender's setting is read."""

from __future__ import annotations

from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import getaddresses

import pytest
from hypothesis import example, given, strategies as st

from queries_orchestration.communications.email_message import email_message, parse_sender
from queries_orchestration.communications.interface import Message, message_id
from queries_orchestration.model.errors import InvalidAddress

NOW = datetime(2026, 5, 4, 5, tzinfo=UTC)
SENDER = parse_sender("reports@q.example.org")
HEADERS = ["From", "To", "Subject", "Date", "Message-ID", "Auto-Submitted", "MIME-Version"]

words = st.sampled_from(["Müller", "of", "für", "2026", "Отчёт", "📊", "Sales", "a" * 30, "é"])
texts = (
    st.text(max_size=220)
    | st.text(alphabet=" ,<>@\"'=?_ü📊é\t\r\n\\()a.:;[]", max_size=220)
    | st.text(alphabet=" ,<>@\"'=?_\\()a.:;[]bc", max_size=220)
    | st.lists(words, max_size=20).map(" ".join)
)


@given(texts)
@example("Jörg Ø Müller-Lüdenscheidt von und zu der Straße am schönen Flüßchen")
@example("0 000¡¡ࠀࠀࠀࠀࠀࠀࠀࠀࠀࠀࠀࠀ ¡")
def test_every_name_and_subject_arrives_as_it_was_cleaned_and_adds_nothing(text: str) -> None:
    message = Message(
        communication_key="k1",
        recipient_name=text,
        recipient_address="ann@e.test",
        subject=text,
        text="Hello",
        html="<p>Hello</p>",
        message_id=message_id("k1", "q.example.org"),
    )
    raw = email_message(message, sender=SENDER, date=NOW).as_bytes()
    head = raw.split(b"\r\n\r\n", 1)[0]
    assert head.isascii()
    assert max(len(line) for line in head.split(b"\r\n")) <= 78
    # Read by the older parser: the newer one of CPython 3.11 misreads folded names.
    mail = message_from_bytes(raw)
    assert mail.keys() == [*HEADERS, "Content-Type"]
    subject = mail["Subject"].replace("\r\n", "")
    assert str(make_header(decode_header(subject))) == message.subject
    ((name, address),) = getaddresses([mail["To"].replace("\r\n", "")])
    assert address == "ann@e.test"
    assert str(make_header(decode_header(name))) == message.recipient_name
    newer = message_from_bytes(raw, _class=EmailMessage, policy=policy.SMTP)
    assert newer["Subject"] == message.subject
    assert [one.addr_spec for one in newer["To"].addresses] == ["ann@e.test"]


@pytest.mark.parametrize(
    ("text", "name", "address"),
    [
        ("r@e.test", "", "r@e.test"),
        (" r@E.test ", "", "r@e.test"),
        ("<r@e.test>", "", "r@e.test"),
        ("Reports <r@e.test>", "Reports", "r@e.test"),
        ('"Reports, Inc" <r@e.test>', "Reports, Inc", "r@e.test"),
        ("Reports, Inc <r@e.test>", "Reports, Inc", "r@e.test"),
        ("Übersicht <r@bücher.example>", "Übersicht", "r@xn--bcher-kva.example"),
    ],
)
def test_the_sender_is_an_address_with_or_without_a_name(
    text: str, name: str, address: str
) -> None:
    assert parse_sender(text) == Address(name, *address.split("@"))


@pytest.mark.parametrize(
    "text", ["", "Reports", "Reports <>", "a@e.test, b@e.test", "R <r@e.test> x"]
)
def test_a_sender_that_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidAddress):
        parse_sender(text)


def test_only_an_address_beyond_ascii_needs_smtputf8() -> None:
    def utf8(address: str) -> bool:
        message = Message(
            communication_key="k1",
            recipient_name="Jörg",
            recipient_address=address,
            subject="Übersicht",
            text="ü",
            html="ü",
            message_id=message_id("k1", "q.example.org"),
        )
        head = email_message(message, sender=SENDER, date=NOW).as_bytes().split(b"\r\n\r\n")[0]
        return not head.isascii()

    assert not utf8("joerg@e.test")
    assert not utf8("user@xn--bcher-kva.example")
    assert utf8("jörg@example.test")
