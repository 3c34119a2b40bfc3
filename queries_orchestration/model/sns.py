"""Messages of Amazon SNS, as they come by HTTP: what they hold, what of it is signed, which
addresses they may name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args
from urllib.parse import parse_qs, urlsplit

from queries_orchestration.model.errors import EventRefused, InvalidSettings

SnsType = Literal["Notification", "SubscriptionConfirmation", "UnsubscribeConfirmation"]

MOST_BYTES: Final = 512 * 1024
"""SNS itself carries 256 KiB."""

_SIGNED: Final = ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type")
_SIGNED_CONFIRMATION: Final = (
    *("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
)
_HOST: Final = re.compile(r"sns\.[a-z]{2}(-[a-z]+)+-[0-9]{1,2}\.amazonaws\.com(\.cn)?")
_CERTIFICATE_PATH: Final = re.compile(r"/[A-Za-z0-9_-]{1,200}\.pem")
_TOPIC: Final = re.compile(r"arn:aws(-[a-z]+)*:sns:[a-z0-9-]+:[0-9]{12}:[A-Za-z0-9_.-]{1,256}")


@dataclass(frozen=True, slots=True)
class SnsMessage:
    """One message; nothing in it may be believed before its signature is checked."""

    fields: Mapping[str, str]
    type: SnsType

    @property
    def topic(self) -> str:
        """The ARN of the topic that it says to come from."""
        return self.fields.get("TopicArn", "")

    @property
    def signed_text(self) -> bytes:
        """What its signature is made of: names and values of some fields, each on a line."""
        names = _SIGNED if self.type == "Notification" else _SIGNED_CONFIRMATION
        present = (name for name in names if name in self.fields)
        return "".join(f"{name}\n{self.fields[name]}\n" for name in present).encode()


def read_sns(body: bytes) -> SnsMessage:
    """Read what came by HTTP.

    Raises:
        EventRefused: it is no message of SNS.
    """
    try:
        content = json.loads(body) if len(body) <= MOST_BYTES else None
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise refused()
    fields = {name: value for name, value in content.items() if isinstance(value, str)}
    for kind in get_args(SnsType):
        if fields.get("Type") == kind:
            return SnsMessage(fields, kind)
    raise refused()


def read_topics(text: str) -> frozenset[str]:
    """Read the ARNs of QUERIES_SNS_TOPICS.

    Raises:
        InvalidSettings: one is none.
    """
    topics = frozenset(filter(None, (topic.strip() for topic in text.split(","))))
    if not all(_TOPIC.fullmatch(topic) for topic in topics):
        raise InvalidSettings(
            "QUERIES_SNS_TOPICS holds what is no ARN of a topic, as in"
            " arn:aws:sns:eu-central-1:123456789012:name"
        )
    return topics


def is_certificate_url(url: str) -> bool:
    """Whether ``url`` is where SNS keeps the certificates that it signs with."""
    return _is_of_sns(url) and not urlsplit(url).query and _has_path(url, _CERTIFICATE_PATH)


def is_confirmation_url(url: str) -> bool:
    """Whether ``url`` confirms a subscription when it is fetched, and does nothing else."""
    if not _is_of_sns(url) or not _has_path(url, re.compile("/?")):
        return False
    return parse_qs(urlsplit(url).query).get("Action") == ["ConfirmSubscription"]


def _is_of_sns(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    # The whole netloc: no user, no port, nothing that two readers could read differently.
    is_host = _HOST.fullmatch(parts.netloc) is not None
    return is_host and url.startswith("https://") and not parts.fragment and url.isascii()


def _has_path(url: str, path: re.Pattern[str]) -> bool:
    return path.fullmatch(urlsplit(url).path) is not None


def refused() -> EventRefused:
    """Return the one answer to everything that is not a message of our topics."""
    return EventRefused("this is not a signed message of a topic of QUERIES_SNS_TOPICS")
