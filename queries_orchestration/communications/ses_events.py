"""What Amazon SES tells of a message, by event publishing or by a feedback notification."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from queries_orchestration.communications.ses import MESSAGE_TAG, message_id_of
from queries_orchestration.model.message_states import MessageState, ProviderEvent, read_moment

_STATES: Final[Mapping[str, MessageState]] = {
    "Send": "accepted",
    "DeliveryDelay": "delayed",
    "Delivery": "delivered",
    "Complaint": "complained",
    "Reject": "bounced",
}
_DETAILS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "Send": ("send", ()),
    "DeliveryDelay": ("deliveryDelay", ("delayType",)),
    "Delivery": ("delivery", ()),
    "Complaint": ("complaint", ("complaintFeedbackType", "complaintSubType")),
    "Bounce": ("bounce", ("bounceType", "bounceSubType")),
    "Reject": ("reject", ("reason",)),
}
"""Where each kind of event tells its time, and which fields say why; none names anybody."""


def read_ses_event(text: str) -> ProviderEvent | None:
    """Return what an event of SES says of a message of ours; None if it says nothing to us.

    Unknown kinds and fields are passed over: SES adds some now and then.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    kind = content.get("eventType") or content.get("notificationType")
    if not isinstance(kind, str) or kind not in _DETAILS:
        return None
    place, names = _DETAILS[kind]
    mail, detail = _object(content, "mail"), _object(content, place)
    message_id, at = _message_id(mail), _moment(detail) or _moment(mail)
    if message_id is None or at is None:
        return None
    state = _bounced(detail) if kind == "Bounce" else _STATES[kind]
    return ProviderEvent(message_id=message_id, state=state, at=at, code=_code(detail, names))


def _message_id(mail: Mapping[str, Any]) -> str | None:
    """Return our Message-ID: of the tag, else of the original headers, where they are sent."""
    tags = _object(mail, "tags").get(MESSAGE_TAG)
    if isinstance(tags, list) and len(tags) == 1 and isinstance(tags[0], str):
        return message_id_of(tags[0])
    headers = mail.get("headers")
    for header in headers if isinstance(headers, list) else ():
        if isinstance(header, dict) and str(header.get("name", "")).lower() == "message-id":
            return str(header.get("value"))
    common = _object(mail, "commonHeaders").get("messageId")
    return common if isinstance(common, str) else None


def _bounced(detail: Mapping[str, Any]) -> MessageState:
    return "bounced" if detail.get("bounceType") == "Permanent" else "soft_bounced"


def _code(detail: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    words = (str(detail[name]) for name in names if detail.get(name))
    code = re.sub(r"[^a-z0-9]+", "_", "_".join(words).lower()).strip("_")
    return code[:64] or None


def _moment(content: Mapping[str, Any]) -> datetime | None:
    return read_moment(content.get("timestamp"))


def _object(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = content.get(name)
    return value if isinstance(value, dict) else {}
