"""A resend goes to those alone whom an occurrence did not reach, once, with the same file."""

from __future__ import annotations

import re
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa

from queries_orchestration.communications.interface import Message, Submission
from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.deliveries.recover import cancel
from queries_orchestration.deliveries.resend import resend
from queries_orchestration.exports.expire import expire_files
from queries_orchestration.model.errors import (
    AccessLost,
    LinkRefused,
    NotFound,
    Refused,
    SubmissionUncertain,
)
from queries_orchestration.store import claims
from queries_orchestration.store.tables import exports
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.house import MONDAY, House
from queries_orchestration_tests.report_house import build_report_house, rendering

HOUR = timedelta(hours=1)
WORKSPACE = "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
BOB, CYD = "bob@example.org", "cyd@example.org"


@pytest.fixture
def refused(house: House) -> House:
    """A house whose first delivery did not reach bob, who was refused."""
    assert _with_faults(house, refused={BOB}).deliver(MONDAY) == ["delivered_partly"]
    house.clock.at = MONDAY + HOUR
    return house


def test_the_refused_recipient_alone_gets_the_same_file_and_history_says_who_asked(
    refused: House,
) -> None:
    (origin,) = refused.history()
    key = _resend(refused, reason="The mailbox is back.")

    assert refused.deliver(MONDAY + HOUR) == ["delivered"]

    assert refused.addressees() == [BOB, CYD]
    again = refused.occurrence(key)
    assert (again.purpose, again.outcome, again.export_id) == (
        "resend",
        "delivered",
        origin.export_id,
    )
    assert (again.requested_by, again.reason) == (refused.person("ada"), "The mailbox is back.")
    assert again.admitted_at == MONDAY + HOUR
    assert {name: row.state for name, row in refused.deliveries(key).items()} == {"bob": "sent"}
    # What it sends again stays as it was.
    assert refused.deliveries(origin.key)["bob"].state == "refused"
    assert refused.occurrence(origin.key) == origin
    (message,) = [one for one in refused.messages() if BOB in one["To"]]
    assert "2027-01-04 08:00" in str(message["Subject"])


def test_the_file_is_kept_before_the_first_message_is_begun(refused: House) -> None:
    """No pass removes it between the look at it and the link to it."""
    refused.clock.at = MONDAY + timedelta(days=6)
    key = _resend(refused)
    until = []

    def reached(step: str) -> None:
        if step == "file kept, not sent":
            until.append(refused.export(key).expires_at)

    (offer,) = refused.offer("delivery")
    refused.with_backends(replace(refused.backends, reached=reached)).take(offer)

    assert until == [MONDAY + timedelta(days=15)]


def test_its_link_leads_to_the_file_and_keeps_it(refused: House) -> None:
    refused.clock.at = MONDAY + timedelta(days=6)
    key = _resend(refused)
    refused.deliver(refused.clock.at)

    link = _link(refused, BOB)
    # Two days longer than it would have been.
    refused.clock.at = MONDAY + timedelta(days=11)
    assert open_public_link(refused.backends, link, record=True).file_name.startswith("Weekly")
    assert refused.export(key).expires_at == MONDAY + timedelta(days=15)
    refused.clock.at = MONDAY + timedelta(days=13, hours=1)
    with pytest.raises(LinkRefused):
        open_public_link(refused.backends, link, record=True)


def test_once_everybody_has_a_message_there_is_nothing_to_resend(refused: House) -> None:
    (origin,) = refused.history()
    key = _resend(refused)
    refused.deliver(MONDAY + HOUR)

    for known in (origin.key, key):
        with pytest.raises(Refused) as refusal:
            _resend(refused, key=known)
        assert refusal.value.code == "nothing_to_resend"
    assert len(refused.messages()) == 2


def test_a_resend_that_is_refused_again_can_be_asked_for_again(refused: House) -> None:
    (origin,) = refused.history()
    first = _resend(refused)
    assert _with_faults(refused, refused={BOB}).deliver(MONDAY + HOUR) == ["failed"]
    second = _resend(refused, key=first)
    assert refused.deliver(MONDAY + HOUR) == ["delivered"]

    assert len({origin.key, first, second}) == 3
    assert (refused.occurrence(first).code, refused.schedule().failure_streak) == ("all_refused", 0)
    assert refused.addressees() == [BOB, CYD]
    refused.dispatch(MONDAY + HOUR)
    assert refused.notices() == []


def test_a_second_resend_at_once_is_the_first(refused: House) -> None:
    (origin,) = refused.history()
    keys: set[str] = set()
    together = threading.Barrier(2)

    def ask() -> None:
        together.wait(10)
        keys.add(_resend(refused, key=origin.key))

    askers = [threading.Thread(target=ask) for _ in range(2)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(30)
    keys.add(_resend(refused, key=origin.key))

    assert len(keys) == 1
    assert refused.deliver(MONDAY + HOUR) == ["delivered"]
    assert refused.addressees() == [BOB, CYD]
    assert len(refused.history()) == 2


class Silent(FaultyCommunications):
    """Says nothing of messages to Bob, and does not keep them."""

    def submit(self, message: Message, *, seconds: float = 1) -> Submission:
        if message.recipient_address == BOB:
            raise SubmissionUncertain("No answer came.")
        return super().submit(message, seconds=seconds)


@pytest.mark.parametrize(
    ("wall", "state", "outcome"),
    [(FaultyCommunications, "unsent", "failed"), (Silent, "uncertain", "delivered")],
)
def test_who_has_no_message_for_sure_is_sent_to_again(
    house: House, wall: type[FaultyCommunications], state: str, outcome: str
) -> None:
    faulty = _with_faults(house, unavailable={BOB: 9}, wall=wall)
    for _ in range(3):
        faulty.deliver(MONDAY)
    (ended,) = house.history()
    assert (ended.outcome, house.deliveries(ended.key)["bob"].state) == (outcome, state)

    _resend(house)
    assert house.deliver(MONDAY) == ["delivered"]

    assert house.addressees() == [BOB, CYD]
    assert house.schedule().failure_streak == int(outcome == "failed")


def test_who_has_left_since_the_resend_was_asked_for_is_not_sent_to(refused: House) -> None:
    key = _resend(refused)
    refused.apply(
        WORKSPACE + "people:\n  bob: {title: Bob Buyer, address: bob@example.org, active: false}\n"
    )

    assert refused.deliver(MONDAY + HOUR) == ["no_recipients"]
    assert refused.deliveries(key)["bob"].code == "inactive"
    # He comes back: he is as unreached as before.
    refused.apply(WORKSPACE + "people:\n  bob: {title: Bob Buyer, address: bob@example.org}\n")
    _resend(refused)
    assert refused.deliver(MONDAY + HOUR) == ["delivered"]


def test_after_the_file_has_expired_it_is_refused_and_names_run_now(refused: House) -> None:
    refused.clock.at = MONDAY + timedelta(days=10)

    with pytest.raises(Refused) as refusal:
        _resend(refused)

    assert refusal.value.code == "file_expired"
    assert "queries run-now weekly --as PERSON" in refusal.value.message
    assert len(refused.history()) == 1


def test_a_file_that_expires_before_it_is_worked_fails_the_resend(refused: House) -> None:
    key = _resend(refused)
    refused.clock.at = MONDAY + timedelta(days=10)
    expire_files(refused.backends)

    assert refused.take(refused.offer("delivery")[0]) == "file_expired"

    assert (refused.occurrence(key).outcome, refused.schedule().state) == ("failed", "active")
    assert refused.addressees() == [CYD]


def test_a_file_that_the_storage_lost_is_not_made_again(refused: House) -> None:
    _resend(refused)
    refused.backends.storage.delete(refused.export(refused.history()[0].key).storage_key)

    assert refused.take(refused.offer("delivery")[0]) == "file_gone"


def test_it_needs_authority_over_the_schedule_and_the_source(refused: House) -> None:
    (origin,) = refused.history()
    refused.apply(
        WORKSPACE
        + "people:\n  root: {title: Root, roles: [administrator]}\n"
        + "  gus: {title: Gus, roles: [author]}\n"
    )
    answers = set()
    for person, key in (("bob", origin.key), ("gus", origin.key), ("ada", "unknown")):
        with pytest.raises(NotFound) as refusal:
            _resend(refused, key=key, person=person)
        answers.add((refusal.value.code, refusal.value.message))
    assert len(answers) == 1
    # An administrator who may not open the source.
    with pytest.raises(AccessLost):
        _resend(refused, person="root")
    assert len(refused.history()) == 1


def test_access_that_is_lost_after_the_click_fails_it_and_pauses_nothing(refused: House) -> None:
    _resend(refused)
    refused.apply(WORKSPACE + "people:\n  ada: {title: Ada Owner, address: ada@example.org}\n")

    assert refused.deliver(MONDAY + HOUR) == ["access_lost"]
    assert (refused.schedule().state, refused.schedule().failure_streak) == ("active", 0)


def test_what_is_not_settled_or_has_no_file_is_refused(house: House) -> None:
    house.dispatch(MONDAY)
    (waiting,) = house.history()
    with pytest.raises(Refused) as unsettled:
        _resend(house, key=waiting.key)
    assert unsettled.value.code in ("not_settled", "no_file")

    house.deliver(MONDAY)
    house.dispatch(MONDAY + timedelta(days=21))
    missed = next(one for one in house.history() if one.outcome == "missed")
    with pytest.raises(Refused) as nothing:
        _resend(house, key=missed.key)
    assert nothing.value.code == "no_file"


def test_a_retry_of_a_resend_sends_only_what_is_not_recorded(house: House) -> None:
    _with_faults(house, refused={BOB, CYD}).deliver(MONDAY)
    key = _resend(house)
    halting = _with_faults(house, unavailable={CYD: 1})

    assert halting.deliver(MONDAY) == ["communications_unavailable"]
    assert house.deliver(MONDAY) == ["delivered"]

    assert house.addressees() == [BOB, CYD]
    assert house.occurrence(key).receive_number == 2


def test_a_cancelled_resend_leaves_the_file_alone(refused: House) -> None:
    key = _resend(refused)
    assert cancel(refused.backends, "delivery", refused.workspace_id, key)

    assert refused.export(key).state == "ready"
    assert refused.occurrence(key).outcome == "cancelled"


def test_the_report_of_an_occurrence_is_sent_again_and_not_rendered_again(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_report_house(tmp_path, store_url, source_url)
    assert rendering(_with_faults(house, refused={BOB})).deliver(MONDAY) == ["delivered_partly"]

    key = _resend(house)
    assert house.deliver(MONDAY) == ["delivered"]

    assert house.addressees() == [BOB, CYD]
    with house.backends.database.across.read() as connection:
        assert connection.scalar(sa.select(sa.func.count()).select_from(exports)) == 1
        assert claims.get(connection, house.workspace_id, key) is not None


def _resend(
    house: House, *, key: str | None = None, person: str = "ada", reason: str | None = None
) -> str:
    return resend(
        house.backends,
        house.workspace_id,
        occurrence_key=key or house.history()[0].key,
        by=house.by(person),
        reason=reason,
    )


def _link(house: House, address: str) -> str:
    (message,) = [one for one in house.messages() if address in one["To"]]
    body = message.get_body(("plain",))
    assert body is not None
    found = re.search(r"https://queries\.example\.org/d/(\S+)", body.get_content())
    assert found is not None
    return found[1]


def _with_faults(
    house: House,
    *,
    refused: set[str] | None = None,
    unavailable: dict[str, int] | None = None,
    wall: type[FaultyCommunications] = FaultyCommunications,
) -> House:
    walled = wall(
        house.backends.communications, refused=refused or set(), unavailable=unavailable or {}
    )
    return house.with_backends(replace(house.backends, communications=walled))
