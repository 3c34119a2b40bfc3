"""What a step works with: the store, the files, the messages, the clock and the settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from queries_orchestration.communications import open_communications
from queries_orchestration.communications.interface import Communications
from queries_orchestration.model.clock import Clock
from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.receives.waiting import RealWaiting, Waiting
from queries_orchestration.settings import Settings
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.s3_client import connect
from queries_orchestration.store.database import Database


def _go_on(_step: str) -> None:
    """Do nothing at a step; tests put a kill here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Backends:
    """Everything outside a step's own rules.

    ``environment`` is where connections of the catalog find their URLs; ``reached`` is called
    with the name of each point between two durable writes, so that tests can kill there.
    """

    database: Database
    storage: Storage
    communications: Communications
    link_keys: LinkKeys
    settings: Settings
    clock: Clock
    environment: Mapping[str, str]
    reached: Callable[[str], None] = _go_on
    waiting: Waiting = field(default_factory=RealWaiting)


def open_backends(
    settings: Settings,
    environment: Mapping[str, str],
    clock: Clock,
    *,
    kept_connections: int = 0,
    patience: float | None = None,
) -> Backends:
    """Open the backends that ``settings`` name.

    Args:
        kept_connections: to the application database, between two transactions.
        patience: seconds to wait for a silent object store; None: as a worker does.

    Raises:
        InvalidSettings: a setting is missing or cannot be used.
    """
    link_keys = read_link_keys(settings)
    return Backends(
        database=Database(settings.database_url, kept_connections=kept_connections),
        storage=open_storage(
            settings.storage_url,
            public_url=settings.public_url,
            link_keys=link_keys,
            connect_s3=partial(connect, patience=patience),
        ),
        communications=communications_of(settings, clock),
        link_keys=link_keys,
        settings=settings,
        clock=clock,
        environment=environment,
    )


def communications_of(settings: Settings, clock: Clock) -> Communications:
    """Open the way that messages go.

    Raises:
        InvalidSettings: a setting is missing or cannot be used.
    """
    return open_communications(
        settings.communications_url,
        from_address=settings.from_address,
        clock=clock,
        password=settings.smtp_password,
        answer_seconds=settings.send_timeout,
    )


def read_link_keys(settings: Settings) -> LinkKeys:
    """Return the keys that sign links, from the setting or the file that ``init`` made.

    Raises:
        InvalidSettings: there are none, or they cannot be read.
    """
    if settings.link_keys:
        return LinkKeys.parse(settings.link_keys)
    try:
        return LinkKeys.parse(settings.link_keys_file.read_text().strip())
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSettings(
            "There are no keys to sign links. Set QUERIES_LINK_KEYS, or run `queries init`."
        ) from error
