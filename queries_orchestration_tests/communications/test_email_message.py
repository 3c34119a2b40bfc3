"""The e-mail itself: names and subjects arrive as they were, the sender's setting is read."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from email import message_from_string, policy
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


LONG = "Doe, Jane of the very long department of accounts and receivables, x@evil.test, Germany"
LONG_COMMENT = "Jane (JD) <mallory@evil.test>, of the very long department of accounts: 2nd; floor"
ENCODED = "=?utf-8?q?a=0d=0aBcc=3a=20x=40evil.test?="

atoms = st.text(alphabet="abz0!#$%&'*+/=?^_`{|}~-öю", min_size=1, max_size=20)
local_parts = st.lists(atoms, min_size=1, max_size=3).map(".".join) | st.just(ENCODED)
# One address as RFC 5322 has it, with nothing beside it: a name in quotes, or atoms, or none.
ONE_ADDRESS = re.compile(
    r"""(?:"(?:[^"\\]|\\["\\])*"[ ]<(?P<quoted>[^<>]*)>
    |(?:[^()<>@,:;\\".\[\]]+[ ])<(?P<plain>[^<>]*)>
    |(?P<alone>[^ <>]*))""",
    re.VERBOSE,
)


def one_address(header: str) -> str:
    """The address of an unfolded header, which must hold one and nothing else."""
    found = ONE_ADDRESS.fullmatch(header)
    assert found is not None, header
    address = found["quoted"] or found["plain"] or found["alone"]
    assert address.count("@") == 1
    return address


@given(name=texts, sender_name=texts, local_part=local_parts)
@example(name=LONG, sender_name=LONG_COMMENT, local_part="ann")
@example(name=LONG_COMMENT, sender_name=LONG, local_part="a" * 64)
@example(name="Ann", sender_name="", local_part=ENCODED)
@example(name="Ann", sender_name="x" * 100, local_part="=?utf-8?q?=0d=0a=0d=0ahello?=")
@example(name="x" * 100, sender_name="Änn", local_part="=?bogus?q?x?=")
@example(name="Jörg Ø Müller-Lüdenscheidt von und zu der Straße", sender_name="é", local_part="a")
@example(name="0 000¡¡ࠀࠀࠀࠀࠀࠀࠀࠀࠀࠀࠀࠀ ¡", sender_name="b" * 66 + " c", local_part="a")
def test_every_name_and_address_arrives_as_it_was_cleaned_and_adds_nothing(
    name: str, sender_name: str, local_part: str
) -> None:
    message = Message(
        communication_key="k1",
        recipient_name=name,
        recipient_address=f"{local_part}@e.test",
        subject=name,
        text="Hello",
        html="<p>Hello</p>",
        message_id=message_id("k1", "q.example.org"),
        sender_name=sender_name,
    )
    raw = email_message(message, sender=SENDER, date=NOW).as_bytes()
    head = raw.split(b"\r\n\r\n", 1)[0].decode()
    assert head.isascii() == local_part.isascii()
    assert all(len(line) <= 78 for line in head.split("\r\n") if not line.startswith(" <"))
    # Read by the older parser: the newer one of CPython 3.11 misreads folded names.
    mail = message_from_string(raw.decode())
    assert mail.keys() == [*HEADERS, "Content-Type"]
    subject = mail["Subject"].replace("\r\n", "")
    assert str(make_header(decode_header(subject))) == message.subject
    newer = message_from_string(raw.decode(), _class=EmailMessage, policy=policy.SMTP)
    assert newer["Subject"] == message.subject
    for header, wanted_name, wanted in (
        ("To", message.recipient_name, message.recipient_address),
        ("From", message.sender_name, SENDER.addr_spec),
    ):
        value = mail[header].replace("\r\n", "")
        assert one_address(value) == wanted
        ((read_name, read),) = getaddresses([value])
        assert read == wanted
        assert str(make_header(decode_header(read_name))) == wanted_name
        if "=?" not in wanted:  # which it would decode, and `clean_address` lets none pass
            assert [one.addr_spec for one in newer[header].addresses] == [wanted]


def test_bodies_are_seven_bit_so_that_every_server_takes_them() -> None:
    message = Message(
        communication_key="k1",
        recipient_name="",
        recipient_address="ann@e.test",
        subject="s",
        text="Grüße\n" + "ü" * 2000,
        html="<p>Grüße 📊</p>",
        message_id=message_id("k1", "q.example.org"),
    )
    raw = email_message(message, sender=SENDER, date=NOW).as_bytes()
    assert raw.isascii()
    assert max(map(len, raw.split(b"\r\n"))) <= 998


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
