"""The personal link of one delivery, made again from what the store keeps of it."""

from __future__ import annotations

from queries_orchestration.model.links import DeliveryLink
from queries_orchestration.store.deliveries import Delivery


def link_of(delivery: Delivery, export_id: str) -> DeliveryLink:
    """Return the link of a delivery that is being sent or was sent: always the same one.

    Raises:
        ValueError: the delivery was skipped and has no link.
    """
    if (
        delivery.link_token_id is None
        or delivery.link_key_id is None
        or delivery.link_issued_at is None
        or delivery.link_expires_at is None
    ):
        raise ValueError("a skipped delivery has no link")
    return DeliveryLink(
        token_id=delivery.link_token_id,
        key_id=delivery.link_key_id,
        workspace_id=delivery.workspace_id,
        occurrence_key=delivery.occurrence_key,
        export_id=export_id,
        recipient_id=delivery.recipient_id,
        issued_at=delivery.link_issued_at,
        expires_at=delivery.link_expires_at,
    )
