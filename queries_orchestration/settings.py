"""Every setting, its environment variable and its default, in one typed place.

``docs/settings.md`` is this table for people; a test keeps the two equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from queries_orchestration.model.errors import InvalidSettings

DELIVERY_LANE: Final = "delivery"
EXPORT_LANE: Final = "export"
REPORT_LANE: Final = "report"

LANE_WIDTHS: Final[Mapping[str, int]] = {DELIVERY_LANE: 3, EXPORT_LANE: 2, REPORT_LANE: 1}
"""Runs at once per lane; ``dagster.yaml`` states the same numbers."""

MAX_RECEIVES: Final = 3
PAGE_ROWS: Final = 1_000


def _setting(variable: str, meaning: str, default: object) -> Any:
    return field(default=default, metadata={"variable": variable, "meaning": meaning})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one process. Durations are seconds."""

    home: Path = _setting(
        "QUERIES_HOME",
        "Folder of the embedded default: database, files, mailbox, link keys",
        Path(".queries"),
    )
    database_url: str = _setting(
        "QUERIES_DATABASE_URL",
        "Application database: `sqlite:///…` or `postgresql+psycopg2://…`;"
        " empty: SQLite in `QUERIES_HOME`",
        "",
    )
    storage_url: str = _setting(
        "QUERIES_STORAGE_URL",
        "Where files go: `file:///folder`; empty: `files` in `QUERIES_HOME`",
        "",
    )
    communications_url: str = _setting(
        "QUERIES_COMMUNICATIONS_URL",
        "How messages go: `mailbox:///folder`; empty: `mailbox` in `QUERIES_HOME`",
        "",
    )
    public_url: str = _setting(
        "QUERIES_PUBLIC_URL",
        "Address under which recipients reach the links in their messages",
        "http://localhost:8080",
    )
    link_keys: str = _setting(
        "QUERIES_LINK_KEYS",
        "Keys that sign links, `id:secret,…`, the first signs;"
        " empty: the file `link-keys` in `QUERIES_HOME`, made by `queries init`",
        "",
    )
    from_address: str = _setting(
        "QUERIES_FROM_ADDRESS",
        "Sender of messages",
        "Queries <queries@localhost>",
    )
    demo: bool = _setting(
        "QUERIES_DEMO",
        "`1` allows `tick --at` a future instant; set by `make demo` and `make dev` only",
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

    @property
    def link_keys_file(self) -> Path:
        """File that ``queries init`` makes where ``QUERIES_LINK_KEYS`` is not set."""
        return self.home / "link-keys"

    def lane_offers(self, lane: str) -> int:
        """Return how many offers of ``lane`` may be live at once."""
        return 2 * LANE_WIDTHS[lane] + 10

    def retry_after(self, receives: int) -> float:
        """Return the seconds to wait once ``receives`` receives have failed."""
        return float(self.retry_delay * 4 ** (receives - 1))


def load_settings(environment: Mapping[str, str]) -> Settings:
    """Read the settings from ``environment``.

    Raises:
        InvalidSettings: a variable cannot be read, or an unknown ``QUERIES_…`` is not a setting
            (connection URLs of the catalog are named freely and may not begin so).
    """
    values: dict[str, object] = {}
    for item in fields(Settings):
        variable = item.metadata["variable"]
        text = environment.get(variable, "").strip()
        if text:
            values[item.name] = _read(variable, text, item.default)
    home = Path(str(values.get("home", Settings.__dataclass_fields__["home"].default))).resolve()
    values["home"] = home
    values.setdefault("database_url", f"sqlite:///{home / 'queries.db'}")
    values.setdefault("storage_url", (home / "files").as_uri())
    values.setdefault("communications_url", f"mailbox://{quote(str(home / 'mailbox'))}")
    settings = Settings(**values)  # type: ignore[arg-type]
    _check(settings)
    return settings


def _read(variable: str, text: str, default: object) -> object:
    if isinstance(default, bool):
        if text in ("0", "1"):
            return text == "1"
        raise InvalidSettings(f"{variable} must be 0 or 1.")
    try:
        if isinstance(default, int):
            return int(text)
        if isinstance(default, float):
            return float(text)
    except ValueError as error:
        raise InvalidSettings(f"{variable} must be a number.") from error
    return Path(text) if isinstance(default, Path) else text


def _check(settings: Settings) -> None:
    url = settings.database_url
    if not url.startswith(("sqlite:///", "postgresql+psycopg2://")):
        raise InvalidSettings(
            "QUERIES_DATABASE_URL must begin with sqlite:/// or postgresql+psycopg2:// ."
        )
    if urlsplit(settings.public_url).scheme not in ("http", "https"):
        raise InvalidSettings("QUERIES_PUBLIC_URL must begin with http:// or https:// .")
    for item in fields(settings):
        value = getattr(settings, item.name)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not value > 0:
            raise InvalidSettings(f"{item.metadata['variable']} must be greater than 0.")
    if settings.heartbeat_silence <= settings.heartbeat_interval:
        raise InvalidSettings(
            "QUERIES_HEARTBEAT_SILENCE must be longer than QUERIES_HEARTBEAT_INTERVAL."
        )
