"""Resources: the small interfaces of the product, opened for one run or one tick."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Final

import dagster as dg
from pydantic import Field, PrivateAttr

from queries_orchestration.communications.interface import Communications
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.observing.json_log import set_up_log
from queries_orchestration.observing.traces import set_up_traces
from queries_orchestration.receives.backends import (
    Backends,
    communications_of,
    read_link_keys,
)
from queries_orchestration.receives.heartbeat import Heartbeat, heartbeat_of
from queries_orchestration.receives.observed import observed
from queries_orchestration.settings import Settings, load_settings
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.s3_client import RETRIES, S3Client
from queries_orchestration.storage.s3_url import S3Place
from queries_orchestration.store.claims import Receive
from queries_orchestration.store.database import Database

KEPT_CONNECTIONS: Final = 2
"""To the application database, of a run: its steps take one, its heartbeat another."""


class StorageResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Where files go."""

    url: str = Field(default="", description="Storage URL; empty: QUERIES_STORAGE_URL decides.")

    def open(self, settings: Settings, link_keys: LinkKeys) -> Storage:
        """Open the storage; ``link_keys`` sign the links to its files."""
        return open_storage(
            self.url or settings.storage_url,
            public_url=settings.public_url,
            link_keys=link_keys,
            connect_s3=_connect_s3,
        )


def _connect_s3(place: S3Place) -> S3Client:
    """Build a client with Dagster's own resource, imported here because it loads boto3."""
    from dagster_aws.s3 import S3Resource

    return S3Resource(
        endpoint_url=place.endpoint, region_name=place.region, max_attempts=RETRIES
    ).get_client()


class CommunicationsResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """How messages go."""

    url: str = Field(
        default="", description="Communications URL; empty: QUERIES_COMMUNICATIONS_URL decides."
    )

    def open(self, settings: Settings) -> Communications:
        """Open the way messages go."""
        chosen = replace(settings, communications_url=self.url) if self.url else settings
        return communications_of(chosen, system_clock)


class WorkerResource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """What the ops of one run share: the backends, and the heartbeat of their receive."""

    storage: dg.ResourceDependency[StorageResource]
    communications: dg.ResourceDependency[CommunicationsResource]

    _backends: Backends | None = PrivateAttr(default=None)
    _receive: Receive | None = PrivateAttr(default=None)
    _heartbeat: Heartbeat | None = PrivateAttr(default=None)
    _begun: ExitStack = PrivateAttr(default_factory=ExitStack)

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Iterator["WorkerResource"]:
        """Open the backends; at the end of the run or tick, stop the heartbeat."""
        settings = load_settings(os.environ)
        set_up_log(settings)
        set_up_traces(os.environ)
        link_keys = read_link_keys(settings)
        self._backends = Backends(
            database=Database(
                settings.database_url, kept_connections=KEPT_CONNECTIONS, patience=None
            ),
            storage=self.storage.open(settings, link_keys),
            communications=self.communications.open(settings),
            link_keys=link_keys,
            settings=settings,
            clock=system_clock,
            environment=os.environ,
        )
        try:
            yield self
        finally:
            self._begun.close()
            self._heartbeat = self._receive = None
            self._backends.database.close()

    @property
    def backends(self) -> Backends:
        """The opened backends."""
        if self._backends is None:
            raise dg.DagsterInvariantViolationError("The worker resource is not set up.")
        return self._backends

    @property
    def heartbeat(self) -> Heartbeat:
        """The heartbeat of the receive that the first op started."""
        if self._heartbeat is None:
            raise dg.DagsterInvariantViolationError("No receive was started in this run.")
        return self._heartbeat

    @property
    def receive(self) -> Receive | None:
        """The receive that the first op started; None in a run that began in the middle."""
        return self._receive

    def begin(
        self, receive: Receive, *, lane: str, run_id: str, is_terminated: Callable[[], bool]
    ) -> None:
        """Keep the run's receive and start its heartbeat; both last until the run ends."""
        self._receive = receive
        self._begun.enter_context(observed(receive, lane=lane, run_id=run_id))
        self._heartbeat = self._begun.enter_context(
            heartbeat_of(self.backends, receive, lane=lane, is_terminated=is_terminated)
        )
