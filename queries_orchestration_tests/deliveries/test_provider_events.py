"""What providers tell of messages: kept once each, shown in the history, of no consequence else."""

from __future__ import annotations

import json
import logging
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import permutations
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.communications.ses import tag_of
from queries_orchestration.communications.sns_signatures import SnsSignatures
from queries_orchestration.communications.webhook import SignedRequest, sign
from queries_orchestration.deliveries.provider_events import (
    record_events,
    sns_signatures_of,
    take_sns,
    take_webhook,
    webhook_keys_of,
)
from queries_orchestration.model.errors import EventRefused, InvalidSettings
from queries_orchestration.model.message_states import (
    MESSAGE_STATES,
    MessageState,
    ProviderEvent,
    latest_state,
    read_moment,
)
from queries_orchestration.store import message_states
from queries_orchestration_tests.communications.certificates import Certificate, make_certificate
from queries_orchestration_tests.communications.sns_messages import (
    SUBSCRIBE_URL,
    TOPIC,
    body,
    ses_event,
    signed,
)
from queries_orchestration_tests.deliveries.test_submissions import told
from queries_orchestration_tests.house import MONDAY, House

SECRET = "w" * 40


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    return make_certificate(
        tmp_path_factory.mktemp("sns"),
        host="sns.amazonaws.com",
        valid_from=MONDAY - timedelta(days=1),
        valid_until=MONDAY + timedelta(days=1),
    )


@pytest.fixture
def house(house: House) -> House:
    """The house after its first delivery, whose messages may be told of."""
    settings = replace(house.backends.settings, sns_topics=TOPIC, webhook_keys=f"p1:{SECRET}")
    house = house.with_backends(replace(house.backends, settings=settings))
    assert house.deliver(MONDAY) == ["delivered"]
    return house


def message_id(house: House, name: str = "bob") -> str:
    found = house.deliveries(house.history()[0].key)[name].message_id
    assert found is not None
    return found


def states(house: House) -> list[tuple[MessageState, str | None]]:
    with house.backends.database.across.read() as connection:
        rows = message_states.of_occurrence(connection, house.workspace_id, house.history()[0].key)
    return [(row.state, row.code) for row in rows]


def signatures_of(house: House, certificate: Certificate) -> SnsSignatures:
    return sns_signatures_of(house.backends, fetch=lambda _url: certificate.pem)


def by_sns(house: House, certificate: Certificate, event: dict[str, Any]) -> int:
    content = body(signed(certificate, Message=json.dumps(event)))
    return take_sns(house.backends, signatures_of(house, certificate), content)


PERMANENT = {
    "bounceType": "Permanent",
    "bounceSubType": "NoEmail",
    "bouncedRecipients": [
        {"emailAddress": "bob@example.org", "diagnosticCode": "550 bob@example.org unknown"}
    ],
}


@pytest.mark.parametrize(
    ("kind", "detail", "state", "code"),
    [
        ("Send", {}, "accepted", None),
        ("DeliveryDelay", {"delayType": "MailboxFull"}, "delayed", "mailboxfull"),
        ("Delivery", {}, "delivered", None),
        ("Bounce", PERMANENT, "bounced", "permanent_noemail"),
        (
            "Bounce",
            {"bounceType": "Transient", "bounceSubType": "General"},
            "soft_bounced",
            "transient_general",
        ),
        ("Bounce", {}, "soft_bounced", None),
        ("Complaint", {"complaintFeedbackType": "abuse"}, "complained", "abuse"),
        ("Reject", {"reason": "Bad content"}, "bounced", "bad_content"),
    ],
)
def test_each_kind_of_event_of_ses_is_a_state(
    house: House,
    certificate: Certificate,
    kind: str,
    detail: dict[str, Any],
    state: str,
    code: str | None,
) -> None:
    event = ses_event(kind, tag_of(message_id(house)), detail)
    assert by_sns(house, certificate, event) == 1
    assert by_sns(house, certificate, event) == 0
    assert states(house) == [(state, code)]


@pytest.mark.parametrize("place", ["headers", "commonHeaders"])
def test_a_feedback_notification_names_the_message_by_its_original_headers(
    house: House, certificate: Certificate, place: str
) -> None:
    event = ses_event("Bounce", None, PERMANENT)
    event["notificationType"] = event.pop("eventType")
    del event["mail"]["tags"]
    original = message_id(house)
    event["mail"][place] = (
        [{"name": "Message-ID", "value": original}]
        if place == "headers"
        else {"messageId": original}
    )
    assert by_sns(house, certificate, event) == 1
    assert states(house) == [("bounced", "permanent_noemail")]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"eventType": "Open"},
        {"eventType": ["Bounce"]},
        {"eventType": "Bounce"},
        {"eventType": "Bounce", "mail": [], "bounce": 5},
        ses_event("Bounce", "not a tag"),
        ses_event("Bounce", tag_of("<somebody@else.test>"), PERMANENT),
        ses_event("Bounce", None, PERMANENT),
    ],
)
def test_what_is_not_of_a_message_of_ours_is_passed_over(
    house: House, certificate: Certificate, event: dict[str, Any]
) -> None:
    assert by_sns(house, certificate, event) == 0
    assert states(house) == []


def test_a_bounce_is_shown_and_logged_and_changes_no_outcome(
    house: House, certificate: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    (before,) = house.history()
    rows = house.deliveries(before.key)
    with caplog.at_level(logging.INFO):
        by_sns(house, certificate, ses_event("Bounce", tag_of(message_id(house)), PERMANENT))

    assert house.history() == [before]
    assert house.deliveries(before.key) == rows
    assert "bob sent, bounced (permanent_noemail), cyd sent," in told(house)
    assert f"message_bounced occurrence={before.key} code=permanent_noemail" in caplog.text
    assert "bob@example.org" not in caplog.text


def test_states_may_come_in_any_order_and_twice_and_never_go_back(house: House) -> None:
    order: tuple[MessageState, ...] = ("accepted", "delivered", "complained")
    for name, told_states in zip(("bob", "cyd"), ((2, 0, 1), (1, 2, 0)), strict=True):
        for number in (*told_states, *told_states):
            event = ProviderEvent(
                message_id=message_id(house, name),
                state=order[number],
                at=MONDAY + timedelta(minutes=number),
            )
            record_events(house.backends, [event])
    assert len(states(house)) == 6
    assert "bob sent, complained, cyd sent, complained" in told(house)


def test_the_latest_state_does_not_depend_on_the_order() -> None:
    assert latest_state([]) is None
    for order in permutations(MESSAGE_STATES):
        seen: list[MessageState] = []
        ranks = []
        for state in order:
            seen.append(state)
            latest = latest_state(seen)
            assert latest is not None
            ranks.append(MESSAGE_STATES.index(latest))
        assert ranks == sorted(ranks)


def test_a_subscription_is_confirmed_at_sns_and_nowhere_else(
    house: House, certificate: Certificate, caplog: pytest.LogCaptureFixture
) -> None:
    fetched: list[str] = []

    def fetch(url: str) -> bytes:
        fetched.append(url)
        return b"<ConfirmSubscriptionResponse/>"

    signatures = signatures_of(house, certificate)
    for url in (SUBSCRIBE_URL, SUBSCRIBE_URL.replace("sns.", "evil.")):
        content = body(
            signed(certificate, Type="SubscriptionConfirmation", SubscribeURL=url, Token="t")
        )
        if url == SUBSCRIBE_URL:
            assert take_sns(house.backends, signatures, content, fetch=fetch) == 0
        else:
            with pytest.raises(EventRefused):
                take_sns(house.backends, signatures, content, fetch=fetch)
    assert fetched == [SUBSCRIBE_URL]

    ended = signed(
        certificate, Type="UnsubscribeConfirmation", SubscribeURL=SUBSCRIBE_URL, Token="t"
    )
    assert take_sns(house.backends, signatures, body(ended), fetch=fetch) == 0
    assert f"sns_topic_unsubscribed topic={TOPIC}" in caplog.text
    assert fetched == [SUBSCRIBE_URL]


def test_without_a_topic_nothing_of_sns_is_believed(house: House, certificate: Certificate) -> None:
    closed = house.with_backends(
        replace(house.backends, settings=replace(house.backends.settings, sns_topics=""))
    )
    with pytest.raises(EventRefused):
        by_sns(closed, certificate, ses_event("Send", tag_of(message_id(house))))


def test_another_provider_tells_by_signed_requests(house: House) -> None:
    content = {
        "events": [
            {"message_id": message_id(house, name), "state": "delivered", "at": MONDAY.isoformat()}
            for name in ("bob", "cyd")
        ]
    }
    sent = json.dumps(content).encode()
    timestamp = str(int(MONDAY.timestamp()))
    request = SignedRequest(
        key_id="p1",
        timestamp=timestamp,
        signature=sign(SECRET, timestamp=timestamp, body=sent),
        body=sent,
    )
    assert take_webhook(house.backends, request) == 2
    assert take_webhook(house.backends, request) == 0
    assert states(house) == [("delivered", None)] * 2
    with pytest.raises(EventRefused):
        take_webhook(house.backends, replace(request, signature="0" * 64))


def test_without_keys_nobody_is_believed_and_none_is_told_of_our_settings(house: House) -> None:
    closed = replace(house.backends, settings=replace(house.backends.settings, webhook_keys=""))
    timestamp = str(int(MONDAY.timestamp()))
    for secret in (SECRET, "", "no such key"):
        signature = sign(secret, timestamp=timestamp, body=b"")
        request = SignedRequest(key_id="p1", timestamp=timestamp, signature=signature, body=b"")
        with pytest.raises(EventRefused, match="not signed by a key of ours"):
            take_webhook(closed, request)


def test_keys_that_cannot_be_read_are_named(house: House) -> None:
    wrong = replace(house.backends, settings=replace(house.backends.settings, webhook_keys="p1:x"))
    with pytest.raises(InvalidSettings, match="QUERIES_WEBHOOK_KEYS"):
        webhook_keys_of(wrong)


def test_a_state_of_a_message_of_nobody_is_refused_by_the_database(house: House) -> None:
    with (
        pytest.raises(sa.exc.IntegrityError),
        house.backends.database.across.transaction() as connection,
    ):
        connection.execute(
            sa.text(
                "INSERT INTO message_states"
                " (workspace_id, occurrence_key, communication_key, state, at, recorded_at)"
                " SELECT workspace_id, 'nobody', 'x', 'bounced', recorded_at, recorded_at"
                " FROM deliveries"
            )
        )


@pytest.mark.parametrize(
    "foreign", ["<a\0b@e.test>", "<\ud800@e.test>", "x" * 100_000, "", "<a b@e.test>"]
)
def test_an_id_that_is_none_of_ours_loses_no_event_beside_it(house: House, foreign: str) -> None:
    events = [
        {"message_id": one, "state": "bounced", "at": "2027-01-04T07:00:00Z"}
        for one in (foreign, message_id(house))
    ]
    content = json.dumps({"events": events}).encode()
    timestamp = str(int(house.clock().timestamp()))
    signature = sign(SECRET, timestamp=timestamp, body=content)
    signed_by_us = SignedRequest(
        key_id="p1", timestamp=timestamp, signature=signature, body=content
    )
    assert take_webhook(house.backends, signed_by_us) == 1


@pytest.mark.parametrize(
    "at",
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:00-12:00", "x", 5],
)
def test_a_moment_that_cannot_be_told_is_none(at: object) -> None:
    assert read_moment(at) is None
    if isinstance(at, str) and at != "x":
        with pytest.raises(ValueError, match="1970"):
            ProviderEvent(message_id="<a@e.test>", state="bounced", at=datetime.fromisoformat(at))
