"""Messages as Amazon SNS signs them, with a certificate of the test's own."""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding

from queries_orchestration_tests.communications.certificates import Certificate

TOPIC: Final = "arn:aws:sns:eu-central-1:123456789012:mail"
CERTIFICATE_URL: Final = (
    "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123456789abcdef.pem"
)
SUBSCRIBE_URL: Final = (
    "https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&TopicArn=x&Token=y"
)
_SIGNED: Final = {
    "Notification": ("Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"),
    "SubscriptionConfirmation": (
        *("Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"),
    ),
}


def signed(certificate: Certificate, *, version: str = "2", **changes: str) -> dict[str, str]:
    """Return the fields of a signed message; ``changes`` are made before it is signed."""
    fields = {
        "Type": "Notification",
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": TOPIC,
        "Message": "{}",
        "Timestamp": "2027-01-04T07:00:00.000Z",
        "SignatureVersion": version,
        "SigningCertURL": CERTIFICATE_URL,
    } | changes
    kind = "Notification" if fields["Type"] == "Notification" else "SubscriptionConfirmation"
    text = "".join(f"{name}\n{fields[name]}\n" for name in _SIGNED[kind] if name in fields)
    algorithm = hashes.SHA1() if version == "1" else hashes.SHA256()  # noqa: S303
    signature = certificate.key.sign(text.encode(), padding.PKCS1v15(), algorithm)
    return fields | {"Signature": base64.b64encode(signature).decode()}


def body(fields: dict[str, str]) -> bytes:
    return json.dumps(fields).encode()


def ses_event(kind: str, tag: str | None, detail: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return an event of SES about the message of a tag."""
    places = {"DeliveryDelay": "deliveryDelay"}
    told: dict[str, Any] = {
        "eventType": kind,
        "mail": {
            "timestamp": "2027-01-04T07:00:00.000Z",
            "source": "reports@example.org",
            "messageId": "0100-1",
            "destination": ["bob@example.org"],
            "tags": {"ses:operation": ["SendEmail"]},
        },
        places.get(kind, kind.lower()): {
            "timestamp": "2027-01-04T07:05:00.000Z",
            "recipients": ["bob@example.org"],
        }
        | (detail or {}),
    }
    if tag is not None:
        told["mail"]["tags"]["queries-message"] = [tag]
    return told
