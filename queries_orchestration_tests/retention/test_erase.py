"""Erasure: name, addresses and subscriptions go, the counts stay, and nobody comes back unseen."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.deliveries.schedule_changes import transfer
from queries_orchestration.deliveries.unsubscribe import unsubscribe
from queries_orchestration.exports.admit import admit_export
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.model.audit import OPERATOR, By, Subject
from queries_orchestration.model.errors import InvalidCatalog, LinkRefused, NotFound
from queries_orchestration.retention.erase import erase
from queries_orchestration.store import people, unsubscriptions
from queries_orchestration_tests.deliveries.audited import only, trail
from queries_orchestration_tests.deliveries.wider_house import (
    JANE,
    STAFF,
    catalog,
    execute,
    outcomes,
    outside_of,
    token_to,
)
from queries_orchestration_tests.downloads import export_of, request_file
from queries_orchestration_tests.exports.admitted import at_point, everything
from queries_orchestration_tests.house import MONDAY, WEEK, House
from queries_orchestration_tests.retention.erasing import (
    ALL,
    DRAWN,
    OF_BOB,
    OF_JANE,
    ROOT,
    furnish,
    gone,
    refused,
    texts,
)


@pytest.fixture
def house(house: House) -> House:
    """The house with a group and an outside address, all of whom got a file."""
    return furnish(house)


def test_a_person_is_taken_out_of_every_row_and_the_counts_stay(house: House) -> None:
    bob = house.person("bob")
    unsubscribe(house.backends, token_to(house, "bob@example.org", "u"))
    before = outcomes(house)

    erased = erase(house.backends, house.workspace_id, bob, by=OPERATOR, do=True)

    assert (erased.id, erased.is_person, erased.messages) == (bob, True, 1)
    found = [text for text in texts(house) for word in OF_BOB if word in text]
    assert found == []
    after = {name.removesuffix(f"-{bob}"): code for name, code in outcomes(house).items()}
    assert sorted(after.values()) == sorted(before.values())
    assert set(before) - {"bob"} < set(after) | {f"erased-{bob}"}
    with house.backends.database.across.read() as connection:
        person = people.get(connection, house.workspace_id, bob)
        schedule = house.schedule()
        assert unsubscriptions.of_schedule(connection, house.workspace_id, schedule.id) == []
    assert person is not None
    assert (person.name, person.title, person.address) == (f"erased-{bob}", "Erased", None)
    assert (person.roles, person.active, person.left_workspace) == (frozenset(), False, True)


def test_it_is_told_once_in_the_trail_by_the_id_alone(house: House) -> None:
    bob = gone(house, "bob")
    event = only(house, "person_erased")
    assert event.subject == Subject("workspace", house.workspace_id)
    assert (event.by, event.concerns_id) == (OPERATOR, bob)
    told = DRAWN.sub("", str(trail(house)))
    assert all(word not in told for word in OF_BOB)


def test_looking_changes_nothing(house: House) -> None:
    before = everything(house)
    erased = erase(house.backends, house.workspace_id, house.person("bob"), by=OPERATOR, do=False)
    assert erased.messages == 1
    assert everything(house) == before
    assert "bob@example.org" in house.addressees()


def test_whose_link_it_was_cannot_use_it_any_more(house: House) -> None:
    token = token_to(house, "bob@example.org")
    gone(house, "bob")
    with pytest.raises(LinkRefused):
        open_public_link(house.backends, token, record=True)


def test_the_next_delivery_goes_to_the_others(house: House) -> None:
    gone(house, "bob")
    house.deliver(MONDAY + WEEK)
    assert set(outcomes(house)) == {"cyd", "Jane Doe"}


def test_who_owns_a_schedule_transfers_it_first(house: House) -> None:
    error = refused(house, "ada")
    assert error.code == "owns_schedules"
    assert "weekly" in error.message

    transfer(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        to_person_id=house.person("root"),
        by=house.by("root"),
        reason="The test asks.",
    )
    ada = gone(house, "ada")
    assert house.history()[0].actor_id == ada
    assert house.deliver(MONDAY + WEEK) == ["delivered"]


def test_whom_an_access_rule_names_is_taken_out_of_it_first(house: House) -> None:
    rule = "- {who: {roles: [author]}, fields: all, rows: all}"
    of_cyd = "- {who: {people: [cyd]}, fields: all, rows: all}"
    house.apply(RULED.replace("RULES", f"{rule}\n      {of_cyd}"))
    error = refused(house, "cyd")
    assert error.code == "named_in_access_rules"
    assert "orders" in error.message

    house.apply(RULED.replace("RULES", rule))
    gone(house, "cyd")


RULED = """\
workspace: {name: acme}
datasets:
  orders:
    title: Orders
    connection: shop
    relation: orders
    fields:
      id: {type: integer, nullable: false}
      region: {type: text}
      amount: {type: decimal}
    key: [id]
    access:
      RULES
"""


def test_a_file_that_names_them_still_is_refused_and_then_makes_somebody_new(
    house: House,
) -> None:
    bob = gone(house, "bob")
    with pytest.raises(InvalidCatalog) as faults:
        house.apply(catalog(ALL, people=STAFF + ROOT))
    assert "--take-over" in str(faults.value)

    house.apply("workspace: {name: acme}\npeople:\n  bob: {title: Bob Two, roles: [reader]}\n")
    assert house.person("bob") != bob
    house.deliver(MONDAY + WEEK)
    assert set(outcomes(house)) == {"cyd", "Jane Doe"}


def test_a_file_that_names_them_no_more_goes_on_as_before(house: House) -> None:
    gone(house, "bob")
    house.apply(
        catalog(
            f"[{{group: sales}}, cyd, {JANE}]",
            people=STAFF.replace("  bob: ", "  bea: ").replace("bob@", "bea@") + ROOT,
            groups="{sales: {people: [cyd]}}",
        )
    )
    house.deliver(MONDAY + WEEK)
    assert set(outcomes(house)) == {"cyd", "Jane Doe"}


def test_their_own_files_end_at_once(house: House) -> None:
    export_id = request_file(house, "ada")
    others = request_file(house, "root")
    transfer(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        to_person_id=house.person("root"),
        by=house.by("root"),
        reason="The test asks.",
    )
    gone(house, "ada")
    assert export_of(house, export_id).expires_at == house.clock.at
    assert (export_of(house, others).expires_at or MONDAY) > house.clock.at


def test_what_they_asked_for_and_is_not_made_ends(house: House) -> None:
    admit_export(
        house.backends,
        house.workspace_id,
        by=house.by("root"),
        source_name="all-orders",
        file_format="csv",
        given_values={},
    )
    gone(house, "root")
    assert house.work("export") == []


def test_what_they_asked_for_is_not_made_to_its_end(house: House) -> None:
    export_id = house.ask_export(person="root")

    ended = at_point(house, "upload recorded", lambda: gone(house, "root")).work("export")

    assert ended == ["receive_lost"]
    export = export_of(house, export_id)
    assert (export.state, export.expires_at) == ("cancelled", None)
    assert house.backends.storage.open_uploads("") == []


def test_what_was_made_meanwhile_ends_at_once(house: House) -> None:
    export_id = house.ask_export(person="root")

    def make() -> None:
        assert house.work("export") == ["ready"]

    gone(at_point(house, "messages of somebody forgotten, not erased", make), "root")
    assert export_of(house, export_id).expires_at == house.clock.at


def test_an_outside_address_is_erased_by_its_id(house: House) -> None:
    jane = outside_of(house, "jane@partner.example").id
    token = token_to(house, "jane@partner.example")
    unsubscribe(house.backends, token_to(house, "jane@partner.example", "u"), everywhere=True)

    erased = erase(house.backends, house.workspace_id, jane, by=OPERATOR, do=True)

    assert (erased.is_person, erased.messages) == (False, 1)
    assert [text for text in texts(house) for word in OF_JANE if word in text] == []
    with pytest.raises(LinkRefused):
        open_public_link(house.backends, token, record=True)
    assert only(house, "person_erased").concerns_id == jane
    house.deliver(MONDAY + WEEK)
    assert set(outcomes(house)) == {"bob", "cyd"}


def test_an_administrator_may_and_others_may_not(house: House) -> None:
    assert refused(house, "bob", by=house.by("ada")).code == "not_allowed"
    root = By(via="api", person_id=house.person("root"))
    gone(house, "bob", by=root)
    assert only(house, "person_erased").by == root


def test_nobody_is_erased_in_another_workspace(house: House) -> None:
    house.apply("workspace: {name: blue, title: Blue, time_zone: UTC}")
    with house.backends.database.across.read() as connection:
        blue = connection.scalar(sa.text("SELECT id FROM workspaces WHERE name = 'blue'"))
    with pytest.raises(NotFound):
        erase(house.backends, str(blue), house.person("bob"), by=OPERATOR, do=True)
    assert house.person("bob")


def test_erased_twice_is_erased_once(house: House) -> None:
    bob = gone(house, "bob")
    before = everything(house)
    erase(house.backends, house.workspace_id, bob, by=OPERATOR, do=True)
    assert everything(house) == before


def test_messages_that_cannot_be_removed_leave_all_as_it_is(house: House) -> None:
    from queries_orchestration.model.errors import CommunicationsUnavailable
    from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications

    class Shut(FaultyCommunications):
        def forget(self, communication_keys: object) -> None:
            raise CommunicationsUnavailable("The test's folder is shut.")

    shut = Shut(house.backends.communications, refused=set(), unavailable={})
    before = everything(house)
    with pytest.raises(CommunicationsUnavailable):
        gone(house.with_backends(replace(house.backends, communications=shut)), "bob")
    assert everything(house) == before


def test_no_word_that_is_kept_names_who_has_failed_or_cancelled(house: House) -> None:
    house.clock.at = MONDAY + timedelta(hours=1)
    export_id = house.ask_export(person="ada")
    cancel_export(house.backends, house.workspace_id, by=house.by("ada"), export_id=export_id)
    execute(house, "UPDATE people SET roles = '[]' WHERE name = 'ada'")
    assert house.deliver(MONDAY + WEEK) == ["access_lost"]
    house.dispatch(MONDAY + WEEK)  # sends the notice
    assert house.told()
    assert "no access to the dataset orders" in (house.schedule().pause_reason or "")
    transfer(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        to_person_id=house.person("root"),
        by=house.by("root"),
    )

    gone(house, "ada")

    words = re.compile(r"\b(ada|Ada|Ada Owner|ada@example.org)\b")
    assert [text for text in texts(house) if words.search(text)] == []


def test_who_else_has_the_mailbox_is_told_and_stays(house: House) -> None:
    outside = outside_of(house, "jane@partner.example").id
    execute(
        house, "UPDATE people SET address = 'jane@PARTNER.example' WHERE name IN ('bob', 'cyd')"
    )
    erased = erase(house.backends, house.workspace_id, house.person("bob"), by=OPERATOR, do=True)
    assert erased.also == ("cyd", outside)
    assert outside_of(house, "jane@partner.example").id == outside
