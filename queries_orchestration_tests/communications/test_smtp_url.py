"""Which mail server a URL names; no refusal shows it."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from queries_orchestration.communications.smtp_url import SmtpPlace, read_smtp_url
from queries_orchestration.model.errors import InvalidSettings

SECRET = "tr0ub4dor"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("smtp://mail.test", SmtpPlace(host="mail.test", port=587, security="starttls")),
        ("smtp://mail.test:25/", SmtpPlace(host="mail.test", port=25, security="starttls")),
        ("smtp://mail.test?tls=none", SmtpPlace(host="mail.test", port=587, security="none")),
        ("smtps://mail.test", SmtpPlace(host="mail.test", port=465, security="tls")),
        ("smtp://localhost:1025", SmtpPlace(host="localhost", port=1025, security="none")),
        ("smtp://127.0.0.9:25", SmtpPlace(host="127.0.0.9", port=25, security="none")),
        ("smtp://[::1]:25", SmtpPlace(host="::1", port=25, security="none")),
        ("smtp://10.0.0.1:25", SmtpPlace(host="10.0.0.1", port=25, security="starttls")),
        (
            "smtp://localhost:25?tls=starttls",
            SmtpPlace(host="localhost", port=25, security="starttls"),
        ),
        (
            "smtps://a%40e.test:p%3A%2F%40@mail.test",
            SmtpPlace(host="mail.test", port=465, security="tls", user="a@e.test", password="p:/@"),
        ),
    ],
)
def test_a_url_names_a_server(url: str, place: SmtpPlace) -> None:
    assert read_smtp_url(urlsplit(url)) == place
    assert "p:/@" not in repr(place)


def test_the_password_may_be_a_setting_of_its_own() -> None:
    place = read_smtp_url(urlsplit("smtp://ann@mail.test"), password=SECRET)
    assert (place.user, place.password) == ("ann", SECRET)


@pytest.mark.parametrize(
    "url",
    [
        "smtp://",
        f"smtp:///{SECRET}",
        f"smtp://mail.test/{SECRET}",
        f"smtp://mail.test#{SECRET}",
        f"smtp://mail.test?tls={SECRET}",
        "smtp://mail.test?tls=none&tls=none",
        "smtps://mail.test?tls=none",
        "smtp://mail.test:0",
        "smtp://mail.test:99999",
        f"smtp://ann:{SECRET}/x@mail.test",
        "smtp://ann@mail.test",
        f"smtp://:{SECRET}@mail.test",
        "smtp://-mail.test",
        "smtp://mail..test",
        f"smtp://{'m' * 64}.mail.test",
        "smtp://mail test",
        f"smtp://ann:{SECRET}%00@mail.test",
    ],
)
def test_a_url_that_names_none_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(InvalidSettings, match=r"^QUERIES_COMMUNICATIONS_URL ") as refused:
        read_smtp_url(urlsplit(url))
    assert SECRET not in refused.value.message
    assert "mail.test" not in refused.value.message


def test_a_password_is_given_once() -> None:
    with pytest.raises(InvalidSettings, match="give it once"):
        read_smtp_url(urlsplit(f"smtp://ann:{SECRET}@mail.test"), password="other")
    with pytest.raises(InvalidSettings, match="user and a password, or neither"):
        read_smtp_url(urlsplit("smtp://mail.test"), password=SECRET)
