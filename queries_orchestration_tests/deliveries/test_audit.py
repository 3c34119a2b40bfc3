"""The audit trail: what somebody does is in it once, and nothing that it must not hold."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest
import sqlalchemy as sa

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.model.audit import (
    ACTIONS,
    OPERATOR,
    SYSTEM,
    WAYS,
    Subject,
)
from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.store.tables import audit_events
from queries_orchestration_tests.deliveries.audited import MORE, actions, by, only, trail
from queries_orchestration_tests.deliveries.deeds import (
    DEEDS,
    cancel,
    click,
    export,
    have_messages_again,
    launch,
    repin,
    resume,
    send_again,
    start,
    transfer,
    try_it,
)
from queries_orchestration_tests.deliveries.wider_house import token_to
from queries_orchestration_tests.house import MONDAY, House


@pytest.fixture
def house(house: House) -> House:
    """The house with two schedules, an administrator and an outside address."""
    house.apply(MORE)
    house.clock.at = MONDAY
    return house


@pytest.mark.parametrize("deed", DEEDS)
def test_what_somebody_does_is_recorded_once_with_who_and_how(house: House, deed: str) -> None:
    subject, who, concerned = DEEDS[deed](house)

    event = only(house, deed.split()[0])
    assert (event.subject, event.by, event.concerns_id) == (subject, who, concerned)
    assert (event.code, event.attempted) == (None, None)
    assert event.at == house.clock.at


def test_every_action_has_a_test() -> None:
    elsewhere = {"schedule_created", "schedule_changed", "catalog_applied", "refused"}
    assert {deed.split()[0] for deed in DEEDS} | elsewhere == set(ACTIONS)


def test_nothing_in_the_trail_is_more_than_an_id_or_a_word_of_ours(house: House) -> None:
    for deed in (send_again, cancel, repin, resume, launch, try_it, have_messages_again, start):
        deed(house)
    open_public_link(house.backends, token_to(house, "jane@partner.example"), record=True)
    transfer(house)
    words = {*ACTIONS, *WAYS, "workspace", "schedule", "occurrence", "source", "export"}

    with house.backends.database.across.read() as connection:
        rows = connection.execute(sa.select(audit_events)).all()
    assert len({row.action for row in rows}) > 10
    for row in rows:
        texts = [one for one in row if isinstance(one, str) and one not in words]
        for text in texts:
            assert re.fullmatch(r"[a-z2-7]{26}(@\d{8}T\d{6}Z|![a-z2-7]{26})?", text), text
    told = repr(rows)
    for secret in ("@example", "@partner", "secret", "Because", "Jane", "Root"):
        assert secret not in told


@pytest.mark.parametrize(
    ("point", "ask"),
    [
        ("run now, not committed", click),
        ("export queued, not committed", export),
    ],
)
def test_what_is_rolled_back_leaves_no_event(
    house: House, point: str, ask: Callable[[House], str]
) -> None:
    def die(step: str) -> None:
        if step == point:
            raise KeyboardInterrupt

    dying = house.with_backends(replace(house.backends, reached=die))
    with pytest.raises(KeyboardInterrupt):
        ask(dying)

    assert actions(house) == []
    ask(house)
    assert len(actions(house)) == 1


def test_the_same_click_for_an_export_is_recorded_once(house: House) -> None:
    assert export(house, client_key="click") == export(house, client_key="click")

    assert actions(house) == ["export_asked"]


def test_an_apply_is_recorded_with_its_schedules_and_only_if_it_changes_something(
    house: House,
) -> None:
    applied = trail(house)
    assert sorted((one.action, one.subject.kind) for one in applied) == [
        ("catalog_applied", "workspace"),
        ("catalog_applied", "workspace"),
        ("schedule_created", "schedule"),
        ("schedule_created", "schedule"),
    ]
    assert {one.by for one in applied} == {OPERATOR}
    ids = {house.schedule("weekly").id, house.schedule("second").id}
    assert {one.subject.id for one in applied} == {*ids, house.workspace_id}

    house.apply(MORE)
    assert trail(house) == applied
    house.apply(MORE.replace("0 9 * * 1", "0 10 * * 1"))
    new = [one for one in trail(house) if one not in applied]
    assert sorted((one.action, one.subject.id) for one in new) == [
        ("catalog_applied", house.workspace_id),
        ("schedule_changed", house.schedule("second").id),
    ]


def test_schedules_that_are_pruned_are_recorded_once(house: House) -> None:
    house.deliver(MONDAY)
    second, weekly = house.schedule("second").id, house.schedule("weekly").id
    before, root = trail(house), by(house, "root", "page")
    path = house.folder / "more.yaml"
    path.write_text("workspace: {name: acme}\n")
    for _ in range(2):
        apply_catalog(
            house.backends.database,
            [path],
            clock=house.clock,
            environment=house.environment,
            by=root,
            prune=True,
        )

    new = [one for one in trail(house) if one not in before]
    assert sorted((one.action, one.subject.id or "") for one in new) == sorted(
        [
            ("catalog_applied", house.workspace_id),
            ("schedule_deleted", second),  # is removed
            ("schedule_deleted", weekly),  # has a history, and ends
        ]
    )


def test_the_trail_tells_of_who_and_what_is_gone(house: House) -> None:
    root, second = house.person("root"), house.schedule("second").id
    schedule_changes.delete_schedule(
        house.backends, house.workspace_id, schedule_id=second, by=by(house, "root")
    )
    path = house.folder / "more.yaml"
    path.write_text("workspace: {name: acme}\npeople: {ada: {title: A, roles: [author]}}\n")
    apply_catalog(
        house.backends.database,
        [path],
        clock=house.clock,
        environment=house.environment,
        by=OPERATOR,
        prune=True,
    )

    with pytest.raises(AssertionError):
        house.person("root")
    (event,) = [one for one in trail(house) if one.by.person_id == root]
    assert (event.action, event.subject.id) == ("schedule_deleted", second)


def test_the_system_pauses_with_the_code(house: House) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE people SET active = false WHERE name = 'ada'"))

    assert house.deliver(MONDAY) == ["actor_inactive"]
    house.dispatch(MONDAY)

    event = only(house, "schedule_paused")
    assert (event.by, event.code) == (SYSTEM, "actor_inactive")
    assert event.subject == Subject("schedule", house.schedule().id)


@pytest.mark.parametrize("cron", ["61 * * * *", "never"])
def test_a_quarantine_is_a_pause_by_the_system(house: House, cron: str) -> None:
    with house.backends.database.across.transaction() as connection:
        connection.execute(
            sa.text("UPDATE schedules SET cron = :cron WHERE name = 'weekly'"), {"cron": cron}
        )

    house.dispatch(MONDAY)
    house.dispatch(MONDAY)

    event = only(house, "schedule_paused")
    assert (event.by, event.code) == (SYSTEM, "invalid_recurrence")


def test_a_refused_link_is_no_download(house: House) -> None:
    house.deliver(MONDAY)
    token = token_to(house, "bob@example.org")
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE people SET active = false WHERE name = 'bob'"))

    with pytest.raises(LinkRefused):
        open_public_link(house.backends, token, record=True)

    assert actions(house) == ["refused"]
