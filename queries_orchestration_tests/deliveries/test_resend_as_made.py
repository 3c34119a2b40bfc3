"""A resend opens what its file was made of, and goes to who is a recipient still."""

from __future__ import annotations

import pytest

from queries_orchestration.deliveries.resend import resend
from queries_orchestration.model.errors import AccessLost, Refused
from queries_orchestration_tests.deliveries.test_resend import BOB, CYD, HOUR, WORKSPACE, refused
from queries_orchestration_tests.house import CATALOG, MONDAY, House

__all__ = ["refused"]  # the fixture


def test_what_is_sent_again_is_opened_as_the_file_was_made_not_as_the_schedule_is_now(
    refused: House,
) -> None:
    """Who took the schedule over with a source of their own does not get the old one's rows."""
    refused.apply(_OPEN_TO_BOB)

    with pytest.raises(AccessLost):
        _resend(refused, person="bob")

    assert [one.purpose for one in refused.history()] == ["delivery"]


def test_so_it_is_in_the_receive_of_a_resend(refused: House) -> None:
    key = _resend(refused)
    refused.apply(_OPEN_TO_BOB)
    refused.apply(WORKSPACE + "people:\n  ada: {title: Ada Owner, roles: [reader]}\n")

    # Ada may still open what the schedule delivers now.
    assert refused.deliver(MONDAY + HOUR) == ["access_lost"]

    assert refused.occurrence(key).outcome == "failed"
    assert refused.addressees() == [CYD]


def test_a_file_is_sent_again_though_the_schedule_delivers_something_else_by_now(
    refused: House,
) -> None:
    refused.apply(_OPEN_TO_BOB.replace("owner: bob", "owner: ada"))
    key = _resend(refused)

    assert refused.deliver(MONDAY + HOUR) == ["delivered"]

    assert refused.addressees() == [BOB, CYD]
    assert "All orders" in str(refused.messages()[0]) + str(refused.messages()[1])
    assert refused.export(key).rows == 2_500


@pytest.mark.parametrize("change", ["recipients: [cyd]", "recipients: [dan, cyd]"])
def test_nothing_is_sent_again_to_who_is_no_recipient_any_more(refused: House, change: str) -> None:
    refused.apply(CATALOG.replace("recipients: [bob, dan, cyd]", change))

    with pytest.raises(Refused) as refusal:
        _resend(refused)

    assert refusal.value.code == "nothing_to_resend"
    assert len(refused.history()) == 1


def test_nor_to_who_may_be_sent_nothing_any_more(refused: House) -> None:
    refused.apply(
        WORKSPACE + "people:\n  bob: {title: Bob, address: bob@example.org, active: false}\n"
    )

    with pytest.raises(Refused) as refusal:
        _resend(refused)

    assert refusal.value.code == "nothing_to_resend"


_OPEN_TO_BOB = (
    WORKSPACE + "connections:\n  shop: {url_variable: SHOP_URL}\n"
    "datasets:\n"
    "  open:\n    title: Open orders\n    connection: shop\n    relation: orders\n"
    "    fields:\n      id: {type: integer, nullable: false}\n    key: [id]\n"
    "    access:\n      - {who: {roles: [author, reader]}, fields: all, rows: all}\n"
    "queries:\n  open-orders: {title: Open, dataset: open, fields: [{field: id}]}\n"
    "schedules:\n  weekly: {title: Weekly orders, query: open-orders, owner: bob,"
    " cron: 0 8 * * 1, time_zone: Europe/Berlin, format: csv, recipients: [bob, dan, cyd]}\n"
)


def _resend(house: House, *, person: str = "ada") -> str:
    return resend(
        house.backends,
        house.workspace_id,
        occurrence_key=house.history()[0].key,
        by=house.by(person),
    )
