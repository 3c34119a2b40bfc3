"""What providers tell by HTTP: believed by its signature alone, and all else is one answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from queries_orchestration.communications.ses import tag_of
from queries_orchestration.communications.webhook import sign
from queries_orchestration.deliveries.provider_events import sns_signatures_of
from queries_orchestration.model.errors import CommunicationsUnavailable, InvalidSettings
from queries_orchestration.store import message_states
from queries_orchestration.store.database import Database
from queries_orchestration_tests.communications.certificates import Certificate, make_certificate
from queries_orchestration_tests.communications.sns_messages import (
    SUBSCRIBE_URL,
    TOPIC,
    body,
    ses_event,
    signed,
)
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.web.site import Site, open_site

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


@pytest.fixture
def fetched() -> list[str]:
    return []


@pytest.fixture
def site(house: House, certificate: Certificate, fetched: list[str]) -> Iterator[Site]:
    with open_site(house) as site:

        def fetch(url: str) -> bytes:
            fetched.append(url)
            return certificate.pem

        state = site.client.app.state  # type: ignore[attr-defined]
        sns = sns_signatures_of(house.backends, fetch=fetch)
        state.web = replace(state.web, sns=sns, fetch=fetch)
        yield site


def states(house: House) -> list[str]:
    with house.backends.database.across.read() as connection:
        rows = message_states.of_occurrence(connection, house.workspace_id, house.history()[0].key)
    return [row.state for row in rows]


def message_id(house: House) -> str:
    found = house.deliveries(house.history()[0].key)["bob"].message_id
    assert found is not None
    return found


def test_ses_tells_by_a_signed_message_and_nobody_else_does(
    site: Site, certificate: Certificate, fetched: list[str]
) -> None:
    event = json.dumps(ses_event("Delivery", tag_of(message_id(site.house))))
    told = body(signed(certificate, Message=event))
    refused = [
        site.client.post("/webhooks/ses", content=content)
        for content in (
            b"",
            b"x",
            b"{}",
            told.replace(b"Delivery", b"Complaint"),
            told.replace(TOPIC.encode(), TOPIC.replace("123", "321").encode()),
            body(
                signed(certificate, Message=event) | {"SigningCertURL": "https://evil.test/a.pem"}
            ),
            told + b" " * 2_000_000,
        )
    ]
    assert {(one.status_code, one.text) for one in refused} == {(422, refused[0].text)}
    assert refused[0].json()["code"] == "invalid_event"
    assert states(site.house) == []

    for _ in range(2):  # SNS may send it twice
        answer = site.client.post("/webhooks/ses", content=told)
        assert (answer.status_code, answer.content) == (204, b"")
    assert states(site.house) == ["delivered"]
    assert all(url.startswith("https://sns.") for url in fetched)


def test_a_subscription_to_a_topic_of_ours_is_confirmed(
    site: Site, certificate: Certificate, fetched: list[str]
) -> None:
    asked = signed(
        certificate, Type="SubscriptionConfirmation", SubscribeURL=SUBSCRIBE_URL, Token="t"
    )
    assert site.client.post("/webhooks/ses", content=body(asked)).status_code == 204
    assert fetched[-1] == SUBSCRIBE_URL


def test_what_cannot_be_had_now_is_to_be_sent_again(
    site: Site, house: House, certificate: Certificate
) -> None:
    told = body(signed(certificate, Message="{}"))
    with open_site(house) as down:

        def fetch(_url: str) -> bytes:
            raise CommunicationsUnavailable("down")

        state = down.client.app.state  # type: ignore[attr-defined]
        state.web = replace(state.web, sns=sns_signatures_of(house.backends, fetch=fetch))
        answer = down.client.post("/webhooks/ses", content=told)
    assert (answer.status_code, answer.json()["code"]) == (503, "communications_unavailable")


def headers(sent: bytes, *, secret: str = SECRET, key: str = "p1", late: int = 0) -> dict[str, str]:
    timestamp = str(int(MONDAY.timestamp()) - late)
    signature = sign(secret, timestamp=timestamp, body=sent)
    return {
        "Queries-Key": key,
        "Queries-Timestamp": timestamp,
        "Queries-Signature": signature,
    }


def test_another_provider_tells_by_signed_requests_and_nobody_else_does(site: Site) -> None:
    event = {
        "message_id": message_id(site.house),
        "state": "bounced",
        "at": MONDAY.isoformat(),
        "code": "550",
    }
    sent = json.dumps({"events": [event]}).encode()
    large = sent + b" " * 1024 * 1024
    refused = [
        site.client.post("/webhooks/messages", content=content, headers=given)
        for content, given in (
            (sent, {}),
            (sent, headers(sent, secret="v" * 40)),
            (sent, headers(sent, key="p2")),
            (sent, headers(sent, late=301)),
            (sent + b" ", headers(sent)),
            (sent, headers(sent) | {"Queries-Signature": "0" * 64}),
            (sent, headers(sent) | {"Queries-Timestamp": "now"}),
            (large, headers(large)),
        )
    ]
    assert {(one.status_code, one.text) for one in refused} == {(422, refused[0].text)}
    assert states(site.house) == []

    for _ in range(2):
        answer = site.client.post("/webhooks/messages", content=sent, headers=headers(sent))
        assert (answer.status_code, answer.content) == (204, b"")
    assert states(site.house) == ["bounced"]
    wrong = b'{"events": [{}]}'
    told = site.client.post("/webhooks/messages", content=wrong, headers=headers(wrong))
    assert (told.status_code, "event 1 must have" in told.text) == (422, True)


def test_keys_and_topics_that_cannot_be_read_are_told_at_the_start(house: House) -> None:
    was = house.backends.settings
    for named, settings in (
        ("QUERIES_SNS_TOPICS", replace(was, sns_topics="nonsense")),
        ("QUERIES_WEBHOOK_KEYS", replace(was, webhook_keys="nonsense")),
    ):
        with (
            pytest.raises(InvalidSettings, match=named),
            open_site(house.with_backends(replace(house.backends, settings=settings))),
        ):
            pass


def test_ready_is_who_has_a_database_of_this_version(
    site: Site, house: House, tmp_path: Path
) -> None:
    assert site.client.get("/healthz").json() == {"status": "ok"}
    assert site.client.get("/readyz").json() == {"status": "ok"}
    for url in (
        f"sqlite:///{tmp_path / 'empty.db'}",
        "postgresql+psycopg2://nobody:secret@127.0.0.1:1/nothing",
    ):
        other = house.with_backends(replace(house.backends, database=Database(url)))
        with open_site(other) as unready:
            answer = unready.client.get("/readyz")
            assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
            assert "secret" not in answer.text
            assert unready.client.get("/healthz").status_code == 200
