"""Every setting, its environment variable and its default, in one typed place.

``docs/settings.md`` is this table for people; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from sqlalchemy import URL

from queries_orchestration.model.backfills import HISTORY
from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.model.public_url import clean_web_url
from queries_orchestration.settings_checks import check_count, check_days, check_seconds
from queries_orchestration.settings_secrets import FILE, read_secret
from queries_orchestration.settings_texts import read_value, refuse_unknown
from queries_orchestration.settings_urls import (
    check_database_url,
    check_migration_url,
    check_web_url,
)

DELIVERY_LANE: Final = "delivery"
EXPORT_LANE: Final = "export"
REPORT_LANE: Final = "report"

LANE_WIDTHS: Final[Mapping[str, int]] = {DELIVERY_LANE: 3, EXPORT_LANE: 2, REPORT_LANE: 1}
"""How much work of a lane is done at once."""

BACKFILL_LANE: Final = "backfill"
"""Of the runs that admit what is to be backfilled; what they admit is in the lane of deliveries."""

UPKEEP_LANE: Final = "upkeep"
"""Of the sweep and of retention."""

RUN_LIMITS: Final[Mapping[str, int]] = {**LANE_WIDTHS, BACKFILL_LANE: 1, UPKEEP_LANE: 2}
"""Runs at once that ``dagster.yaml`` allows each lane: the same numbers stand there."""

MAX_RECEIVES: Final = 3

MOST_ROWS: Final = 1_000_000
SHORTEST_TOKEN: Final = 16
LOG_FORMATS: Final = ("text", "json")
LEAST_HISTORY_DAYS: Final = HISTORY.days + 1
"""So that a backfill never takes a slot whose record has gone for a missing one."""
SMALLEST_PART_BYTES: Final = 5 * 1024 * 1024
"""What S3 wants of every part but the last."""


def _setting(variable: str, meaning: str, default: object) -> Any:
    return field(default=default, metadata={"variable": variable, "meaning": meaning})


def _secret(variable: str, meaning: str) -> Any:
    """Make a setting that may be in a file, too; ``settings_secrets`` reads it."""
    told = {"variable": variable, "meaning": meaning, "secret": True}
    return field(default="", metadata=told)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process. Durations are seconds."""

    home: Path = _setting(
        "QUERIES_HOME",
        "Folder of the embedded default: database, files, mailbox, link keys",
        Path(".queries"),
    )
    database_url: str = _secret(
        "QUERIES_DATABASE_URL",
        "Application database: `sqlite:////folder/queries.db` or"
        " `postgresql+psycopg2://user:password@host/database?roles=queries` (roles: see wall.md);"
        " empty: `queries.db` in `QUERIES_HOME`",
    )
    migration_url: str = _secret(
        "QUERIES_MIGRATION_URL",
        "The same PostgreSQL for `queries init`, as the user who owns the tables; empty: as"
        " `QUERIES_DATABASE_URL` does",
    )
    storage_url: str = _setting(
        "QUERIES_STORAGE_URL",
        "Where files go: `file:///folder` or `s3://bucket/prefix` (see storage.md);"
        " empty: `files` in `QUERIES_HOME`",
        "",
    )
    communications_url: str = _secret(
        "QUERIES_COMMUNICATIONS_URL",
        "How messages go: `mailbox:///folder`, `smtp://user:password@host:port`, `smtps://…` or"
        " `ses://region` (see messages.md); empty: `mailbox` in `QUERIES_HOME`",
    )
    smtp_password: str = _secret(
        "QUERIES_SMTP_PASSWORD",
        "Password of the mail server's user, where the URL holds none",
    )
    send_timeout: float = _setting(
        "QUERIES_SEND_TIMEOUT",
        "Seconds that a mail server may take for an answer; five times as many for the one to a"
        " whole message",
        60.0,
    )
    sns_topics: str = _setting(
        "QUERIES_SNS_TOPICS",
        "ARNs of the SNS topics that SES tells bounces, complaints and deliveries to, with commas"
        " between them",
        "",
    )
    webhook_keys: str = _secret(
        "QUERIES_WEBHOOK_KEYS",
        "Keys that sign what another provider tells of messages, `id:secret,…`",
    )
    public_url: str = _setting(
        "QUERIES_PUBLIC_URL",
        "Address under which recipients reach the links in their messages",
        "http://localhost:8080",
    )
    link_keys: str = _secret(
        "QUERIES_LINK_KEYS",
        "Keys that sign links, `id:secret,…`, the first signs;"
        " empty: the file `link-keys` in `QUERIES_HOME`, made by `queries init`",
    )
    from_address: str = _setting(
        "QUERIES_FROM_ADDRESS",
        "Sender of messages",
        "Queries <queries@localhost>",
    )
    token_keys_url: str = _setting(
        "QUERIES_TOKEN_KEYS_URL",
        "Where your identity provider publishes the keys (JWKS) that sign the tokens of callers;"
        " empty: only development tokens, and only with `QUERIES_DEMO`",
        "",
    )
    token_issuer: str = _setting(
        "QUERIES_TOKEN_ISSUER",
        "What the tokens of callers must name as their issuer",
        "",
    )
    token_audience: str = _setting(
        "QUERIES_TOKEN_AUDIENCE",
        "What the tokens of callers must name as their audience",
        "queries",
    )
    token_workspace_claim: str = _setting(
        "QUERIES_TOKEN_WORKSPACE_CLAIM",
        "Claim of a token that holds the name of the caller's workspace",
        "workspace",
    )
    token_person_claim: str = _setting(
        "QUERIES_TOKEN_PERSON_CLAIM",
        "Claim of a token that holds the caller's name in the catalog",
        "sub",
    )
    link_requests_per_address: int = _setting(
        "QUERIES_LINK_REQUESTS_PER_ADDRESS",
        "Requests of links that one network address may send in a minute",
        1_200,
    )
    link_requests_per_token: int = _setting(
        "QUERIES_LINK_REQUESTS_PER_TOKEN",
        "Requests that one link may get in a minute",
        60,
    )
    failed_sign_ins_per_address: int = _setting(
        "QUERIES_FAILED_SIGN_INS_PER_ADDRESS",
        "Requests without a valid token that one network address may send the API in a minute",
        60,
    )
    metrics_token: str = _secret(
        "QUERIES_METRICS_TOKEN",
        "Bearer token with which Prometheus reads `/metrics` of the server, of 16 characters at"
        " least; empty: there is no such address",
    )
    log_format: str = _setting(
        "QUERIES_LOG_FORMAT",
        "`text`, or `json`: one object a line, with the workspace, schedule, occurrence, export and"
        " run that it is about",
        "text",
    )
    dagster_url: str = _setting(
        "QUERIES_DAGSTER_URL",
        "Dagster's web server, asked to launch run-now and exports at once, and to which"
        " `queries history` leads; empty: the sensors find them within seconds",
        "",
    )
    dagster_ui_runs: bool = _setting(
        "QUERIES_DAGSTER_UI_RUNS",
        "`1` lets operators run a schedule for a person from Dagster's Launchpad",
        True,
    )
    demo: bool = _setting(
        "QUERIES_DEMO",
        "`1`: development mode. Allows `tick --at` a future instant, development tokens, and pages"
        " that show the whole mailbox; set by `make demo` and `make dev` only",
        False,
    )
    offer_lease: float = _setting(
        "QUERIES_OFFER_LEASE",
        "Seconds an offer waits for its run before it is offered again",
        300.0,
    )
    heartbeat_interval: float = _setting(
        "QUERIES_HEARTBEAT_INTERVAL",
        "Seconds between two heartbeats of a running receive",
        20.0,
    )
    heartbeat_silence: float = _setting(
        "QUERIES_HEARTBEAT_SILENCE",
        "Seconds of silence after which a worker counts as lost",
        120.0,
    )
    retry_delay: float = _setting(
        "QUERIES_RETRY_DELAY",
        "Seconds before the second receive; each further one waits four times as long",
        60.0,
    )
    delivery_deadline: float = _setting(
        "QUERIES_DELIVERY_DEADLINE",
        "Seconds one receive of a delivery may take",
        900.0,
    )
    render_deadline: float = _setting(
        "QUERIES_RENDER_DEADLINE",
        "Seconds one receive of a report's render may take",
        900.0,
    )
    render_wait: float = _setting(
        "QUERIES_RENDER_WAIT",
        "Seconds one receive of a delivery waits for its report;"
        " shorter than `QUERIES_DELIVERY_DEADLINE`",
        720.0,
    )
    report_rows: int = _setting(
        "QUERIES_REPORT_ROWS",
        "Rows that one section of a report reads at most; a section that is cut says so",
        20_000,
    )
    report_section_rows: int = _setting(
        "QUERIES_REPORT_SECTION_ROWS",
        "Rows of one table that are printed at most (PDF); a table that is cut says so",
        500,
    )
    report_document_rows: int = _setting(
        "QUERIES_REPORT_DOCUMENT_ROWS",
        "Rows of all tables of a report that are printed at most (PDF)",
        3_000,
    )
    report_document_cells: int = _setting(
        "QUERIES_REPORT_DOCUMENT_CELLS",
        "Cells of all tables of a report that are printed at most (PDF), each some 11 kB of memory",
        25_000,
    )
    export_deadline: float = _setting(
        "QUERIES_EXPORT_DEADLINE",
        "Seconds one receive of an interactive export may take",
        21_600.0,
    )
    exports_per_person: int = _setting(
        "QUERIES_EXPORTS_PER_PERSON",
        "Unfinished exports that one person may have asked for at once",
        5,
    )
    exports_per_workspace: int = _setting(
        "QUERIES_EXPORTS_PER_WORKSPACE",
        "Unfinished exports that the people of a workspace may have asked for at once",
        50,
    )
    dispatch_budget: float = _setting(
        "QUERIES_DISPATCH_BUDGET",
        "Seconds one dispatcher pass may admit; the rest is left to the next pass",
        40.0,
    )
    part_bytes: int = _setting(
        "QUERIES_PART_BYTES",
        "Size of an upload part in bytes, at least 5 MiB",
        8 * 1024 * 1024,
    )
    upload_age: float = _setting(
        "QUERIES_UPLOAD_AGE",
        "Seconds after which an upload that no export records is aborted by the sweep",
        86_400.0,
    )

    history_days: int = _setting(
        "QUERIES_HISTORY_DAYS",
        "Days that settled occurrences and exports are kept, at least 366; then a count by month"
        " stays",
        400,
    )
    audit_days: int = _setting(
        "QUERIES_AUDIT_DAYS", "Days that the audit trail is kept, at least 366", 400
    )
    run_days: int = _setting(
        "QUERIES_RUN_DAYS", "Days that Dagster's finished runs are kept, with their events", 30
    )

    @property
    def link_keys_file(self) -> Path:
        """File that ``queries init`` makes where ``QUERIES_LINK_KEYS`` is not set."""
        return self.home / "link-keys"

    def lane_offers(self, lane: str) -> int:
        """Return how many offers of ``lane`` may be live at once."""
        return 2 * LANE_WIDTHS[lane] + 10

    def backfill_places(self, lane: str) -> int:
        """Return how much work of backfills may be offered or run at once: a place stays free."""
        return max(1, LANE_WIDTHS[lane] - 1)

    def lane_deadline(self, lane: str) -> float:
        """Return the seconds that one receive of ``lane`` may take."""
        if lane == DELIVERY_LANE:
            return self.delivery_deadline
        return self.render_deadline if lane == REPORT_LANE else self.export_deadline

    def retry_after(self, receives: int) -> float:
        """Return the seconds to wait once ``receives`` receives have failed."""
        return float(self.retry_delay * 4 ** (receives - 1))


def secret_variables() -> list[str]:
    """Return the variables of the settings that may be in files."""
    return [item.metadata["variable"] for item in fields(Settings) if "secret" in item.metadata]


def load_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings from ``environment``; a variable that is empty counts as not set.

    Raises:
        InvalidSettings: a variable, or the file that one names, cannot be read, or an unknown
            ``QUERIES_…`` is not a setting (connection URLs of the catalog are named freely and
            may not begin so).
    """
    variables = [item.metadata["variable"] for item in fields(Settings)]
    refuse_unknown(environment, [*variables, *(one + FILE for one in secret_variables())])
    values: dict[str, Any] = {item.name: item.default for item in fields(Settings)}
    for item in fields(Settings):
        variable = item.metadata["variable"]
        is_secret = "secret" in item.metadata
        text = read_secret(variable, environment) if is_secret else environment.get(variable, "")
        if text := text.strip():
            values[item.name] = read_value(variable, text, item.default)
    home = values["home"] = values["home"].resolve()
    values["database_url"] = values["database_url"] or _sqlite_url(home / "queries.db")
    values["storage_url"] = values["storage_url"] or (home / "files").as_uri()
    values["communications_url"] = (
        values["communications_url"] or f"mailbox://{quote(str(home / 'mailbox'))}"
    )
    values["public_url"] = clean_web_url(values["public_url"]) or values["public_url"]
    settings = Settings(**values)
    _check(settings)
    return settings


def _sqlite_url(file: Path) -> str:
    # Made by SQLAlchemy, since a folder's name may hold characters that mean something in a URL.
    return URL.create("sqlite", database=str(file)).render_as_string()


def _check(settings: Settings) -> None:
    check_database_url(settings.database_url)
    if settings.migration_url:
        check_migration_url(settings.migration_url, settings.database_url)
    check_web_url("QUERIES_PUBLIC_URL", settings.public_url, "cannot lead recipients to links")
    if settings.token_keys_url:
        check_web_url("QUERIES_TOKEN_KEYS_URL", settings.token_keys_url, "names no keys")
    if settings.dagster_url:
        check_web_url("QUERIES_DAGSTER_URL", settings.dagster_url, "cannot lead to Dagster")
    if 0 < len(settings.metrics_token) < SHORTEST_TOKEN:
        raise InvalidSettings(
            f"QUERIES_METRICS_TOKEN must have {SHORTEST_TOKEN} characters at least:"
            " `openssl rand -hex 24` makes one."
        )
    if settings.log_format not in LOG_FORMATS:
        raise InvalidSettings(f"QUERIES_LOG_FORMAT must be one of {', '.join(LOG_FORMATS)}.")
    for item in fields(settings):
        value = getattr(settings, item.name)
        if isinstance(value, float):
            check_seconds(item.metadata["variable"], value)
    if settings.heartbeat_silence <= settings.heartbeat_interval:
        raise InvalidSettings(
            "QUERIES_HEARTBEAT_SILENCE must be longer than QUERIES_HEARTBEAT_INTERVAL."
        )
    if settings.render_wait >= settings.delivery_deadline:
        raise InvalidSettings(
            "QUERIES_RENDER_WAIT must be shorter than QUERIES_DELIVERY_DEADLINE: a delivery that"
            " waited for its report must have time to send it."
        )
    for item in fields(settings):
        variable, value = item.metadata["variable"], getattr(settings, item.name)
        if item.name.startswith(("report_", "exports_per_", "link_requests_", "failed_")):
            check_count(variable, value, most=MOST_ROWS)
        elif item.name.endswith("_days"):
            check_days(variable, value, least=1 if item.name == "run_days" else LEAST_HISTORY_DAYS)
    if settings.part_bytes < SMALLEST_PART_BYTES:
        raise InvalidSettings(f"QUERIES_PART_BYTES must be at least {SMALLEST_PART_BYTES}.")
