"""Secrets among the settings: in their variable, or in a file that another names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from queries_orchestration.settings import load_settings, secret_variables
from queries_orchestration_tests.test_settings import PAGE, PASSWORD, refusal

SECRETS = {
    "QUERIES_DATABASE_URL": f"postgresql+psycopg2://ann:{PASSWORD}@db.example.org/queries",
    "QUERIES_MIGRATION_URL": f"postgresql+psycopg2://own:{PASSWORD}@db.example.org/queries",
    "QUERIES_COMMUNICATIONS_URL": f"smtp://ann:{PASSWORD}@mail.example.org",
    "QUERIES_SMTP_PASSWORD": PASSWORD,
    "QUERIES_WEBHOOK_KEYS": f"a:{'w' * 40}",
    "QUERIES_LINK_KEYS": f"a:{'k' * 40}",
    "QUERIES_METRICS_TOKEN": "m" * 24,
}


def test_these_settings_are_secrets_and_the_page_says_so() -> None:
    assert secret_variables() == list(SECRETS)
    told = re.findall(r"`(QUERIES_\w+)_FILE`", PAGE.read_text())
    assert told == list(SECRETS)


@pytest.mark.parametrize("variable", SECRETS)
def test_a_secret_may_be_the_first_line_of_a_file(tmp_path: Path, variable: str) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRETS[variable]}\nmore\n")
    owned = {"QUERIES_DATABASE_URL": SECRETS["QUERIES_DATABASE_URL"]}
    others = owned if variable == "QUERIES_MIGRATION_URL" else {}
    assert load_settings({f"{variable}_FILE": str(file), **others}) == load_settings(
        {variable: SECRETS[variable], **others}
    )


@pytest.mark.parametrize("variable", SECRETS)
@pytest.mark.parametrize("content", [None, b"", b"\n", b"\xff"])
def test_a_file_without_a_secret_is_refused(
    tmp_path: Path, variable: str, content: bytes | None
) -> None:
    file = tmp_path / "secret"
    if content is not None:
        file.write_bytes(content)
    assert refusal({f"{variable}_FILE": str(file)}) == (
        f"{variable}_FILE names no file that can be read and begins with what it should hold."
    )


@pytest.mark.parametrize("variable", SECRETS)
def test_a_secret_is_given_in_one_place(tmp_path: Path, variable: str) -> None:
    message = refusal({variable: PASSWORD, f"{variable}_FILE": str(tmp_path)})
    assert message == f"{variable} and {variable}_FILE are both set: keep one."


def test_what_is_no_secret_is_in_no_file() -> None:
    assert "QUERIES_HOME_FILE is not a setting." in refusal({"QUERIES_HOME_FILE": "/x"})
