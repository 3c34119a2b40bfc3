"""The words of a mail server, whatever it says, name nobody and stay one short line."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.model.server_words import WORDS_LIMIT, clean_server_words


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("550 5.1.1 <ann@e.test>: no such user", "550 5.1.1 <(address)>: no such user"),
        ("550 ann@e.test,bob@e.test unknown", "550 (address),(address) unknown"),
        ("550 jörg@bücher.example", "550 (address)"),
        ('550 "ann b"@e.test unknown', "550 (address) unknown"),
        ("550 'o'neil@e.test'", "550 (address)'"),
        ("550 a\r\nb\tc\x00d\u2028e\u202ef", "550 a b c d e f"),
        ("550 see https://help.test/a?b=c", "550 see https://help.test/a?b=c"),
        ("550 blocked https://q.test/d/" + "x" * 300 + " sorry", "550 blocked … sorry"),
        ("", ""),
    ],
)
def test_words_are_kept_without_addresses_and_tokens(said: str, kept: str) -> None:
    assert clean_server_words(said) == kept


@given(st.text(max_size=1000))
def test_whatever_is_said_is_one_short_line(said: str) -> None:
    words = clean_server_words(said)
    assert len(words) <= WORDS_LIMIT
    assert words.isprintable()
    assert max(map(len, words.split()), default=0) <= 80


@given(
    local=st.from_regex(r"[a-z0-9.!#$%&*+/=?^_`|~-]{1,30}", fullmatch=True),
    around=st.sampled_from(["{}", "<{}>", "({})", "to={};", "'{}'", "user {} unknown"]),
)
def test_no_address_is_kept(local: str, around: str) -> None:
    assert f"{local}@" not in clean_server_words(around.format(f"{local}@e.test"))
