"""What keeps us from a source's database is told with its connection, and nothing of its URL."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import URL, make_url
from sqlalchemy.exc import OperationalError

from queries_orchestration.exports.connect_errors import connect_error
from queries_orchestration.model.errors import InvalidSettings, SourceBroken, SourceUnavailable
from queries_orchestration_tests.exports.query_files import csv_of
from queries_orchestration_tests.exports.weak_roles import weak_role
from queries_orchestration_tests.model.definitions import (
    POSTGRESQL,
    a_dataset,
    compiled,
    sqlite_url,
)
from queries_orchestration_tests.reports.opened import open_sections, reader_of, table

NAMED = "The connection 'shop', whose URL is in SHOP_URL, cannot be reached: "
FAULTS: list[tuple[Callable[[URL], URL], str]] = [
    (lambda url: url.set(password="hush"), "its server refuses the user or the password"),
    (lambda url: url.set(password=""), "its server asks for a password, and the URL has none"),
    (lambda url: url.set(username="hush"), "its server refuses the user or the password"),
    (lambda url: url.set(database="hush"), "its server has no such database"),
    (lambda url: url.set(host="hush.invalid"), "its host is unknown"),
    (lambda url: url.set(port=_unused_port()), "nothing listens at its host and port"),
    (lambda url: url.set(host=None, query={"host": "/hush"}), "its server has no socket there"),
    (lambda url: url.set(query={"sslmode": "require"}), "it and its server do not agree about SSL"),
    (lambda url: url.set(query={"sslmode": "hush"}), "an option of its URL is none or has no such"),
    (lambda url: url.set(query={"hush": "1"}), "an option of its URL is none or has no such"),
]


def _message(url: str | URL, error: type[Exception] = SourceUnavailable) -> str:
    """What a person is told whose file, or report, is to be made of this source; both the same."""
    text = url if isinstance(url, str) else url.render_as_string(hide_password=False)
    told: list[str] = []
    with pytest.raises(error) as caught:
        csv_of(text, compiled(a_dataset({"id": "integer"}), "id"))
    told.append(str(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    reader = reader_of(open_sections(text, table(title="One")))
    with reader.reading(), pytest.raises(error) as caught:
        list(reader.sections())
    assert [str(caught.value)] == told
    return told[0]


@pytest.mark.parametrize(("broken", "because"), FAULTS)
@POSTGRESQL
def test_it_says_which_connection_and_what_is_wrong(
    source_url: str, broken: Callable[[URL], URL], because: str
) -> None:
    url = make_url(source_url)

    told = _message(broken(url))

    assert told.startswith(NAMED + because)
    for secret in ("hush", url.host, url.username, url.database, url.password):
        assert str(secret) not in told


@pytest.mark.parametrize(
    ("attribute", "because"),
    [
        ("CONNECTION LIMIT 0", "its server has no connection left"),
        ("NOLOGIN", "its user may not log in"),
        ("PASSWORD 'changed'", "its server refuses the user or the password"),
    ],
)
@POSTGRESQL
def test_so_it_does_of_what_the_user_may_not(source_url: str, attribute: str, because: str) -> None:
    with weak_role(source_url, attribute) as url:
        assert _message(url).startswith(NAMED + because)


def test_a_server_of_another_language_is_told_in_general_words() -> None:
    said = 'connection to server at "db.acme" failed: FATAL:  Passwort-Anmeldung für »ann« misslang'
    error = OperationalError("", None, Exception(said))

    told = connect_error(error, "The connection 'shop',", make_url("postgresql://db.acme")).message

    assert told == (
        "The connection 'shop', cannot be reached: its server cannot be talked to (Exception)."
        " See whether it runs, and check host, port, database, user and password of the URL."
    )


@pytest.mark.parametrize(
    ("said", "because"),
    [
        ("timeout expired", "its server does not answer in time"),
        ("FATAL:  the database system is starting up", "its server is starting or stopping"),
        ("FATAL:  sorry, too many clients already", "its server has no connection left"),
        (
            "FATAL:  remaining connection slots are reserved for roles with SUPERUSER",
            "its server has no connection left",
        ),
        ('FATAL:  no pg_hba.conf entry for host "10.0.0.7"', "its server lets nobody in from here"),
        ('FATAL:  role "ann" does not exist', "its server does not know the user"),
    ],
)
def test_what_a_server_seldom_says_is_told(said: str, because: str) -> None:
    error = OperationalError(
        "", None, Exception(f'connection to server at "db.acme" failed: {said}')
    )

    told = connect_error(error, "It", make_url("postgresql://db.acme")).message

    assert told.startswith(f"It cannot be reached: {because}")


def test_a_file_that_is_not_there_or_may_not_be_opened_is_told(tmp_path: Path) -> None:
    (tmp_path / "junk.db").write_text("no database " * 100)
    long = f"sqlite:///{tmp_path}/a b%20c/missing.db"

    for url in (sqlite_url(tmp_path), long):
        told = _message(url)
        assert told.startswith(
            NAMED + "its file does not exist, or we may not enter its folder. Correct"
        )
        assert str(tmp_path) not in told
    assert _message(f"sqlite:///{tmp_path}/junk.db", SourceBroken) == (
        "The connection 'shop', whose URL is in SHOP_URL, leads to a file that is no SQLite"
        " database. Correct its URL, here and for the workers."
    )
    assert f"{NAMED}its file is a folder. Correct" in _message(f"sqlite:///{tmp_path}")
    (tmp_path / "socket").mkdir()
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(str(tmp_path / "s"))
        told = _message(f"sqlite:///{tmp_path}/s")
    assert re.search(r"its file cannot be opened \(SQLITE_CANTOPEN\)", told)


def test_an_url_that_cannot_be_read_is_told_with_its_connection() -> None:
    for url in ("mysql://root:hush@host/d", "no url with hush"):
        told = _message(url, InvalidSettings)
        assert told.startswith("The connection 'shop', whose URL is in SHOP_URL, ")
        assert "hush" not in told


def _unused_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
