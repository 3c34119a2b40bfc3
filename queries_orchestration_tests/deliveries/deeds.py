"""What people and the operator do, each by its function: for tests of what becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from queries_orchestration.deliveries import schedule_changes
from queries_orchestration.deliveries.backfill import backfill
from queries_orchestration.deliveries.public_link import open_public_link
from queries_orchestration.deliveries.resend import resend
from queries_orchestration.deliveries.run_now import run_now
from queries_orchestration.deliveries.stop_dispatch import start_dispatch, stop_dispatch
from queries_orchestration.deliveries.unsubscribe import forget_unsubscription, unsubscribe
from queries_orchestration.exports.admit import admit_export
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.exports.download import download
from queries_orchestration.model.audit import (
    OPERATOR,
    SYSTEM,
    By,
    Subject,
)
from queries_orchestration.model.errors import Refused
from queries_orchestration.orchestration.launchpad import (
    admit_from_launchpad,
    backfill_from_launchpad,
    resend_from_launchpad,
)
from queries_orchestration.retention.erase import erase
from queries_orchestration.store import outside_addresses
from queries_orchestration_tests.deliveries.audited import REASON, by
from queries_orchestration_tests.deliveries.test_settle import FaultyCommunications
from queries_orchestration_tests.deliveries.wider_house import token_to
from queries_orchestration_tests.house import MONDAY, WEEK, House

Deed = tuple[Subject, By, str | None]
"""Of what it was, who did it, and whom it concerned."""


def export(house: House, name: str = "ada", **asked: Any) -> str:
    options: dict[str, Any] = {
        "by": by(house, name),
        "source_name": "by-region",
        "file_format": "csv",
        "given_values": {"region": "r3-secret"},
    }
    return admit_export(house.backends, house.workspace_id, **(options | asked))


def click(house: House, **asked: Any) -> str:
    options: dict[str, Any] = {"schedule_id": house.schedule().id, "by": by(house, "ada")}
    return run_now(house.backends, house.workspace_id, **(options | asked))


def ask_export(house: House) -> Deed:
    return Subject("export", export(house)), by(house, "ada"), None


def cancel(house: House) -> Deed:
    export_id = export(house)
    cancel_export(
        house.backends, house.workspace_id, by=by(house, "root", "page"), export_id=export_id
    )
    return Subject("export", export_id), by(house, "root", "page"), None


def fetch(house: House) -> Deed:
    house.deliver(MONDAY)
    export_id = house.export(house.history()[0].key).id
    download(
        house.backends.database,
        house.backends.storage,
        clock=house.clock,
        environment=house.environment,
        workspace_id=house.workspace_id,
        by=by(house, "ada"),
        export_id=export_id,
    )
    return Subject("export", export_id), by(house, "ada"), None


def follow_link(house: House) -> Deed:
    house.deliver(MONDAY)
    token = token_to(house, "bob@example.org")
    open_public_link(house.backends, token, record=False)
    open_public_link(house.backends, token, record=True)
    export_id = house.export(house.history()[0].key).id
    return Subject("export", export_id), by(house, "bob", "link"), None


def pause(house: House) -> Deed:
    schedule_changes.pause(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=by(house, "ada"),
        reason=REASON,
    )
    return Subject("schedule", house.schedule().id), by(house, "ada"), None


def resume(house: House) -> Deed:
    pause(house)
    schedule_changes.resume(
        house.backends, house.workspace_id, schedule_id=house.schedule().id, by=OPERATOR
    )
    return Subject("schedule", house.schedule().id), OPERATOR, None


def repin(house: House) -> Deed:
    second = house.schedule("second").id
    for _ in range(2):  # the second time there is nothing to change
        schedule_changes.repin(
            house.backends,
            house.workspace_id,
            schedule_id=second,
            by=by(house, "root"),
            values={"region": "another-secret"},
        )
    return Subject("schedule", second), by(house, "root"), None


def transfer(house: House) -> Deed:
    schedule_changes.transfer(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        to_person_id=house.person("gus"),
        by=by(house, "ada"),
        reason=REASON,
    )
    return Subject("schedule", house.schedule().id), by(house, "ada"), house.person("gus")


def delete(house: House) -> Deed:
    schedule_id = house.schedule().id
    schedule_changes.delete_schedule(
        house.backends, house.workspace_id, schedule_id=schedule_id, by=by(house, "ada")
    )
    return Subject("schedule", schedule_id), by(house, "ada"), None


def launch(house: House) -> Deed:
    keys = {click(house, client_key="click", reason=REASON) for _ in range(2)}
    (key,) = keys
    return Subject("occurrence", key), by(house, "ada"), None


def launch_in_dagster(house: House) -> Deed:
    asked = {
        "schedule_id": house.schedule().id,
        "person_id": house.person("ada"),
        "reason": REASON,
        "run_id": "run",
    }
    (key,) = {admit_from_launchpad(house.backends, **asked) for _ in range(2)}
    return Subject("occurrence", key), by(house, "ada", "dagster-ui"), None


def try_it(house: House) -> Deed:
    return Subject("occurrence", click(house, purpose="test")), by(house, "ada"), None


def send_again(house: House) -> Deed:
    faulty = FaultyCommunications(
        house.backends.communications, refused={"bob@example.org"}, unavailable={}
    )
    house.with_backends(replace(house.backends, communications=faulty)).deliver(MONDAY)
    origin = house.history()[0].key
    (key,) = {
        resend(
            house.backends,
            house.workspace_id,
            occurrence_key=origin,
            by=by(house, "ada"),
            reason=REASON,
        )
        for _ in range(2)
    }
    resend_from_launchpad(  # it is under way
        house.backends,
        occurrence_key=key,
        person_id=house.person("ada"),
        reason=REASON,
    )
    return Subject("occurrence", key), by(house, "ada"), None


def fill_a_day(house: House) -> Deed:
    house.deliver(MONDAY + WEEK)
    schedule_id, ada = house.schedule().id, by(house, "ada")
    for _ in range(2):
        backfill(
            house.backends,
            MONDAY.date(),
            by=ada,
            workspace_id=house.workspace_id,
            schedule_id=schedule_id,
        )
    return Subject("schedule", schedule_id), ada, None


def fill_a_day_in_dagster(house: House) -> Deed:
    house.deliver(MONDAY + WEEK)
    schedule_id = house.schedule().id
    for _ in range(2):
        backfill_from_launchpad(
            house.backends, MONDAY.date(), workspace_id="", schedule_id=schedule_id, person_id=""
        )
    return Subject("schedule", schedule_id), SYSTEM, None


def end_messages(house: House) -> Deed:
    house.deliver(MONDAY + 2 * WEEK)
    token = token_to(house, "jane@partner.example", "u")
    for _ in range(2):
        unsubscribe(house.backends, token, everywhere=True)
    jane = _outside(house)
    second = Subject("schedule", house.schedule("second").id)
    return second, By(via="link", outside_id=jane), jane


def have_messages_again(house: House) -> Deed:
    second, _, jane = end_messages(house)
    assert second.id is not None
    assert jane is not None
    for _ in range(2):
        with house.backends.database.across.transaction() as connection:
            forget_unsubscription(
                connection,
                house.workspace_id,
                schedule_id=second.id,
                recipient_id=jane,
                by=OPERATOR,
                at=house.clock(),
            )
    return second, OPERATOR, jane


def stop(house: House) -> Deed:
    stop_dispatch(house.backends, by=OPERATOR, name="root", reason=REASON)
    with pytest.raises(Refused):
        stop_dispatch(house.backends, by=OPERATOR, name="root", reason=REASON)
    return Subject("workspace", house.workspace_id), OPERATOR, None


def start(house: House) -> Deed:
    stop(house)
    start_dispatch(house.backends, by=OPERATOR, name="root", reason=REASON)
    return Subject("workspace", house.workspace_id), OPERATOR, None


def _outside(house: House) -> str:
    with house.backends.database.across.read() as connection:
        (jane,) = outside_addresses.listing(connection, house.workspace_id)
    return jane.id


def erase_somebody(house: House) -> Deed:
    person_id = house.person("cyd")
    for _ in range(2):
        erase(house.backends, house.workspace_id, person_id, by=by(house, "root"), do=True)
    return Subject("workspace", house.workspace_id), by(house, "root"), person_id


DEEDS: dict[str, Callable[[House], Deed]] = {
    "export_asked": ask_export,
    "export_cancelled": cancel,
    "file_downloaded": fetch,
    "file_downloaded by link": follow_link,
    "schedule_paused": pause,
    "schedule_resumed": resume,
    "schedule_repinned": repin,
    "schedule_transferred": transfer,
    "schedule_deleted": delete,
    "run_launched": launch,
    "run_launched in Dagster": launch_in_dagster,
    "test_launched": try_it,
    "resend_launched": send_again,
    "backfill_launched": fill_a_day,
    "backfill_launched in Dagster": fill_a_day_in_dagster,
    "unsubscribed": end_messages,
    "resubscribed": have_messages_again,
    "dispatch_stopped": stop,
    "dispatch_started": start,
    "person_erased": erase_somebody,
}
"""What somebody does, once or as often as it changes nothing more: of what, by whom, for whom."""
