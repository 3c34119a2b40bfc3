"""What providers of mail tell after they took a message, kept beside its delivery.

A bounce or complaint is for people to see; it changes no outcome of an occurrence. Routes call
these functions; who may call them is decided by the signatures alone.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from queries_orchestration.communications.https_fetch import https_fetch
from queries_orchestration.communications.interface import is_message_id
from queries_orchestration.communications.ses_events import read_ses_event
from queries_orchestration.communications.sns_signatures import Fetch, SnsSignatures
from queries_orchestration.communications.webhook import (
    WEBHOOK_KEYS_SETTING,
    SignedRequest,
    read_webhook,
)
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.message_states import ProviderEvent
from queries_orchestration.model.sns import is_confirmation_url, read_topics, refused
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import cross_workspace, message_states
from queries_orchestration.store.message_states import ToldState

_TO_BE_LOGGED: Final = frozenset({"bounced", "complained"})

log = logging.getLogger(__name__)


def sns_signatures_of(backends: Backends, *, fetch: Fetch = https_fetch) -> SnsSignatures:
    """Return what checks the messages of SNS; one serves a process, for it keeps certificates.

    Raises:
        InvalidSettings: QUERIES_SNS_TOPICS cannot be read.
    """
    topics = read_topics(backends.settings.sns_topics)
    return SnsSignatures(topics, fetch=fetch, clock=backends.clock)


def take_sns(
    backends: Backends, signatures: SnsSignatures, body: bytes, *, fetch: Fetch = https_fetch
) -> int:
    """Take one message of Amazon SNS; returns how many states of messages were new.

    A topic that has just been subscribed to is confirmed.

    Raises:
        EventRefused: it is not a signed message of a topic of ours.
        CommunicationsUnavailable: a certificate or a confirmation cannot be had now.
        StoreUnavailable: try again later; SNS does.
    """
    message = signatures.verified(body)
    if message.type == "SubscriptionConfirmation":
        url = message.fields.get("SubscribeURL", "")
        if not is_confirmation_url(url):
            raise refused()
        fetch(url)
        log.info("sns_topic_confirmed topic=%s", message.topic)
        return 0
    if message.type == "UnsubscribeConfirmation":
        log.warning("sns_topic_unsubscribed topic=%s", message.topic)
        return 0
    event = read_ses_event(message.fields.get("Message", ""))
    return record_events(backends, [event] if event else [])


def take_webhook(backends: Backends, request: SignedRequest) -> int:
    """Take one signed request of another provider; returns how many states were new.

    Raises:
        EventRefused: it is not signed by a key of ours, too old, or cannot be read.
        InvalidSettings: QUERIES_WEBHOOK_KEYS cannot be read.
    """
    keys = webhook_keys_of(backends)
    return record_events(backends, read_webhook(keys, request, now=backends.clock()))


def webhook_keys_of(backends: Backends) -> LinkKeys:
    """Return the keys that other providers sign with; there may be none, and nobody is believed.

    Raises:
        InvalidSettings: QUERIES_WEBHOOK_KEYS cannot be read.
    """
    text = backends.settings.webhook_keys
    return LinkKeys.parse(text, setting=WEBHOOK_KEYS_SETTING) if text else LinkKeys(())


def record_events(backends: Backends, events: Iterable[ProviderEvent]) -> int:
    """Write down what is new of messages of ours, and pass over the rest."""
    new = 0
    with backends.database.across.transaction() as connection:
        for event in events:
            # What is none of ours is of another system that shares the account.
            if not is_message_id(event.message_id):
                continue
            delivery = cross_workspace.delivery_of_message(connection, event.message_id)
            if delivery is None:
                continue
            told = ToldState(
                workspace_id=delivery.workspace_id,
                occurrence_key=delivery.occurrence_key,
                communication_key=delivery.communication_key,
                state=event.state,
                code=event.code,
                at=event.at,
                recorded_at=backends.clock(),
            )
            if not message_states.record(connection, told):
                continue
            new += 1
            if event.state in _TO_BE_LOGGED:
                log.warning(
                    "message_%s occurrence=%s code=%s",
                    event.state,
                    delivery.occurrence_key,
                    event.code,
                )
    return new
