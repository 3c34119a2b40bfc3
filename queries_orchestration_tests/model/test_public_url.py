"""A public URL that works in links works in headers, and every Message-ID has a domain."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from queries_orchestration.communications.interface import is_message_id, message_id
from queries_orchestration.model.public_url import clean_web_url, message_domain


@pytest.mark.parametrize(
    ("url", "clean", "domain"),
    [
        ("http://localhost:8080", "http://localhost:8080", "localhost"),
        ("https://q.example.org:443/x", "https://q.example.org/x", "q.example.org"),
        ("http://q.example.org:80", "http://q.example.org", "q.example.org"),
        ("http://[::1]:80", "http://[::1]", "sender.example"),
        ("http://q.example.org:443", "http://q.example.org:443", "q.example.org"),
        ("https://Q.example.org/root", "https://q.example.org/root", "q.example.org"),
        ("https://q.example.org./x", "https://q.example.org./x", "q.example.org"),
        ("https://bücher.example", "https://xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("http://queries_web:8080", "http://queries_web:8080", "sender.example"),
        ("http://[::1]:8080", "http://[::1]:8080", "sender.example"),
        ("http://192.0.2.1", "http://192.0.2.1", "192.0.2.1"),
        ("https://q.example.org/a b/ü>", "https://q.example.org/a%20b/%C3%BC%3E", "q.example.org"),
        ("https://q.example.org/a%20b", "https://q.example.org/a%20b", "q.example.org"),
        (f"https://{'a.' * 80}example", f"https://{'a.' * 80}example", "sender.example"),
    ],
)
def test_a_root_is_plain_ascii_and_message_ids_have_a_domain(
    url: str, clean: str, domain: str
) -> None:
    assert clean_web_url(url) == clean
    assert clean_web_url(clean) == clean
    assert message_domain(clean, "sender.example") == domain


@pytest.mark.parametrize(
    "url",
    [
        "",
        "q.example.org",
        "ftp://q.example.org",
        "https://",
        "https://q..example.org",
        "https://-q.example.org",
        "https://q .example.org",
        "https://q%2e.example.org",
        "https://[fe80::1%25eth0]",
        "https://[::g]",
        "https://q.example.org:0",
        "https://q.example.org:x",
        "https://ann@q.example.org",
        "https://q.example.org/?a=b",
        "https://q.example.org/#a",
        "https://" + "ü" * 70 + ".example",
        "https://" + "a." * 130 + "example",
    ],
)
def test_where_no_link_could_lead_is_refused(url: str) -> None:
    assert clean_web_url(url) is None


@given(st.text(max_size=40), st.text(max_size=20), st.text(max_size=40))
def test_whatever_is_taken_fits_headers_and_message_ids(host: str, path: str, sender: str) -> None:
    url = clean_web_url(f"https://{host}/{path}")
    if url is not None:
        assert url.isascii()
        assert url.isprintable()
        assert not set(url) & set(' <>"')
        assert is_message_id(message_id("key", message_domain(url, sender)))
