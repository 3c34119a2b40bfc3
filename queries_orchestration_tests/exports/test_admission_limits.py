"""How many exports may be unfinished at once, and what a second request with one key gets."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration.model.errors import Refused, TooManyExports
from queries_orchestration_tests.downloads import STAFF, change_export, export_of
from queries_orchestration_tests.exports.admitted import admit, at_point, everything, requested
from queries_orchestration_tests.house import CATALOG, MONDAY, House

HOUR = timedelta(hours=1)


@pytest.fixture
def house(house: House) -> House:
    """The house with its staff; a person may have two unfinished exports, the workspace three."""
    house.apply(STAFF)
    house.clock.at = MONDAY
    settings = replace(house.backends.settings, exports_per_person=2, exports_per_workspace=3)
    return house.with_backends(replace(house.backends, settings=settings))


def refusal(house: House, person: str = "ada", **asked: Any) -> TooManyExports:
    before = everything(house)
    with pytest.raises(TooManyExports) as refused:
        admit(house, person, **asked)
    assert everything(house) == before
    return refused.value


def test_a_person_may_have_so_many_unfinished_and_is_told_when_to_ask_again(house: House) -> None:
    first = admit(house)
    admit(house)

    told = refusal(house)

    assert (told.code, told.retry_after) == ("too_many_exports", 10)
    assert "You have 2 exports that are not finished" in told.message
    assert "Ask again in 10 seconds, or cancel one" in told.message
    house.clock.at = MONDAY + timedelta(seconds=90)
    # The oldest has taken 90 seconds by now.
    assert refusal(house).retry_after == 90
    house.clock.at = MONDAY + HOUR
    assert refusal(house).retry_after == 600
    assert admit(house, "gus")
    cancel_export(
        house.backends,
        house.workspace_id,
        by=house.by("ada"),
        export_id=first,
    )
    assert admit(house)


def test_a_workspace_may_have_so_many_unfinished_of_all_its_people(house: House) -> None:
    for person in ("ada", "ada", "gus"):
        admit(house, person)

    told = refusal(house, "eve")

    assert "The workspace has 3 exports" in told.message
    assert house.work("export") == ["ready"] * 3
    assert admit(house, "eve")


def test_what_runs_or_waits_for_another_receive_counts_and_what_is_finished_does_not(
    house: House,
) -> None:
    for state, code in (("failed", "source_broken"), ("cancelled", None)):
        change_export(house, admit(house), state=state, code=code)
    one, other = admit(house), admit(house)
    change_export(house, one, state="running")

    refusal(house)

    change_export(house, one, state="cancelled")
    change_export(house, other, state="cancelled")
    assert admit(house)


def test_files_of_deliveries_are_neither_counted_nor_refused(house: House) -> None:
    admit(house)
    assert house.deliver(MONDAY) == ["delivered"]
    (occurrence,) = house.history()
    change_export(house, house.export(occurrence.key).id, state="running")
    admit(house)
    refusal(house)

    assert house.deliver(MONDAY + timedelta(days=7)) == ["delivered"]


def test_another_workspace_has_its_own_exports(house: House) -> None:
    house.apply(CATALOG.replace("name: acme", "name: other"))
    with house.backends.database.across.read() as connection:
        other = connection.exec_driver_sql("SELECT id FROM workspaces WHERE name = 'other'")
        elsewhere = replace(house, workspace_id=str(other.scalar_one()))
    for person in ("ada", "ada", "gus"):
        admit(house, person)

    assert admit(elsewhere)
    refusal(house, "eve")


def test_bad_input_is_told_as_such_and_not_as_too_many(house: House) -> None:
    admit(house)
    admit(house)

    with pytest.raises(Refused) as refused:
        admit(house, query="nothing")

    assert refused.value.code == "not_found"


def meanwhile(house: House, **asked: Any) -> tuple[str, Future[str]]:
    """Ask while another request of the same person is written and not committed yet."""
    second: list[Future[str]] = []
    with ThreadPoolExecutor(1) as threads:

        def ask() -> None:
            started = threading.Event()

            def admit_second() -> str:
                started.set()
                return admit(house, **asked)

            second.append(threads.submit(admit_second))
            started.wait(10)
            time.sleep(0.2)
            assert not second[0].done()

        first = admit(at_point(house, "export queued, not committed", ask), **asked)
    return first, second[0]


def test_two_processes_at_once_cannot_both_take_the_last_place(house: House) -> None:
    admit(house)

    first, second = meanwhile(house)

    assert isinstance(second.exception(), TooManyExports)
    assert first in requested(house)
    assert len(requested(house)) == 2


def test_the_same_click_twice_at_once_is_one_export(house: House) -> None:
    first, second = meanwhile(house, client_key="click")

    assert second.result() == first
    assert requested(house) == [first]


def test_asked_again_with_the_same_key_it_is_the_same_export_in_whatever_state(
    house: House,
) -> None:
    made = admit(house, client_key="Klick 1, ü")
    admit(house)
    # Unfinished: also where one more export would be too many.
    assert admit(house, client_key="Klick 1, ü") == made
    before = everything(house)
    assert admit(house, client_key="Klick 1, ü") == made
    assert everything(house) == before
    assert house.work("export") == ["ready", "ready"]

    for state in ("ready", "expired"):
        change_export(house, made, state=state)
        assert admit(house, client_key="Klick 1, ü") == made
    assert export_of(house, made).client_key == "Klick 1, ü"


def test_the_same_key_of_another_person_is_another_export(house: House) -> None:
    assert admit(house, client_key="click") != admit(house, "gus", client_key="click")


def test_a_key_given_to_something_else_is_refused(house: House) -> None:
    house.apply(
        CATALOG.split("schedules:")[0]
        + "    parameters: [{name: region, type: text, default: r1}]\n"
    )
    values = {"region": "r1"}
    asked: dict[str, Any] = {"query": "no-orders", "client_key": "click", "values": values}
    made = admit(house, **asked)
    before = everything(house)

    others: list[dict[str, Any]] = [
        {"query": "all-orders", "values": {}},
        {"file_format": "xlsx"},
        {"values": {"region": "r2"}},
        {"values": {}},
        {"time_zone": "Asia/Tokyo"},
    ]
    for other in others:
        with pytest.raises(Refused) as refused:
            admit(house, **(asked | other))
        assert refused.value.code == "client_key_reused", other
        assert "'click'" in refused.value.message
    assert everything(house) == before
    assert admit(house, **asked) == made


@pytest.mark.parametrize("key", ["", "x" * 201, "tab\t", "nul\0", "line\n", "\ud800"])
@pytest.mark.parametrize("database_kind", ["sqlite"])
def test_what_is_no_key_is_refused(house: House, key: str) -> None:
    with pytest.raises(Refused) as refused:
        admit(house, client_key=key)

    assert refused.value.code == "invalid_client_key"
    assert admit(house, client_key="x" * 200)
