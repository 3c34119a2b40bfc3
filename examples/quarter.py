"""A quarter of a schedule's life within seconds, for looking at pages that tell of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from examples.place import CATALOG, EXAMPLES, FAY_MOVES_ON, Place
from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.communications.interface import (
    SUBMIT_SECONDS,
    Communications,
    Message,
    Submission,
)
from queries_orchestration.deliveries import receive as deliveries_receive, schedule_changes
from queries_orchestration.deliveries.dispatch import run_pass
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.exports import receive as exports_receive
from queries_orchestration.exports.admit import admit_export
from queries_orchestration.model.audit import OPERATOR, By
from queries_orchestration.model.errors import QueriesError, RecipientRefused
from queries_orchestration.receives.backends import Backends, open_backends
from queries_orchestration.receives.publish import offer_lane
from queries_orchestration.receives.runs import RunState
from queries_orchestration.settings import DELIVERY_LANE, EXPORT_LANE, load_settings
from queries_orchestration.store import exports, people, schedules, workspaces
from queries_orchestration.store.offers import Offer
from queries_orchestration.store.schedules import Schedule

DAYS: Final = 88
EVERY_MORNING: Final = "late-every-morning"
OUR_CATALOG: Final = (CATALOG[0], EXAMPLES / "changes" / "every-morning.yaml")
AIRLINES_SAY_MORE: Final = EXAMPLES / "changes" / "airlines-say-more.yaml"

_REFUSED: Final = (23, 61)
_UNREACHABLE: Final = (40, 41)
_STOOD_STILL: Final = (51, 52, 53)


class Clock:
    """A calendar clock that is set."""

    def __init__(self, at: datetime) -> None:
        self.at = at

    def __call__(self) -> datetime:
        """Return what it shows."""
        return self.at


class _NoRuns:
    def of_offer(self, _offer: Offer) -> RunState:
        return "unknown"

    def of_receive(self, _run_id: str) -> RunState:
        return "unknown"

    def report_lost(self, run_id: str) -> None:
        """Do nothing: there is no run to report."""


@dataclass(frozen=True)
class _Refusing:
    """A way for messages that refuses one person."""

    inner: Communications
    refused: str
    idempotent_by_key: bool = True

    def submit(self, message: Message, *, seconds: float = SUBMIT_SECONDS) -> Submission:
        if message.recipient_address.startswith(self.refused):
            raise RecipientRefused("550 5.1.1 There is no such mailbox.")
        return self.inner.submit(message, seconds=seconds)

    def forget(self, communication_keys: Iterable[str]) -> None:
        self.inner.forget(communication_keys)

    def close(self) -> None:
        self.inner.close()

    def check(self, *, seconds: float = SUBMIT_SECONDS) -> None:
        self.inner.check(seconds=seconds)


@dataclass(frozen=True)
class Quarter:
    """The place after its quarter, and what looks at it."""

    backends: Backends
    workspace_id: str

    def schedule(self, name: str) -> Schedule:
        """Return a schedule by its name."""
        with self.backends.database.across.read() as connection:
            found = schedules.by_name(connection, self.workspace_id, name)
        if found is None:
            raise LookupError(name)
        return found

    def person(self, name: str) -> str:
        """Return the id of a person."""
        with self.backends.database.across.read() as connection:
            found = people.by_name(connection, self.workspace_id, name)
        if found is None:
            raise LookupError(name)
        return found.id


def open_quarter(place: Place, *, public_url: str) -> Quarter:
    """Look at a place that has lived a quarter before."""
    return _opened(place, public_url, Clock(datetime.now(UTC)))


def live_a_quarter(place: Place, *, public_url: str) -> Quarter:
    """Let the schedules of ``place``, which is initialised and has no catalog yet, live."""
    now = datetime.now(UTC).replace(microsecond=0)
    clock = Clock(now - timedelta(days=DAYS))
    quarter = _opened(place, public_url, clock)
    backends = quarter.backends
    with backends.database.across.read() as connection:
        listed = schedules.listing(connection, quarter.workspace_id)
    others = [one for one in listed if one.name != EVERY_MORNING]
    for one in others:
        schedule_changes.pause(
            backends,
            quarter.workspace_id,
            schedule_id=one.id,
            by=OPERATOR,
            reason="Until the numbers of the new terminal are in.",
        )
    for number in range(DAYS):
        clock.at = now - timedelta(days=DAYS - 1 - number)
        if number not in _STOOD_STILL:
            _pass(_on_day(quarter, number))
    clock.at = now - timedelta(days=8)
    for one in others:
        if "on-time" not in one.name:
            schedule_changes.resume(backends, quarter.workspace_id, schedule_id=one.id, by=OPERATOR)
    _apply(backends, FAY_MOVES_ON)
    clock.at = now
    _pass(quarter)
    _apply(backends, AIRLINES_SAY_MORE)
    _ask(quarter)
    return quarter


def _opened(place: Place, public_url: str, clock: Clock) -> Quarter:
    environment = place.environment() | {
        "QUERIES_PUBLIC_URL": public_url,
        "QUERIES_RETRY_DELAY": "0.001",
    }
    backends = open_backends(load_settings(environment), environment, clock)
    with backends.database.across.read() as connection:
        workspace = workspaces.by_name(connection, "new-york")
    if workspace is None:
        _apply(backends, *OUR_CATALOG)
        return _opened(place, public_url, clock)
    return Quarter(backends, workspace.id)


def _on_day(quarter: Quarter, number: int) -> Quarter:
    backends = quarter.backends
    if number in _REFUSED:
        return replace(
            quarter,
            backends=replace(backends, communications=_Refusing(backends.communications, "clara@")),
        )
    if number in _UNREACHABLE:
        without: Mapping[str, str] = {
            name: value for name, value in backends.environment.items() if "FLIGHTS" not in name
        }
        return replace(quarter, backends=replace(backends, environment=without))
    return quarter


def _apply(backends: Backends, *files: Path) -> None:
    apply_catalog(
        backends.database,
        files,
        clock=backends.clock,
        environment=backends.environment,
        by=OPERATOR,
        take_over=True,
    )


def _pass(quarter: Quarter) -> None:
    backends = quarter.backends
    offers = list(run_pass(backends, _NoRuns(), at=backends.clock(), offer=True).offers)
    while offers:
        for offer in offers:
            _take(quarter, offer)
        offers = offer_lane(backends.database, backends.settings, DELIVERY_LANE)


def _take(quarter: Quarter, offer: Offer) -> None:
    work = deliveries_receive.work if offer.lane == DELIVERY_LANE else exports_receive.work
    try:
        work(quarter.backends, offer.key, offer_number=offer.number, run_id="quarter")
    except QueriesError:
        return  # the history tells it


def _ask(quarter: Quarter) -> None:
    """Let Ada ask for files, and run a schedule whose source has changed."""
    backends = quarter.backends
    by = By(via="page", person_id=quarter.person("ada"))
    asked = [
        ("late-departures", "csv", {"minutes": "120"}),
        ("airlines", "xlsx", {}),
        ("departures", "csv", {}),
        ("late-departures", "xlsx", {"airport": "JFK"}),
    ]
    made = []
    for source, file_format, values in asked:
        made.append(
            admit_export(
                backends,
                quarter.workspace_id,
                by=by,
                source_name=source,
                file_format=file_format,
                given_values=values,
            )
        )
        if len(made) <= 2:
            for offer in offer_lane(backends.database, backends.settings, EXPORT_LANE):
                _take(quarter, offer)
    with backends.database.across.transaction() as connection:
        exports.change(
            connection,
            quarter.workspace_id,
            made[2],
            state="running",
            rows_done=183_500,
            bytes_done=14_680_000,
            started_at=backends.clock() - timedelta(seconds=4),
            duration_seconds=2.9,
        )
    run_now(
        backends,
        quarter.workspace_id,
        schedule_id=quarter.schedule("airlines").id,
        by=by,
        reason="For the meeting at noon.",
    )
    for offer in offer_lane(backends.database, backends.settings, DELIVERY_LANE):
        _take(quarter, offer)
