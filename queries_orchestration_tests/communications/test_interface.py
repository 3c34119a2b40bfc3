"""Header text, communication keys and Message-IDs."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.communications.interface import (
    Message,
    clean_header_text,
    message_id,
)

MESSAGE = Message(
    communication_key="s1@20260504T050000Z.p1",
    recipient_name="Ann",
    recipient_address="ann@e.test",
    subject="Daily sales",
    text="https://q.example.org/d/secret-token",
    html="<a href='https://q.example.org/d/secret-token'>Download</a>",
    message_id="<1@q.example.org>",
)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Daily sales", "Daily sales"),
        ("", ""),
        ("  Q1 \t 2027  ", "Q1 2027"),
        ("Q1\r\nBcc: x@e.test", "Q1 Bcc: x@e.test"),
        ("Q1\nline", "Q1 line"),
        ("a\x00b\x07c\x85d\u2028e\u2029f", "a b c d e f"),
        ("invoice\u202egpj.exe", "invoicegpj.exe"),
        ("\u2066x\u2069", "x"),
        ("a\ud800b", "a\ufffdb"),
        ("=?utf-8?q?x?=", "= ?utf-8?q?x?="),
        ("Umsätze 📊 👩‍👩‍👧", "Umsätze 📊 👩‍👩‍👧"),
        ("<a href=x>{{7*7}}</a>", "<a href=x>{{7*7}}</a>"),
        ("x" * 200, "x" * 200),
        ("x" * 900, "x" * 199 + "…"),
        ("x " * 450, "x " * 99 + "x…"),
    ],
)
def test_header_text_is_one_bounded_line(text: str, cleaned: str) -> None:
    assert clean_header_text(text) == cleaned


@given(st.text(st.characters(), max_size=300), st.integers(1, 250))
def test_clean_text_is_safe_bounded_and_stays_as_it_is(text: str, limit: int) -> None:
    cleaned = clean_header_text(text, limit=limit)
    assert len(cleaned) <= limit
    assert len(cleaned.splitlines()) <= 1
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]|=\?|  |^ | $", cleaned)
    assert clean_header_text(cleaned, limit=limit) == cleaned
    cleaned.encode()


def test_a_message_cleans_what_goes_into_its_headers() -> None:
    message = replace(MESSAGE, recipient_name="Ann\r\nBcc: x@e.test", subject="Q1\nline")
    assert (message.recipient_name, message.subject) == ("Ann Bcc: x@e.test", "Q1 line")


def test_a_message_shows_neither_its_recipient_nor_its_link() -> None:
    shown = repr(MESSAGE)
    assert "s1@20260504T050000Z.p1" in shown
    assert "ann@e.test" not in shown
    assert "secret-token" not in shown


@pytest.mark.parametrize(
    "key", ["", ".", "..", ".hidden", "a/b", "../a", "a\\b", "a b", "a\n", "a:b", "é", "a" * 201]
)
def test_a_communication_key_that_is_no_plain_file_name_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="communication key"):
        replace(MESSAGE, communication_key=key)


@pytest.mark.parametrize("bad", ["", "1@e.test", "<1>", "<1@e.test>\r\nBcc: x@e.test", "<1@e.test"])
def test_a_message_id_of_another_shape_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="Message-ID"):
        replace(MESSAGE, message_id=bad)


def test_a_key_has_one_message_id_and_other_keys_have_others() -> None:
    key = "s1@20260504T050000Z.p1"
    assert message_id(key, "e.test") == "<08eed827f4a443072c1da1c9964bccb7@e.test>"
    others = {message_id(f"s1@20260504T050000Z.p{n}", "e.test") for n in range(1, 100)}
    assert len(others) == 99
    assert replace(MESSAGE, message_id=message_id(key, "e.test")).message_id in others
