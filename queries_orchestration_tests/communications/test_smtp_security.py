"""TLS and login: nothing goes in the clear that must not, and no recipient is to blame."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from queries_orchestration.model.errors import CommunicationsUnavailable
from queries_orchestration_tests.communications.aiosmtpd_server import running_aiosmtpd
from queries_orchestration_tests.communications.certificates import Certificate, make_certificate
from queries_orchestration_tests.communications.smtp_server import (
    Fault,
    SmtpServer,
    Stage,
    running_smtp,
)
from queries_orchestration_tests.communications.test_smtp import MESSAGE, SECRET, opened

LOCAL = "127.0.0.1"


@pytest.fixture
def server() -> Iterator[SmtpServer]:
    with running_smtp() as running:
        yield running


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.mark.parametrize("from_start", [False, True])
def test_a_message_goes_encrypted_and_logged_in(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch, from_start: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    login = ("ann@e.test", SECRET)
    with running_smtp(tls=certificate.server, tls_from_start=from_start, login=login) as server:
        url = f"ann%40e.test:tr0ub4dor%20%26%203@localhost:{server.port}"
        url = f"smtps://{url}" if from_start else f"smtp://{url}?tls=starttls"
        communications = opened(url, seconds=5)
        communications.check(seconds=10)
        assert server.taken == []
        communications.submit(MESSAGE, seconds=10)
        communications.close()
    assert server.recipients() == ["ann@e.test"]


def test_login_also_goes_by_the_older_mechanism(server: SmtpServer) -> None:
    server.login, server.mechanisms = ("ann", SECRET), "CRAM-MD5 LOGIN"
    communications = opened(server.url("ann@"), password=SECRET)
    communications.submit(MESSAGE, seconds=10)
    communications.close()
    assert len(server.taken) == 1


@pytest.mark.parametrize("mechanism", ["PLAIN", "LOGIN"])
@pytest.mark.parametrize("code", ["500", "454"])
def test_a_server_that_repeats_the_login_is_not_quoted(
    server: SmtpServer, mechanism: str, code: str
) -> None:
    server.login, server.mechanisms = ("ann", SECRET), mechanism
    for said in (f"\0ann\0{SECRET}", SECRET, "ann"):
        login = base64.b64encode(said.encode()).decode()
        server.plan("AUTH", f'{code} 5.5.1 Command unrecognized: "AUTH {mechanism} {login}"')
        with pytest.raises(CommunicationsUnavailable, match=f"said {code} at AUTH") as told:
            opened(server.url("ann@"), password=SECRET).check(seconds=10)
        assert login not in told.value.message


def test_a_server_of_somebody_else_takes_an_encrypted_message(
    certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with running_aiosmtpd(tls=certificate.server, login=("ann", SECRET)) as server:
        port = server.url.rpartition(":")[2]
        url = f"smtp://ann@localhost:{port}?tls=starttls"
        communications = opened(url, password=SECRET, seconds=5)
        communications.submit(MESSAGE, seconds=10)
        communications.close()
        with pytest.raises(CommunicationsUnavailable, match=r"535.*check user and password"):
            opened(url, password="wrong", seconds=5).submit(MESSAGE, seconds=10)
    assert len(server.messages) == 1


@pytest.mark.parametrize(
    ("at", "fault", "said"),
    [
        ("AUTH", "535 5.7.8 no", "said 535 at AUTH: check user and password"),
        ("AUTH", "454 4.7.0 later", "it may take messages later"),
        ("AUTH", Fault.DROP, "at AUTH"),
        ("AUTH", Fault.SILENCE, "at AUTH"),
    ],
)
def test_a_login_that_fails_is_no_fault_of_a_recipient(
    server: SmtpServer, at: Stage, fault: Fault | str, said: str
) -> None:
    server.login = ("ann", SECRET)
    server.plan(at, fault)
    communications = opened(server.url("ann@"), password=SECRET)
    with pytest.raises(CommunicationsUnavailable) as failed:
        communications.submit(MESSAGE, seconds=10)
    assert said in failed.value.message
    assert SECRET not in failed.value.message


def test_a_server_without_a_login_that_we_know_is_told(server: SmtpServer) -> None:
    with pytest.raises(CommunicationsUnavailable, match="offers no AUTH"):
        opened(server.url("ann@"), password=SECRET).submit(MESSAGE, seconds=10)


@pytest.mark.parametrize(
    ("at", "fault", "said"),
    [
        ("STARTTLS", "454 4.7.0 TLS not available", "454 4.7.0 TLS not available"),
        ("STARTTLS", "502 5.5.1 no", "502 5.5.1 no"),
        ("STARTTLS", Fault.DROP, "STARTTLS"),
        ("STARTTLS", Fault.INJECT, "spoke before TLS began"),
        ("TLS", Fault.GARBAGE, "failed at TLS"),
        ("TLS", Fault.DROP, "failed at TLS"),
    ],
)
def test_where_tls_fails_nothing_is_sent_in_the_clear(
    certificate: Certificate,
    monkeypatch: pytest.MonkeyPatch,
    at: Stage,
    fault: Fault | str,
    said: str,
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    with running_smtp(tls=certificate.server) as server:
        server.plan(at, fault)
        communications = opened(f"smtp://localhost:{server.port}?tls=starttls")
        with pytest.raises(CommunicationsUnavailable, match=said):
            communications.submit(MESSAGE, seconds=10)
    assert not any(one.startswith(("MAIL", "AUTH")) for one in server.commands)


def test_a_server_that_offers_no_starttls_gets_nothing(server: SmtpServer) -> None:
    communications = opened(f"smtp://localhost:{server.port}?tls=starttls")
    with pytest.raises(CommunicationsUnavailable, match="offers no STARTTLS"):
        communications.submit(MESSAGE, seconds=10)
    assert server.commands == ["EHLO q.example.org"]


@pytest.mark.parametrize("host", [LOCAL, "other.test"])
def test_a_certificate_of_nobody_we_trust_or_of_another_host_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    strange = make_certificate(tmp_path, host=host)
    if host != LOCAL:  # trusted, but not of this host
        monkeypatch.setenv("SSL_CERT_FILE", str(strange.file))
    with running_smtp(tls=strange.server) as server:
        communications = opened(f"smtp://localhost:{server.port}?tls=starttls", seconds=5)
        with pytest.raises(CommunicationsUnavailable, match="cannot be trusted"):
            communications.submit(MESSAGE, seconds=10)
    assert server.taken == []
