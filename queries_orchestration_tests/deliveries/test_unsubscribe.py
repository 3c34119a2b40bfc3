"""Unsubscribing: by the link in a message, once and for good, whatever the catalog says then."""

from __future__ import annotations

from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.deliveries.unsubscribe import (
    forget_unsubscription,
    record_unsubscription,
    unsubscribe,
)
from queries_orchestration.model import unsubscribe_links
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.model.errors import LinkRefused, NotFound
from queries_orchestration.model.ids import new_id
from queries_orchestration.model.unsubscribe_links import UNSUBSCRIBE_LIFETIME, UnsubscribeLink
from queries_orchestration.store import outside_addresses, unsubscriptions
from queries_orchestration.store.unsubscriptions import Unsubscription
from queries_orchestration_tests.deliveries.wider_house import (
    JANE,
    STAFF,
    catalog,
    outcomes,
    outside_of,
    text_of,
    token_to,
)
from queries_orchestration_tests.downloads import click
from queries_orchestration_tests.house import MONDAY, WEEK, House

SECOND = """\
workspace: {name: acme}
schedules:
  second:
    title: The same again
    query: all-orders
    owner: ada
    cron: 0 9 * * 1
    time_zone: Europe/Berlin
    format: csv
    recipients: [{address: jane@partner.example}, bob]
"""


@pytest.fixture
def house(house: House) -> House:
    """The house after its first delivery, to bob and cyd as a group, and to Jane outside."""
    house.apply(catalog(f"[{{group: sales}}, {JANE}]"))
    assert house.deliver(MONDAY) == ["delivered"]
    return house


def recorded(house: House) -> list[Unsubscription]:
    with house.backends.database.across.read() as connection:
        return unsubscriptions.of_schedule(connection, house.workspace_id, house.schedule().id)


def delivered_next_week(house: House) -> dict[str, str]:
    (ended,) = house.deliver(MONDAY + WEEK)
    assert ended in ("delivered", "no_recipients")
    return outcomes(house)


def refused(house: House, token: str) -> None:
    with pytest.raises(LinkRefused) as told:
        unsubscribe(house.backends, token)
    assert told.value.message == LinkRefused().message


def test_each_message_says_how_to_unsubscribe_in_its_body_and_by_one_click(house: House) -> None:
    tokens = set()
    for message in house.messages():
        own = message["To"].addresses[0].addr_spec
        url = f"https://queries.example.org/u/{token_to(house, own, 'u')}"
        assert message["List-Unsubscribe"] == f"<{url}>"
        assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
        assert f'href="{url}"' in text_of(message, "html")
        tokens.add(token_to(house, own, "u"))
    assert len(tokens) == 3


def test_who_unsubscribes_is_skipped_from_then_on_and_the_history_says_so(house: House) -> None:
    unsubscribe(house.backends, token_to(house, "bob@example.org", "u"))
    unsubscribe(house.backends, token_to(house, "jane@partner.example", "u"))

    assert delivered_next_week(house) == {
        "bob": "unsubscribed",
        "cyd": "sent",
        "Jane Doe": "unsubscribed",
    }


def test_again_changes_nothing(house: House) -> None:
    token = token_to(house, "bob@example.org", "u")
    unsubscribe(house.backends, token)
    first = recorded(house)
    house.clock.at += timedelta(days=1)

    unsubscribe(house.backends, token)

    assert recorded(house) == first
    assert first[0].unsubscribed_at == MONDAY


def test_what_was_sent_stays_of_use(house: House) -> None:
    unsubscribe(house.backends, token_to(house, "bob@example.org", "u"))
    link = token_to(house, "bob@example.org")

    click(house, open_public_link(house.backends, link, record=True))


def test_the_catalog_subscribes_nobody_again(house: House) -> None:
    unsubscribe(house.backends, token_to(house, "bob@example.org", "u"))
    unsubscribe(house.backends, token_to(house, "jane@partner.example", "u"))
    house.apply(catalog("[cyd]"))
    again = STAFF + "  rob: {title: Rob, address: BOB@example.org}\n"

    # Named directly, under another name, in another spelling.
    house.apply(catalog("[bob, rob, cyd, {address: JANE@Partner.example}]", people=again))

    assert delivered_next_week(house) == {
        "bob": "unsubscribed",
        "rob": "unsubscribed",
        "cyd": "sent",
        "Jane Doe": "unsubscribed",
    }


def test_who_is_unsubscribed_stays_so_with_another_address(house: House) -> None:
    unsubscribe(house.backends, token_to(house, "bob@example.org", "u"))
    house.apply(
        catalog("[bob, cyd]", people=STAFF.replace("bob@example.org", "robert@example.org"))
    )

    assert delivered_next_week(house) == {"bob": "unsubscribed", "cyd": "sent"}


def test_a_schedule_that_is_pruned_and_comes_back_subscribes_nobody_again(house: House) -> None:
    """Somebody wants no more of it before it was ever delivered."""
    house.apply(SECOND)
    with house.backends.database.across.transaction() as connection:
        record_unsubscription(
            connection,
            house.workspace_id,
            schedule_id=house.schedule("second").id,
            recipient_id=house.person("bob"),
            at=MONDAY,
            by=OPERATOR,
        )
    everything = house.folder / "catalog.yaml"
    apply_catalog(
        house.backends.database,
        [everything],
        clock=house.clock,
        by=OPERATOR,
        environment=house.environment,
        prune=True,
    )
    assert house.schedule("second").state == "ended"
    house.apply(catalog("[bob]"))
    house.apply(SECOND)

    assert house.deliver(MONDAY + WEEK + timedelta(hours=1)) == ["delivered", "delivered"]

    rows = house.deliveries(house.history("second")[-1].key)
    assert (rows["bob"].state, rows["bob"].code) == ("skipped", "unsubscribed")


def test_it_is_of_one_schedule(house: House) -> None:
    unsubscribe(house.backends, token_to(house, "bob@example.org", "u"))
    unsubscribe(house.backends, token_to(house, "jane@partner.example", "u"))
    house.apply(SECOND)

    assert house.deliver(MONDAY + WEEK + timedelta(hours=1)) == ["delivered", "delivered"]

    second = house.history("second")[-1]
    assert {row.state for row in house.deliveries(second.key).values()} == {"sent"}


def test_an_outside_address_may_leave_every_schedule_of_the_workspace(house: House) -> None:
    unsubscribe(house.backends, token_to(house, "jane@partner.example", "u"), everywhere=True)
    house.clock.at += timedelta(hours=1)
    unsubscribe(house.backends, token_to(house, "jane@partner.example", "u"), everywhere=True)
    unsubscribe(house.backends, token_to(house, "bob@example.org", "u"), everywhere=True)
    assert outside_of(house, "jane@partner.example").unsubscribed_at == MONDAY
    house.apply(SECOND)

    assert house.deliver(MONDAY + WEEK + timedelta(hours=1)) == ["delivered", "delivered"]

    (second,) = house.history("second")
    rows = house.deliveries(second.key)
    # A person's messages end schedule by schedule.
    assert {name: row.code or row.state for name, row in rows.items()} == {
        "Jane Doe": "unsubscribed",
        "bob": "sent",
    }


def test_an_administrator_can_undo_it(house: House) -> None:
    jane = outside_of(house, "jane@partner.example").id
    unsubscribe(house.backends, token_to(house, "jane@partner.example", "u"), everywhere=True)

    with house.backends.database.across.transaction() as connection:
        undone = [
            forget_unsubscription(
                connection,
                house.workspace_id,
                schedule_id=house.schedule().id,
                recipient_id=jane,
                by=OPERATOR,
                at=house.clock(),
            )
            for _ in range(2)
        ]

    assert undone == [True, False]
    assert recorded(house) == []
    assert delivered_next_week(house)["Jane Doe"] == "sent"


def test_everybody_gone_is_an_occurrence_without_recipients_and_no_failure(house: House) -> None:
    for address in ("bob@example.org", "cyd@example.org", "jane@partner.example"):
        unsubscribe(house.backends, token_to(house, address, "u"))

    assert set(delivered_next_week(house).values()) == {"unsubscribed"}
    assert house.schedule().failure_streak == 0


def test_the_link_lasts_sixty_days_and_no_second_longer(house: House) -> None:
    token = token_to(house, "bob@example.org", "u")
    house.clock.at = MONDAY + UNSUBSCRIBE_LIFETIME
    refused(house, token)
    house.clock.at = MONDAY + UNSUBSCRIBE_LIFETIME - timedelta(seconds=1)
    unsubscribe(house.backends, token)

    assert len(recorded(house)) == 1


def test_a_download_token_unsubscribes_nobody_and_the_other_way_round(house: House) -> None:
    refused(house, token_to(house, "bob@example.org"))
    refused(house, token_to(house, "bob@example.org", "u")[:-1])
    refused(house, "")
    with pytest.raises(LinkRefused):
        open_public_link(house.backends, token_to(house, "bob@example.org", "u"), record=True)
    assert recorded(house) == []


def test_nobody_and_nothing_of_another_workspace_can_be_meant_even_under_our_own_key(
    house: House,
) -> None:
    bob, weekly = house.person("bob"), house.schedule().id
    for workspace_id, schedule_id, recipient_id in (
        (new_id(), weekly, bob),
        (house.workspace_id, new_id(), bob),
        (house.workspace_id, weekly, new_id()),
    ):
        link = UnsubscribeLink(
            key_id="test",
            workspace_id=workspace_id,
            schedule_id=schedule_id,
            recipient_id=recipient_id,
            expires_at=MONDAY + timedelta(days=1),
        )
        refused(house, unsubscribe_links.sign(house.backends.link_keys, link))
    assert recorded(house) == []


def test_an_unknown_recipient_is_told_to_an_administrator(house: House) -> None:
    with (
        pytest.raises(NotFound, match="no such recipient"),
        house.backends.database.across.transaction() as connection,
    ):
        record_unsubscription(
            connection,
            house.workspace_id,
            schedule_id=house.schedule().id,
            recipient_id=new_id(),
            at=MONDAY,
            by=OPERATOR,
        )


def test_addresses_that_nothing_holds_are_forgotten_and_those_of_who_unsubscribed_are_not(
    house: House,
) -> None:
    house.apply(catalog(f"[{JANE}, {{address: new@partner.example}}]"))
    house.apply(catalog("[cyd]"))

    with house.backends.database.across.transaction() as connection:
        outside_addresses.remove_unused(connection, house.workspace_id)
        left = connection.scalars(sa.text("SELECT address FROM outside_addresses")).all()

    assert left == ["jane@partner.example"]  # there is a delivery of hers
