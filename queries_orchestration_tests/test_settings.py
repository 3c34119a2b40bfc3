"""Every setting: its default, what is refused, and that the page tells the same."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from sqlalchemy import make_url

from queries_orchestration.communications.mailbox import Mailbox
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.receives.backends import open_backends
from queries_orchestration.settings import Settings, load_settings
from queries_orchestration.settings_checks import LONGEST_SECONDS

PAGE = Path(__file__).parents[1] / "docs" / "settings.md"
VARIABLES = [item.metadata["variable"] for item in fields(Settings)]
DURATIONS = [item.metadata["variable"] for item in fields(Settings) if item.type == "float"]
KEYS = {"QUERIES_LINK_KEYS": f"a:{'k' * 40}"}
PASSWORD = "tr0ub4dor"


def refusal(environment: dict[str, str]) -> str:
    with pytest.raises(InvalidSettings) as refused:
        load_settings(environment)
    assert refused.value.code == "invalid_settings"
    return refused.value.message


def test_the_page_has_exactly_the_settings_with_their_defaults_and_meanings() -> None:
    rows = re.findall(r"^\| `(QUERIES_\w+)` \| (.*?) \| (.+) \|$", PAGE.read_text(), re.MULTILINE)

    assert [variable for variable, _, _ in rows] == VARIABLES
    for (variable, default, meaning), item in zip(rows, fields(Settings), strict=True):
        assert meaning == item.metadata["meaning"], variable
        shown = default.strip("` ")
        if not shown:
            assert item.default == "", variable
            continue
        # What the page shows is what a person may type, and it then is the default.
        settings = load_settings({variable: shown})
        assert getattr(settings, item.name) == getattr(load_settings({}), item.name), variable


def test_no_variable_is_named_twice() -> None:
    assert len(set(VARIABLES)) == len(VARIABLES)


def test_without_any_variable_everything_lies_in_the_home_below_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    settings = load_settings({})

    home = tmp_path / ".queries"
    assert settings == Settings(
        home=home,
        database_url=f"sqlite:///{home}/queries.db",
        storage_url=f"file://{home}/files",
        communications_url=f"mailbox://{home}/mailbox",
        smtp_password="",
        send_timeout=60,
        sns_topics="",
        webhook_keys="",
        public_url="http://localhost:8080",
        link_keys="",
        from_address="Queries <queries@localhost>",
        link_requests_per_address=1_200,
        link_requests_per_token=60,
        failed_sign_ins_per_address=60,
        dagster_url="",
        dagster_ui_runs=True,
        demo=False,
        offer_lease=300,
        heartbeat_interval=20,
        heartbeat_silence=120,
        retry_delay=60,
        delivery_deadline=900,
        render_deadline=900,
        render_wait=720,
        report_rows=20_000,
        report_section_rows=500,
        report_document_rows=3_000,
        report_document_cells=25_000,
        export_deadline=21_600,
        exports_per_person=5,
        exports_per_workspace=50,
        dispatch_budget=40,
        part_bytes=8_388_608,
        upload_age=86_400,
        history_days=400,
        audit_days=400,
        run_days=30,
    )
    assert settings.link_keys_file == home / "link-keys"


def test_a_variable_that_is_empty_or_blank_counts_as_not_set() -> None:
    blank = dict.fromkeys(VARIABLES, "") | {"QUERIES_DEMO": " ", "QUERIES_UNHEARD_OF": ""}

    assert load_settings(blank) == load_settings({})


def test_every_variable_reaches_its_setting(tmp_path: Path) -> None:
    given_values: dict[str, object] = {
        "home": tmp_path,
        "database_url": f"postgresql+psycopg2://ann:{PASSWORD}@db.example.org:5433/queries",
        "migration_url": f"postgresql+psycopg2://owner:{PASSWORD}@db.example.org:5433/queries",
        "storage_url": "file:///elsewhere",
        "communications_url": "mailbox:///letters",
        "smtp_password": PASSWORD,
        "send_timeout": 30.0,
        "sns_topics": "arn:aws:sns:eu-central-1:123456789012:mail",
        "webhook_keys": f"a:{'w' * 40}",
        "public_url": "https://queries.example.org:8443/root",
        "link_keys": f"a:{'k' * 40}",
        "from_address": "reports@example.org",
        "token_keys_url": "https://login.example.org/keys",
        "token_issuer": "https://login.example.org",
        "token_audience": "our-queries",
        "token_workspace_claim": "tenant",
        "token_person_claim": "preferred_username",
        "link_requests_per_address": 7,
        "link_requests_per_token": 8,
        "failed_sign_ins_per_address": 9,
        "dagster_url": "http://dagster.example.org:3000/prefix",
        "dagster_ui_runs": False,
        "demo": True,
        "offer_lease": 1.5,
        "heartbeat_interval": 2.0,
        "heartbeat_silence": 3.0,
        "retry_delay": 4.0,
        "delivery_deadline": 5.0,
        "render_deadline": 7.0,
        "render_wait": 4.5,
        "report_rows": 10,
        "report_section_rows": 1,
        "report_document_rows": 1_000_000,
        "report_document_cells": 20,
        "export_deadline": 6.0,
        "exports_per_person": 1,
        "exports_per_workspace": 1_000_000,
        "dispatch_budget": float(LONGEST_SECONDS),
        "metrics_token": "t" * 16,
        "log_format": "json",
        "part_bytes": 5 * 1024 * 1024,
        "upload_age": 3_600.5,
        "history_days": 366,
        "audit_days": 36_500,
        "run_days": 1,
    }
    environment = {
        item.metadata["variable"]: f" {_as_typed(given_values[item.name])} "
        for item in fields(Settings)
    }

    settings = load_settings(environment | {"DAGSTER_HOME": "/dagster", "SHOP_URL": "anything"})

    assert {item.name: getattr(settings, item.name) for item in fields(Settings)} == given_values


def _as_typed(value: object) -> object:
    return int(value) if isinstance(value, bool) else value


@pytest.mark.parametrize("name", ["a b", "100%20", "50%", "what?", "a#b", "grün", "a+b", "a&b=c"])
def test_a_home_of_any_name_holds_its_own_parts(tmp_path: Path, name: str) -> None:
    home = tmp_path / name

    settings = load_settings({"QUERIES_HOME": str(home), **KEYS})

    assert make_url(settings.database_url).database == str(home / "queries.db")
    backends = open_backends(settings, {}, system_clock)
    assert backends.storage.location("a/b.csv") == str(home / "files/a/b.csv")
    assert isinstance(backends.communications, Mailbox)
    assert backends.communications.folder == home / "mailbox"


@pytest.mark.parametrize("variable", DURATIONS)
@pytest.mark.parametrize("text", ["0", "-1", "nan", "inf", "-inf", "1e300", "604800.5"])
def test_a_duration_is_above_zero_and_at_most_a_week(variable: str, text: str) -> None:
    message = refusal({variable: text})

    assert message == f"{variable} must be greater than 0 and at most 604800 seconds."


@pytest.mark.parametrize("variable", DURATIONS)
@pytest.mark.parametrize("text", ["soon", "1,5", "5s", "0x10", "1 000"])
def test_a_duration_is_a_number(variable: str, text: str) -> None:
    assert refusal({variable: text}) == f"{variable} must be a number."


@pytest.mark.parametrize("text", ["8.5e6", "8 MiB", "8388608.0", "many"])
def test_a_size_is_a_whole_number(text: str) -> None:
    assert refusal({"QUERIES_PART_BYTES": text}) == "QUERIES_PART_BYTES must be a whole number."


def test_parts_are_as_large_as_object_stores_want_them_and_tests_may_make_smaller_ones() -> None:
    for text in ("5242879", "8", "0", "-8388608"):
        assert refusal({"QUERIES_PART_BYTES": text}) == (
            "QUERIES_PART_BYTES must be at least 5242880."
        )
    assert load_settings({"QUERIES_PART_BYTES": "5242880"}).part_bytes == 5_242_880
    assert replace(load_settings({}), part_bytes=16).part_bytes == 16


@pytest.mark.parametrize("variable", ["QUERIES_DEMO", "QUERIES_DAGSTER_UI_RUNS"])
@pytest.mark.parametrize("text", ["true", "yes", "2", "01"])
def test_a_switch_is_nought_or_one(variable: str, text: str) -> None:
    assert refusal({variable: text}) == f"{variable} must be 0 or 1."


@pytest.mark.parametrize("on", [False, True])
def test_a_switch_can_be_set_both_ways(on: bool) -> None:
    text = "1" if on else "0"
    settings = load_settings({"QUERIES_DEMO": text, "QUERIES_DAGSTER_UI_RUNS": text})
    assert (settings.demo, settings.dagster_ui_runs) == (on, on)


def test_a_token_for_metrics_that_can_be_guessed_is_refused_and_not_shown() -> None:
    said = refusal({"QUERIES_METRICS_TOKEN": "short-token-15c"})
    assert said.startswith("QUERIES_METRICS_TOKEN must have 16 characters at least")
    assert "short-token" not in said


def test_a_form_of_the_log_that_there_is_not_is_refused() -> None:
    said = refusal({"QUERIES_LOG_FORMAT": "xml"})
    assert said == "QUERIES_LOG_FORMAT must be one of text, json."


@pytest.mark.parametrize("silence", ["20", "19.9"])
def test_the_silence_is_longer_than_the_interval(silence: str) -> None:
    assert refusal({"QUERIES_HEARTBEAT_SILENCE": silence}) == (
        "QUERIES_HEARTBEAT_SILENCE must be longer than QUERIES_HEARTBEAT_INTERVAL."
    )


@pytest.mark.parametrize("wait", ["900", "901"])
def test_a_delivery_that_waited_for_its_report_has_time_to_send_it(wait: str) -> None:
    assert refusal({"QUERIES_RENDER_WAIT": wait}) == (
        "QUERIES_RENDER_WAIT must be shorter than QUERIES_DELIVERY_DEADLINE: a delivery that"
        " waited for its report must have time to send it."
    )


@pytest.mark.parametrize(
    "variable",
    [
        "QUERIES_REPORT_ROWS",
        "QUERIES_REPORT_SECTION_ROWS",
        "QUERIES_REPORT_DOCUMENT_ROWS",
        "QUERIES_EXPORTS_PER_PERSON",
        "QUERIES_EXPORTS_PER_WORKSPACE",
    ],
)
@pytest.mark.parametrize("text", ["0", "-1", "1000001"])
def test_a_report_has_a_row_and_not_too_many(variable: str, text: str) -> None:
    assert refusal({variable: text}) == f"{variable} must be from 1 to 1000000."


@pytest.mark.parametrize(
    "url",
    [
        f"ann:{PASSWORD}@db/queries",
        f"postgresql+psycopg2://ann:{PASSWORD}@db:port/queries",
        f"postgresql://ann:{PASSWORD}@db/queries",
        f"postgresql+asyncpg://ann:{PASSWORD}@db/queries",
        f"mysql://ann:{PASSWORD}@db/queries",
        f"sqlite://{PASSWORD}/queries.db",
        f"sqlite:///{PASSWORD}.db",
        f"sqlite+aiosqlite:////{PASSWORD}.db",
        "sqlite:///:memory:",
        "sqlite:///",
        "sqlite://",
    ],
)
def test_a_database_that_cannot_be_used_is_refused_without_showing_its_url(url: str) -> None:
    message = refusal({"QUERIES_DATABASE_URL": url})

    assert message.startswith("QUERIES_DATABASE_URL ")
    assert "sqlite:////folder/queries.db" in message
    assert PASSWORD not in message


@pytest.mark.parametrize(
    ("url", "database_url"),
    [
        ("owner", f"postgresql+psycopg2://ann:{PASSWORD}@db/queries"),
        (f"postgresql+psycopg2://own:{PASSWORD}@db:port/queries", "sqlite:////queries.db"),
        (
            f"postgresql+psycopg2://own:{PASSWORD}@db/others",
            f"postgresql+psycopg2://ann:{PASSWORD}@db/queries?roles=queries",
        ),
        ("sqlite:////queries.db", "sqlite:////queries.db"),
    ],
)
def test_the_owner_is_of_the_same_postgresql_database(url: str, database_url: str) -> None:
    given = {"QUERIES_DATABASE_URL": database_url, "QUERIES_MIGRATION_URL": url}
    message = refusal(given)

    assert message.startswith("QUERIES_MIGRATION_URL is for PostgreSQL, and must name the same")
    assert PASSWORD not in message


@pytest.mark.parametrize(
    ("variable", "said"),
    [
        ("QUERIES_PUBLIC_URL", "cannot lead recipients to links"),
        ("QUERIES_DAGSTER_URL", "cannot lead to Dagster"),
    ],
)
@pytest.mark.parametrize(
    "url",
    [
        "queries.example.org",
        "ftp://queries.example.org",
        "https://",
        "https:///path",
        "https://[::1",
        "https://queries.example.org:99999",
        "https://queries.example.org:0",
        "https://queries.example.org/?a=1",
        "https://queries.example.org/#top",
        f"https://ann:{PASSWORD}@queries.example.org",
    ],
)
def test_a_web_address_that_leads_nowhere_is_refused(variable: str, said: str, url: str) -> None:
    message = refusal({variable: url})

    assert message.startswith(f"{variable} {said}. Write it as https://host")
    assert PASSWORD not in message


@pytest.mark.parametrize("url", ["https://q.example.org/", "http://10.0.0.1:81", "https://[::1]:8"])
def test_a_web_address_may_have_a_port_and_a_path(url: str) -> None:
    settings = load_settings({"QUERIES_PUBLIC_URL": url, "QUERIES_DAGSTER_URL": url})
    assert (settings.public_url, settings.dagster_url) == (url, url)


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("QUERIES_STORAGE_URL", "files"),
        ("QUERIES_STORAGE_URL", "ftp://files"),
        ("QUERIES_COMMUNICATIONS_URL", "pigeon://roof"),
        ("QUERIES_FROM_ADDRESS", "nobody"),
        ("QUERIES_LINK_KEYS", "short:secret"),
    ],
)
def test_what_the_backends_read_is_refused_where_they_are_opened(
    variable: str, text: str, tmp_path: Path
) -> None:
    settings = load_settings({"QUERIES_HOME": str(tmp_path), **KEYS, variable: text})

    with pytest.raises(InvalidSettings, match=rf"^{variable}"):
        open_backends(settings, {}, system_clock)


@pytest.mark.parametrize(
    ("typo", "meant"),
    [
        ("QUERIES_DATABSE_URL", "QUERIES_DATABASE_URL"),
        ("QUERIES_DB_URL", "QUERIES_DATABASE_URL"),
        ("QUERIES_HOMES", "QUERIES_HOME"),
        ("QUERIES_LINK_KEY", "QUERIES_LINK_KEYS"),
        ("QUERIES_PUBLIC_URI", "QUERIES_PUBLIC_URL"),
        ("QUERIES_RETRYDELAY", "QUERIES_RETRY_DELAY"),
        ("QUERIES_home", "QUERIES_HOME"),
    ],
)
def test_a_typo_is_refused_with_the_setting_that_was_meant(typo: str, meant: str) -> None:
    message = refusal({typo: PASSWORD})

    assert message == f"{typo} is not a setting. Did you mean {meant}?"


def test_a_variable_like_no_setting_is_refused_with_the_page_that_lists_them() -> None:
    assert refusal({"QUERIES_QXZ": "1"}) == (
        "QUERIES_QXZ is not a setting. docs/settings.md lists all."
    )


@given(name=st.from_regex(r"QUERIES_[A-Z_]{1,30}", fullmatch=True))
def test_nothing_that_begins_like_a_setting_passes_unless_it_is_one(name: str) -> None:
    if name not in VARIABLES:
        assert name in refusal({name: "1"})


def test_other_variables_are_nobodys_business() -> None:
    assert load_settings({"MY_QUERIES_HOME": "x", "QUERIESX": "y"}) == load_settings({})
