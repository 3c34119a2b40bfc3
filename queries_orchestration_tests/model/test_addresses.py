"""E-mail addresses. Cases E03 (one message per mailbox) and E06 (beyond ASCII)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.addresses import clean_address, mailbox_digest, mailbox_key
from queries_orchestration.model.errors import InvalidAddress


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ann@e.test", "ann@e.test"),
        ("Ann@E.test", "Ann@e.test"),
        (" ann@e.test \n", "ann@e.test"),
        ("first.last+tag@sub.e.test", "first.last+tag@sub.e.test"),
        ("o'brien@e.test", "o'brien@e.test"),
        ("a@localhost", "a@localhost"),
        ("user@bücher.example", "user@xn--bcher-kva.example"),
        ("user@BÜCHER.example", "user@xn--bcher-kva.example"),
        ("user@XN--BCHER-KVA.example", "user@xn--bcher-kva.example"),
        ("user@straße.example", "user@xn--strae-oqa.example"),
        ("user@e。test", "user@e.test"),
        ("jörg@example.test", "jörg@example.test"),
        ("jo\u0308rg@example.test", "jörg@example.test"),
        ("用户@例え.example", "用户@xn--r8jz45g.example"),
        ("a" * 64 + "@e.test", "a" * 64 + "@e.test"),
    ],
)
def test_one_address_gets_the_spelling_we_keep(text: str, address: str) -> None:
    assert clean_address(text) == address
    assert clean_address(address) == address


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "ann",
        "@",
        "ann@",
        "@e.test",
        '"Doe, Jane" <jane@e.test>',
        "Doe, Jane <jane@e.test>",
        "<jane@e.test>",
        "a@e.test;b@e.test",
        "a@e.test,b@e.test",
        "a@e.test, b@e.test",
        "a@e.test b@e.test",
        "a@b@e.test",
        '"a b"@e.test',
        "a b@e.test",
        "a\u00a0b@e.test",
        "a\u200bb@e.test",
        ".ann@e.test",
        "ann.@e.test",
        "a..b@e.test",
        "a(comment)@e.test",
        "ann@e.test\r\nBcc: x@e.test",
        "ann\r\n@e.test",
        "a\x00b@e.test",
        "ann@e..test",
        "ann@.e.test",
        "ann@e.test.",
        "ann@e_x.test",
        "ann@-e.test",
        "ann@xn--\u00fc.test",
        "ann@xn--99999999.test",
        "ann@[192.0.2.1]",
        "ann@" + "a" * 64 + ".test",
        "a" * 65 + "@e.test",
        "é" * 33 + "@e.test",
        "ann@" + "a." * 125 + "test",
        "ann@" + "ü." * 60 + "test",
        "a\ud800@e.test",
        "mailto:ann@e.test",
        "=?utf-8?q?a=0d=0aBcc=3a=20x=40evil.test?=@e.test",
        "ann=?bogus?q?x?=@e.test",
        "=?@e.test",
    ],
)
def test_what_is_not_one_address_is_refused_and_not_shown(text: str) -> None:
    with pytest.raises(InvalidAddress) as caught:
        clean_address(text)
    assert caught.value.code == "invalid_address"
    assert caught.value.message.startswith("not one e-mail address")
    assert not text.strip() or text == "@" or text not in caught.value.message


def test_case_and_spaces_make_no_second_mailbox() -> None:
    spellings = ["Ann@E.test", "ann@e.test", " ann@e.test ", "ANN@E.TEST"]
    assert {mailbox_key(spelling) for spelling in spellings} == {"ann@e.test"}


def test_both_spellings_of_a_domain_are_one_mailbox() -> None:
    assert mailbox_key("A@bücher.example") == mailbox_key("a@xn--bcher-kva.example")
    assert mailbox_key("JÖRG@e.test") == mailbox_key("jo\u0308rg@e.test")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\N{GREEK CAPITAL LETTER SIGMA}@e.test", "\N{GREEK SMALL LETTER FINAL SIGMA}@e.test"),
        ("\N{GREEK SMALL LETTER SIGMA}@e.test", "\N{GREEK SMALL LETTER FINAL SIGMA}@e.test"),
        ("STRA\N{LATIN CAPITAL LETTER SHARP S}E@e.test", "straße@e.test"),
        ("Ö@e.test", "ö@e.test"),
    ],
)
def test_no_difference_of_case_makes_a_second_mailbox(one: str, other: str) -> None:
    assert mailbox_key(one) == mailbox_key(other)


def test_a_digest_tells_a_mailbox_within_its_workspace_and_shows_no_address() -> None:
    digest = mailbox_digest("acme", "Ann@E.test")
    assert digest == mailbox_digest("acme", "ann@e.test")
    assert digest not in (mailbox_digest("blue", "ann@e.test"), mailbox_digest("acme", "a@e.test"))
    assert re.fullmatch("[0-9a-f]{64}", digest)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ann@e.test", "anne@e.test"),
        ("ann@e.test", "ann@sub.e.test"),
        ("a.nn@e.test", "ann@e.test"),
        ("ann+x@e.test", "ann@e.test"),
        ("strasse@e.test", "straße@e.test"),
        ("a@strasse.example", "a@straße.example"),
    ],
)
def test_other_mailboxes_stay_apart(one: str, other: str) -> None:
    assert mailbox_key(one) != mailbox_key(other)


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_one_settled_address_or_refused(local_part: str, domain: str) -> None:
    try:
        address = clean_address(f"{local_part}@{domain}")
    except InvalidAddress:
        return
    assert clean_address(address) == address
    assert address.count("@") == 1
    assert address.rpartition("@")[2].isascii()
    assert not any(character.isspace() or not character.isprintable() for character in address)
    assert mailbox_key(mailbox_key(address)) == mailbox_key(address)


@given(st.from_regex(r"[A-Za-zÀ-ž0-9._+-]{1,12}@[A-Za-zÀ-ž0-9.-]{1,12}", fullmatch=True))
def test_likely_addresses_are_settled_or_refused_too(text: str) -> None:
    try:
        address = clean_address(text)
    except InvalidAddress:
        return
    assert clean_address(address) == address
    if text.isascii():
        assert mailbox_key(text.upper()) == mailbox_key(address)
