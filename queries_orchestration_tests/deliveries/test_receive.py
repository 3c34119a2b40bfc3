"""A whole receive: the file, the messages, the outcome, and what each refusal does."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy import Connection

from queries_orchestration.model.errors import ReceiveLost
from queries_orchestration.model.links import verify
from queries_orchestration.receives.backends import Backends
from queries_orchestration.store import claims, occurrences
from queries_orchestration.store.claims import Receive
from queries_orchestration_tests.house import CATALOG, MONDAY, WEEK, House, build_house


def test_a_delivery_gives_each_present_recipient_the_complete_file_behind_an_own_link(
    house: House,
) -> None:
    assert house.deliver(MONDAY) == ["delivered"]

    (occurrence,) = house.history()
    export = house.export(occurrence.key)
    lines = house.file(occurrence.key).decode().splitlines()
    assert lines[0] == "Order,Region,amount"
    assert lines[1] == "1,r1,1.25"
    assert lines[-1] == "2500,r1,2500.25"
    assert (len(lines) - 1, export.rows, export.state) == (2500, 2500, "ready")
    assert export.size == len(house.file(occurrence.key))
    assert export.completed_at == MONDAY
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert {
        name: (row.state, row.code) for name, row in house.deliveries(occurrence.key).items()
    } == {"bob": ("sent", None), "dan": ("skipped", "inactive"), "cyd": ("sent", None)}


def test_each_link_is_personal_lasts_seven_days_and_its_file_two_more(house: House) -> None:
    house.deliver(MONDAY)

    (occurrence,) = house.history()
    persons = set()
    for message in house.messages():
        body = message.get_body(("plain",))
        assert body is not None
        found = re.search(r"https://queries\.example\.org/d/(\S+)", body.get_content())
        assert found is not None
        link = verify(house.backends.link_keys, found[1], now=MONDAY + timedelta(days=6))
        persons.add(link.recipient_id)
        assert link.expires_at == MONDAY + timedelta(days=7)
        assert link.occurrence_key == occurrence.key
    assert len(persons) == 2
    assert house.export(occurrence.key).expires_at == MONDAY + timedelta(days=9)


def test_the_owner_who_lost_access_fails_the_occurrence_and_pauses_the_schedule(
    house: House,
) -> None:
    house.apply(_person("ada", roles="[reader]"))

    assert house.deliver(MONDAY) == ["access_lost"]

    (occurrence,) = house.history()
    schedule = house.schedule()
    assert (occurrence.outcome, occurrence.code) == ("failed", "access_lost")
    assert occurrence.actor_id == schedule.owner_id
    assert (schedule.state, schedule.pause_code) == ("paused", "access_lost")
    assert (schedule.next_slot, schedule.failure_streak) == (None, 1)
    assert house.messages() == []
    assert house.dispatch(MONDAY + WEEK).admitted == 0


def test_an_inactive_owner_delivers_nothing(house: House) -> None:
    house.apply(_person("ada", roles="[author]", active="false"))

    assert house.deliver(MONDAY) == ["actor_inactive"]
    assert house.schedule().state == "paused"


def test_an_empty_result_is_skipped_when_the_schedule_says_so(house: House) -> None:
    house.apply(_schedule("empty", query="no-orders", skip_empty="true"))

    assert sorted(house.deliver(MONDAY)) == ["delivered", "skipped_empty"]

    (occurrence,) = house.history("empty")
    assert occurrence.outcome == "skipped_empty"
    assert house.deliveries(occurrence.key) == {}
    assert house.schedule("empty").failure_streak == 0


def test_an_empty_result_is_sent_as_a_header_when_the_schedule_does_not_skip_it(
    house: House,
) -> None:
    house.apply(_schedule("empty", query="no-orders", skip_empty="false"))

    assert house.deliver(MONDAY) == ["delivered", "delivered"]

    (occurrence,) = house.history("empty")
    assert house.file(occurrence.key) == b"id\n"


def test_without_a_present_recipient_the_file_is_made_and_nobody_is_told(house: House) -> None:
    for name in ("bob", "cyd"):
        house.apply(_person(name, roles="[reader]", active="false"))

    assert house.deliver(MONDAY) == ["no_recipients"]
    assert house.messages() == []


def test_two_recipients_with_one_mailbox_get_one_message(house: House) -> None:
    house.apply(_person("cyd", roles="[reader]", address="BOB@example.org"))

    assert house.deliver(MONDAY) == ["delivered"]

    (occurrence,) = house.history()
    assert house.deliveries(occurrence.key)["cyd"].code == "duplicate"
    assert house.addressees() == ["bob@example.org"]


def test_a_recipient_without_address_is_skipped_with_the_reason(house: House) -> None:
    house.apply(_person("cyd", roles="[reader]", address=""))

    house.deliver(MONDAY)

    (occurrence,) = house.history()
    assert house.deliveries(occurrence.key)["cyd"].code == "no_address"


def test_a_dropped_column_fails_for_good_and_is_no_access_loss(
    house: House, source_url: str
) -> None:
    _run(source_url, "ALTER TABLE orders DROP COLUMN region")

    assert house.deliver(MONDAY) == ["source_broken"]

    (occurrence,) = house.history()
    assert (occurrence.receive_number, occurrence.code) == (1, "source_broken")
    assert house.export(occurrence.key).state == "failed"
    assert (house.schedule().state, house.schedule().failure_streak) == ("active", 1)
    assert "region" not in (occurrence.message or "").replace("regional", "")


def test_five_failures_in_a_row_pause_the_schedule(house: House, source_url: str) -> None:
    _run(source_url, "DROP TABLE orders")

    for week in range(5):
        assert house.schedule().state == "active"
        house.deliver(MONDAY + week * WEEK)

    schedule = house.schedule()
    assert (schedule.state, schedule.pause_code) == ("paused", "five_failures")
    assert "source_broken" in (schedule.pause_reason or "")
    assert schedule.failure_streak == 5


def test_a_success_resets_the_streak(house: House, source_url: str) -> None:
    _run(source_url, "ALTER TABLE orders RENAME TO elsewhere")
    for week in range(4):
        house.deliver(MONDAY + week * WEEK)
    assert house.schedule().failure_streak == 4

    _run(source_url, "ALTER TABLE elsewhere RENAME TO orders")
    house.deliver(MONDAY + 4 * WEEK)

    assert (house.schedule().failure_streak, house.schedule().state) == (0, "active")


def test_a_transient_failure_is_tried_three_times_then_settles(
    house: House, tmp_path: Path
) -> None:
    mailbox = tmp_path / "home" / "mailbox"
    mailbox.parent.mkdir(parents=True, exist_ok=True)
    mailbox.write_text("a file where the folder should be")

    codes = [house.deliver(MONDAY) for _ in range(4)]

    assert codes == [["communications_unavailable"]] * 3 + [[]]
    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.code) == ("failed", "communications_unavailable")
    assert occurrence.receive_number == 3
    assert house.schedule().failure_streak == 1


def test_a_retry_reuses_the_file_and_sends_only_what_is_not_recorded(
    house: House, tmp_path: Path, source_url: str
) -> None:
    mailbox = tmp_path / "home" / "mailbox"
    mailbox.parent.mkdir(parents=True, exist_ok=True)
    mailbox.write_text("")
    house.deliver(MONDAY)
    made = house.export(house.history()[0].key)
    _run(source_url, "DELETE FROM orders")

    mailbox.unlink()
    assert house.deliver(MONDAY) == ["delivered"]

    (occurrence,) = house.history()
    assert house.export(occurrence.key).sha256 == made.sha256
    assert occurrence.receive_number == 2
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]


def test_a_source_that_cannot_be_reached_is_transient(
    tmp_path: Path, store_url: str, source_url: str
) -> None:
    house = build_house(tmp_path, store_url, source_url)
    nowhere = _unreachable(source_url)
    away = house.with_backends(_with_source(house, nowhere))

    assert away.deliver(MONDAY) == ["source_unavailable"]
    assert house.history()[0].state == "waiting"
    assert house.deliver(MONDAY) == ["delivered"]


def test_a_connection_without_its_variable_says_which_one_to_set(house: House) -> None:
    away = house.with_backends(_with_source(house, ""))

    for _ in range(3):
        assert away.deliver(MONDAY) == ["source_unavailable"]
    assert "SHOP_URL" in (house.history()[0].message or "")


def test_a_late_worker_changes_nothing_once_another_receive_has_the_work(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    with house.backends.database.across.transaction() as connection:
        late = claims.start(
            connection,
            house.workspace_id,
            offer.key,
            offer_number=offer.number,
            run_id="late",
        )
    assert late == Receive(house.workspace_id, offer.key, 1)
    with house.backends.database.across.transaction() as connection:
        claims.wait_again(connection, late, code="worker_lost", delay=0)
    assert house.deliver(MONDAY) == ["delivered"]

    writes: list[Callable[[Connection], None]] = [
        lambda connection: claims.hold(connection, late),
        lambda connection: claims.wait_again(connection, late, code="x", delay=0),
        lambda connection: occurrences.settle(
            connection, late, outcome="failed", code="x", message=None, at=MONDAY
        ),
    ]
    for write in writes:
        with (
            pytest.raises(ReceiveLost),
            house.backends.database.across.transaction() as connection,
        ):
            write(connection)
    assert house.history()[0].outcome == "delivered"


def test_a_settled_or_running_occurrence_is_not_worked_again(house: House) -> None:
    (offer,) = house.dispatch(MONDAY).offers
    assert house.take(offer) == "delivered"
    assert house.take(offer) == "nothing"
    assert len(house.messages()) == 2


def test_the_pinned_version_is_delivered_and_a_newer_one_flagged(house: House) -> None:
    house.apply(CATALOG.replace("{field: amount}]", "{field: amount, label: Amount in EUR}]", 1))

    house.deliver(MONDAY)

    (occurrence,) = house.history()
    assert house.file(occurrence.key).decode().splitlines()[0] == "Order,Region,amount"
    assert occurrence.source_changed


def _person(name: str, *, roles: str, active: str = "true", address: str | None = None) -> str:
    mail = f"{name}@example.org" if address is None else address
    told = f", address: {mail}" if mail else ""
    title = {"ada": "Ada Owner", "bob": "Bob Buyer", "cyd": "Cyd Clerk"}[name]
    return (
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        f"people:\n  {name}: {{title: {title}, roles: {roles}, active: {active}{told}}}\n"
    )


def _schedule(name: str, *, query: str, skip_empty: str) -> str:
    return (
        "workspace: {name: acme, title: Acme, time_zone: Europe/Berlin}\n"
        f"schedules:\n  {name}: {{title: {name}, query: {query}, owner: ada, cron: 0 8 * * 1,"
        f" format: csv, recipients: [bob], skip_empty: {skip_empty}}}\n"
    )


def _run(url: str, statement: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text(statement))
    engine.dispose()


def _unreachable(source_url: str) -> str:
    """A URL of the same kind under which nobody answers."""
    if source_url.startswith("sqlite"):
        return "sqlite:////nowhere/at/all.db"
    return "postgresql+psycopg2://nobody:nothing@127.0.0.1:1/nothing"


def _with_source(house: House, url: str) -> Backends:
    return replace(house.backends, environment={**house.environment, "SHOP_URL": url})


def test_history_keeps_why_each_receive_ended(house: House, tmp_path: Path) -> None:
    mailbox = tmp_path / "home" / "mailbox"
    mailbox.parent.mkdir(parents=True, exist_ok=True)
    mailbox.write_text("")
    house.deliver(MONDAY)
    mailbox.unlink()
    house.deliver(MONDAY)

    (occurrence,) = house.history()
    with house.backends.database.across.read() as connection:
        attempts = claims.attempts(connection, house.workspace_id, occurrence.key)
    assert [(one.number, one.code) for one in attempts] == [
        (1, "communications_unavailable"),
        (2, None),
    ]
    assert all(one.ended_at is not None and one.started_at <= one.ended_at for one in attempts)
