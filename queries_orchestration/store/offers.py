"""An offer: one piece of work handed to Dagster under a lease."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import sqlalchemy as sa
from sqlalchemy import ColumnElement, Connection, not_, update

from queries_orchestration.store import counters, database
from queries_orchestration.store.claims import end_offers, no_live_offer, waiting
from queries_orchestration.store.occurrences import follows_unsettled
from queries_orchestration.store.tables import claims, offers


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """One piece of work handed to Dagster; ``priority`` is minus the workspace's live offers.

    ``schedule_id`` is of an occurrence; an export of its own has none. Work of a ``backfill`` comes
    after all other.
    """

    workspace_id: str
    key: str
    schedule_id: str | None
    lane: str
    number: int
    priority: int
    backfill: bool = False

    @property
    def run_key(self) -> str:
        """The run key of the Dagster run request."""
        return f"{self.key}#{self.number}"


def may_start(at: datetime) -> list[ColumnElement[bool]]:
    """Return the conditions under which work can be offered at ``at`` (lease clock)."""
    return [*is_free(at), not_(follows_unsettled(claims))]


def is_free(at: datetime) -> list[ColumnElement[bool]]:
    """Return those but for its turn: an earlier slot of its schedule may still come first."""
    return [
        waiting(),
        claims.c.not_before <= at,
        no_live_offer(at),
    ]


def write_offer(
    connection: Connection,
    workspace_id: str,
    key: str,
    number: int,
    *,
    at: datetime,
    lease: float,
) -> bool:
    """Write one offer by compare-and-set; False if somebody else has just made it.

    Args:
        lease: seconds until the offer counts as lost if no run has taken it.
    """
    offered = connection.execute(
        update(claims)
        .where(
            claims.c.workspace_id == workspace_id,
            claims.c.key == key,
            claims.c.state == "waiting",
            claims.c.offer_number == number - 1,
        )
        .values(offer_number=number, lease_until=at + timedelta(seconds=lease))
    )
    if offered.rowcount != 1:
        return False
    end_offers(connection, workspace_id, key, state="lost")
    connection.execute(
        sa.insert(offers).values(
            workspace_id=workspace_id, key=key, number=number, state="live", offered_at=at
        )
    )
    return True


def release(connection: Connection, offer: Offer, *, delay: float = 0) -> bool:
    """Take an offer back that no run will take; it is made again after ``delay`` seconds.

    Returns:
        False if it is not the live one any more, or a run has taken it.
    """
    at = database.now(connection)
    released = connection.execute(
        update(claims)
        .where(*_is_live(offer))
        .values(lease_until=None, not_before=at + timedelta(seconds=delay))
    )
    if released.rowcount == 1:
        counters.count(connection, counters.OFFERS_RELEASED, label=offer.lane)
        end_offers(connection, offer.workspace_id, offer.key, state="released")
    return released.rowcount == 1


def renew(connection: Connection, offer: Offer, *, lease: float) -> bool:
    """Lengthen the lease of an offer whose run is queued or starting; False if it is not live."""
    until = database.now(connection) + timedelta(seconds=lease)
    renewed = connection.execute(update(claims).where(*_is_live(offer)).values(lease_until=until))
    return renewed.rowcount == 1


def _is_live(offer: Offer) -> list[ColumnElement[bool]]:
    return [
        claims.c.workspace_id == offer.workspace_id,
        claims.c.key == offer.key,
        claims.c.state == "waiting",
        claims.c.offer_number == offer.number,
        claims.c.lease_until.is_not(None),
    ]
