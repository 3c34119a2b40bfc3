"""Erasure: name, addresses and subscriptions go, the counts stay, and nobody comes back unseen."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
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
from queries_orchestration.model.errors import InvalidCatalog, LinkRefused, NotFound, Refused
from queries_orchestration.retention.erase import erase
from queries_orchestration.store import erasure, people, unsubscriptions
from queries_orchestration.store.tables import metadata
from queries_orchestration_tests.deliveries.audited import only, trail
from queries_orchestration_tests.deliveries.wider_house import (
    JANE,
    STAFF,
    catalog,
    execute,
    outcomes,
    outside_of,
    text_of,
    token_to,
)
from queries_orchestration_tests.downloads import export_of, request_file
from queries_orchestration_tests.exports.admitted import everything
from queries_orchestration_tests.house import MONDAY, WEEK, House

ALL = f"[{{group: sales}}, bob, cyd, {JANE}]"
OF_BOB = ("bob", "Bob Buyer", "Bob", "bob@example.org")
OF_JANE = ("Jane", "jane", "partner.example")


@pytest.fixture
def house(house: House) -> House:
    """The house with a group and an outside address, all of whom got a file."""
    house.clock.at = MONDAY - timedelta(days=1)
    house.apply(catalog(ALL, people=STAFF + ROOT))
    assert house.deliver(MONDAY) == ["delivered"]
    return house


ROOT = "  root: {title: Root Admin, address: root@example.org, roles: [administrator, author]}\n"


def gone(house: House, name: str, *, by: By = OPERATOR) -> str:
    """Erase a person, and return their id."""
    person_id = house.person(name)
    erase(house.backends, house.workspace_id, person_id, by=by, do=True)
    return person_id


def texts(house: House) -> Iterator[str]:
    """Every value of every row, and every message; but ids and tokens, whose letters are drawn."""
    for text in _whole_texts(house):
        yield _DRAWN.sub("", text)


_DRAWN = re.compile(r"https://[^\s\"<]+|\b[a-z2-7]{26}")


def _whole_texts(house: House) -> Iterator[str]:
    with house.backends.database.across.read() as connection:
        for table in metadata.sorted_tables:
            if table.name in ("workspaces", "source_versions"):
                continue  # a domain that is allowed, and what nobody is named in
            for row in connection.execute(sa.select(table)):
                yield from (str(value) for value in row)
    for message in house.messages() + house.notices():
        yield from (str(message["To"]), str(message["Subject"]))
        yield from (text_of(message, kind) for kind in ("plain", "html"))


def refused(house: House, name: str, *, by: By = OPERATOR) -> Refused:
    before = everything(house)
    with pytest.raises(Refused) as error:
        erase(house.backends, house.workspace_id, house.person(name), by=by, do=True)
    assert everything(house) == before
    return error.value


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
    told = _DRAWN.sub("", str(trail(house)))
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

    ended = at_step(house, "upload recorded", lambda: gone(house, "root")).work("export")

    assert ended == ["receive_lost"]
    export = export_of(house, export_id)
    assert (export.state, export.expires_at) == ("cancelled", None)
    assert house.backends.storage.open_uploads("") == []


def test_what_was_made_meanwhile_ends_at_once(house: House) -> None:
    export_id = house.ask_export(person="root")

    def make() -> None:
        assert house.work("export") == ["ready"]

    gone(at_step(house, "messages of somebody forgotten, not erased", make), "root")
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


def at_step(house: House, step: str, do: Callable[[], object]) -> House:
    """The house whose work does something more, once, when it comes to a step."""
    left = [do]

    def reached(at: str) -> None:
        if at == step and left:
            left.pop()()

    return house.with_backends(replace(house.backends, reached=reached))


def test_who_is_erased_while_others_are_sent_to_is_sent_nothing(house: House) -> None:
    jane = outside_of(house, "jane@partner.example").id

    def erase_both() -> None:
        gone(house, "cyd")
        erase(house.backends, house.workspace_id, jane, by=OPERATOR, do=True)

    # Bob comes first: the others have been looked up, too.
    sending = at_step(house, "recipient concluded", erase_both)
    assert sending.deliver(MONDAY + WEEK) == ["delivered"]

    assert sorted(outcomes(house).values()) == ["left_workspace", "no_address", "sent"]
    assert house.addressees() == ["bob@example.org"] * 2
    words = ("cyd@example.org", "Cyd Clerk", "jane@partner.example")
    assert [text for text in texts(house) for word in words if word in text] == []


@pytest.mark.parametrize("step", ["sending recorded", "submitted, not recorded"])
def test_to_whom_a_message_may_be_on_its_way_is_erased_once_it_is_settled(
    house: House, step: str
) -> None:
    bob = house.person("bob")

    def ask() -> None:
        with pytest.raises(Refused) as error:
            erase(house.backends, house.workspace_id, bob, by=OPERATOR, do=True)
        assert error.value.code == "message_under_way"
        assert house.person("bob") == bob

    assert at_step(house, step, ask).deliver(MONDAY + WEEK) == ["delivered"]
    gone(house, "bob")
    assert "bob@example.org" not in house.addressees()


def test_who_is_being_told_of_a_failure_is_erased_once_that_is_done(house: House) -> None:
    execute(house, "UPDATE people SET roles = '[]' WHERE name = 'ada'")
    assert house.deliver(MONDAY + WEEK) == ["access_lost"]

    codes = []

    def reached(step: str) -> None:
        if step == "notice begun, not submitted":
            try:
                erase(
                    house.backends, house.workspace_id, house.person("root"), by=OPERATOR, do=False
                )
            except Refused as error:
                codes.append(error.code)

    house.with_backends(replace(house.backends, reached=reached)).dispatch(MONDAY + WEEK)
    assert codes == ["message_under_way"]  # of the two that are told, while she is
    assert "root@example.org" in str(house.told())
    gone(house, "root")
    assert "root@example.org" not in str(house.told())


def test_what_is_sent_while_they_are_being_erased_is_removed_as_well(house: House) -> None:
    bob = house.person("bob")
    sending = at_step(
        house,
        "messages of somebody forgotten, not erased",
        lambda: house.deliver(MONDAY + WEEK),
    )

    erased = erase(sending.backends, house.workspace_id, bob, by=OPERATOR, do=True)

    assert erased.messages == 2
    assert "bob@example.org" not in house.addressees()
    assert house.person(f"erased-{bob}") == bob


def test_an_erasure_waits_for_who_is_about_to_send_and_the_other_way(house: House) -> None:
    bob, workspace_id = house.person("bob"), house.workspace_id
    with ThreadPoolExecutor(1) as thread:
        with house.backends.database.transaction(workspace_id) as connection:
            assert erasure.is_there(connection, workspace_id, bob)
            erasing = thread.submit(gone, house, "bob")
            time.sleep(0.3)
            assert not erasing.done()
        assert erasing.result(30) == bob
    with house.backends.database.transaction(workspace_id) as connection:
        assert not erasure.is_there(connection, workspace_id, bob)


def test_who_else_has_the_mailbox_is_told_and_stays(house: House) -> None:
    outside = outside_of(house, "jane@partner.example").id
    execute(
        house, "UPDATE people SET address = 'jane@PARTNER.example' WHERE name IN ('bob', 'cyd')"
    )
    erased = erase(house.backends, house.workspace_id, house.person("bob"), by=OPERATOR, do=True)
    assert erased.also == ("cyd", outside)
    assert outside_of(house, "jane@partner.example").id == outside
