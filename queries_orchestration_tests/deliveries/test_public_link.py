"""A recipient's personal link at the click. Cases E02, E07, E11 and T02."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.personal_link import link_of
from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.exports.download_link import DownloadLink
from queries_orchestration.model.audit import By, Subject
from queries_orchestration.model.errors import LinkRefused, QueriesError, StorageUnavailable
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.model.links import DeliveryLink, sign
from queries_orchestration.store import recipients
from queries_orchestration.store.recipients import NamedRecipient
from queries_orchestration.store.tables import deliveries
from queries_orchestration_tests.deliveries.audited import trail
from queries_orchestration_tests.downloads import (
    change_export,
    click,
    export_of,
    person_id,
    put_file,
    recorded,
    request_file,
)
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House

REFUSED = (LinkRefused, "invalid_link", LinkRefused().message)


@pytest.fixture
def house(house: House) -> House:
    """The house after its first delivery, to bob and cyd; dan was skipped."""
    assert house.deliver(MONDAY) == ["delivered"]
    return house


def test_a_personal_link_gives_the_file_and_the_download_is_recorded(house: House) -> None:
    house.clock.at = MONDAY + timedelta(days=2, microseconds=7)

    link = open_link(house, token_of(house, "bob"))

    content, file_name, content_type = click(house, link)
    assert len(content.splitlines()) == 2_501
    assert file_name == link.file_name == "Weekly orders 2027-01-04.csv"
    assert content_type == "text/csv; charset=utf-8"
    assert link.expires_at == MONDAY + timedelta(days=2, minutes=5)
    (download,) = recorded(house, export_id(house))
    assert download.person_id == person_id(house, "bob")
    assert download.occurrence_key == key(house)
    assert download.downloaded_at == house.clock.at


def test_the_link_in_the_mail_is_the_one_that_opens(house: House) -> None:
    bodies = [message.get_body(("plain",)) for message in house.messages()]
    mailed = [re.findall(r"/d/(\S+)", body.get_content())[0] for body in bodies if body]

    assert sorted(mailed) == sorted(token_of(house, name) for name in ("bob", "cyd"))


def test_scanners_that_open_the_link_first_use_nothing_up_and_a_head_is_no_download(
    house: House,
) -> None:
    token = token_of(house, "bob")

    for minutes, record in ((0, False), (1, True), (11, True), (12, False)):
        house.clock.at = MONDAY + timedelta(minutes=minutes)
        click(house, open_link(house, token, record=record))

    times = [one.downloaded_at for one in recorded(house, export_id(house))]
    assert times == [MONDAY + timedelta(minutes=1), MONDAY + timedelta(minutes=11)]


def test_each_recipients_downloads_are_told_apart(house: House) -> None:
    assert token_of(house, "bob") != token_of(house, "cyd")
    open_link(house, token_of(house, "cyd"))

    assert [one.person_id for one in recorded(house, export_id(house))] == [person_id(house, "cyd")]


def test_a_deactivated_recipients_link_ends_at_once_and_the_others_go_on(house: House) -> None:
    house.apply(
        CATALOG.replace(
            "bob@example.org, roles: [reader]", "bob@example.org, roles: [reader], active: false"
        )
    )

    assert refusal(house, token_of(house, "bob")) == REFUSED
    click(house, open_link(house, token_of(house, "cyd")))


def test_a_removed_recipients_link_ends_at_once_and_lives_again_with_the_membership(
    house: House,
) -> None:
    token = token_of(house, "bob")
    set_recipients(house, "cyd")
    assert refusal(house, token) == REFUSED
    click(house, open_link(house, token_of(house, "cyd")))

    set_recipients(house, "bob", "cyd")
    click(house, open_link(house, token))


def test_who_was_a_recipient_and_is_refused_is_in_the_trail_and_nobody_else_is(
    house: House,
) -> None:
    bob, token = person_id(house, "bob"), token_of(house, "bob")
    set_recipients(house, "cyd")
    assert refusal(house, token) == REFUSED
    with pytest.raises(LinkRefused):
        open_link(house, token, record=False)  # a scanner's HEAD
    other = replace(link_for(house, "bob"), token_id=new_id())  # no message has it
    assert refusal(house, sign(house.backends.link_keys, other)) == REFUSED
    assert refusal(house, "nothing.of.ours") == REFUSED

    told = [
        (one.by, one.attempted, one.subject, one.code)
        for one in trail(house)
        if one.action == "refused"
    ]
    file = Subject("export", link_for(house, "bob").export_id)
    assert told == [(By(via="link", person_id=bob), "file_downloaded", file, "access_lost")]


def test_a_link_works_to_the_last_second_of_its_seven_days_and_its_file_longer(
    house: House,
) -> None:
    token = token_of(house, "bob")
    house.clock.at = MONDAY + timedelta(days=7) - timedelta(seconds=1)

    link = open_link(house, token)

    assert export_of(house, export_id(house)).expires_at == link.expires_at + timedelta(days=2)
    house.clock.at = MONDAY + timedelta(days=7)
    assert refusal(house, token) == REFUSED


def test_a_link_opens_once_its_message_may_have_arrived_and_not_if_it_was_refused(
    house: House,
) -> None:
    token = token_of(house, "bob")
    for state in ("sending", "uncertain", "sent"):
        change_delivery(house, "bob", state=state)
        click(house, open_link(house, token))

    change_delivery(house, "bob", state="refused", code="recipient_refused")
    assert refusal(house, token) == REFUSED


def test_a_skipped_recipient_has_no_link_even_with_a_token_under_our_own_key(house: House) -> None:
    house.apply(CATALOG.replace("dan@example.org, roles: [reader], active: false", "dan@x.org"))
    made_up = replace(
        link_for(house, "bob"), token_id=new_id(), recipient_id=person_id(house, "dan")
    )

    assert refusal(house, sign(house.backends.link_keys, made_up)) == REFUSED


def test_a_link_to_a_file_that_is_not_ready_or_has_expired_is_refused_alike(house: House) -> None:
    changes: list[dict[str, Any]] = [
        {"state": "running"},
        {"state": "expired"},
        {"state": "ready", "expires_at": MONDAY},
    ]
    for values in changes:
        change_export(house, export_id(house), **values)
        assert refusal(house, token_of(house, "bob")) == REFUSED


def test_a_link_to_a_file_that_storage_lost_is_refused_alike(house: House) -> None:
    put_file(house, export_id(house), b"half")
    assert refusal(house, token_of(house, "bob")) == REFUSED
    house.backends.storage.delete(export_of(house, export_id(house)).storage_key)
    assert refusal(house, token_of(house, "bob")) == REFUSED
    assert recorded(house, export_id(house)) == []


def test_no_field_of_a_link_can_be_another_even_under_our_own_key(house: House) -> None:
    bobs, cyds = link_for(house, "bob"), link_for(house, "cyd")
    assert house.deliver(MONDAY + WEEK) == ["delivered"]
    _, later = house.history()
    house.clock.at = MONDAY + timedelta(days=1)
    keys = LinkKeys((*house.backends.link_keys.secrets, ("second", "t" * 40)))
    house = house.with_backends(replace(house.backends, link_keys=keys))
    forged = [
        replace(bobs, recipient_id=cyds.recipient_id),
        replace(bobs, token_id=cyds.token_id),
        replace(bobs, recipient_id=person_id(house, "ada")),
        replace(bobs, recipient_id=new_id()),
        replace(bobs, token_id=new_id()),
        replace(bobs, workspace_id=new_id()),
        replace(bobs, occurrence_key=later.key),
        replace(bobs, export_id=house.export(later.key).id),
        replace(bobs, export_id=house.export(later.key).id, occurrence_key=later.key),
        replace(bobs, export_id=request_file(house, "ada")),
        replace(bobs, export_id=new_id()),
        replace(bobs, export_id="x"),
        replace(bobs, expires_at=bobs.expires_at + timedelta(days=1)),
        replace(bobs, issued_at=bobs.issued_at - timedelta(seconds=1)),
        replace(bobs, key_id="second"),
    ]

    answers = [refusal(house, sign(keys, link)) for link in forged]

    assert answers == [REFUSED] * len(forged)
    assert recorded(house, export_id(house)) == []
    click(house, open_link(house, sign(keys, bobs)))


def test_a_token_of_another_key_or_purpose_or_none_at_all_is_refused_alike(house: House) -> None:
    token = token_of(house, "bob")
    storage_token = open_link(house, token).url.rpartition("/")[2]
    other_keys = LinkKeys.parse(f"test:{'o' * 40}")

    answers = [
        refusal(house, text)
        for text in (
            sign(other_keys, link_for(house, "bob")),
            storage_token,
            token[:-1],
            token.swapcase(),
            f"{token}.{token}",
            "",
            "\x00",
        )
    ]

    assert answers == [REFUSED] * len(answers)


def test_a_personal_token_opens_no_file_in_storage(house: House) -> None:
    link = open_link(house, token_of(house, "bob"))
    forged = replace(link, url=f"{link.url.rpartition('/')[0]}/{token_of(house, 'bob')}")

    with pytest.raises(LinkRefused):
        click(house, forged)


def test_a_storage_that_does_not_answer_is_no_refusal_of_the_link(house: House) -> None:
    files = house.folder / "home" / "files"
    files.rename(house.folder / "moved")
    files.write_bytes(b"no folder")

    with pytest.raises(StorageUnavailable):
        open_link(house, token_of(house, "bob"))
    assert recorded(house, export_id(house)) == []


def key(house: House) -> str:
    return house.history()[0].key


def export_id(house: House) -> str:
    return house.export(key(house)).id


def link_for(house: House, name: str) -> DeliveryLink:
    return link_of(house.deliveries(key(house))[name], export_id(house))


def token_of(house: House, name: str) -> str:
    return sign(house.backends.link_keys, link_for(house, name))


def open_link(house: House, token: str, *, record: bool = True) -> DownloadLink:
    return open_public_link(house.backends, token, record=record)


def refusal(house: House, token: str) -> tuple[type, str, str]:
    with pytest.raises(QueriesError) as told:
        open_link(house, token)
    assert told.value.__cause__ is None
    return type(told.value), told.value.code, told.value.message


def set_recipients(house: House, *names: str) -> None:
    named = [NamedRecipient("person", person_id(house, name)) for name in names]
    with house.backends.database.across.transaction() as connection:
        recipients.set_recipients(connection, house.workspace_id, house.schedule().id, named)


def change_delivery(house: House, name: str, **values: Any) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.update(deliveries)
            .where(deliveries.c.person_id == person_id(house, name))
            .values(**values)
        )
