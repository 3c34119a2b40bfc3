"""What a person or a pass changes in a schedule, and what a file does, come one after the other."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import sqlalchemy as sa

from queries_orchestration.catalog.apply import apply_catalog
from queries_orchestration.deliveries import admit_due, schedule_changes
from queries_orchestration.model.audit import OPERATOR
from queries_orchestration.store import sources
from queries_orchestration_tests.deliveries.test_schedule_changes import TWO_VERSIONS
from queries_orchestration_tests.house import CATALOG, MONDAY, SET_UP, WEEK, House


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_resume_and_a_file_that_changes_the_rule_come_one_after_the_other(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule_changes.pause(
        house.backends,
        house.workspace_id,
        schedule_id=house.schedule().id,
        by=OPERATOR,
        reason="x",
    )
    file = _file_meanwhile(house, monkeypatch, CATALOG.replace("0 8 * * 1", "30 15 * * 5"))

    schedule_changes.resume(
        house.backends, house.workspace_id, schedule_id=house.schedule().id, by=OPERATOR
    )
    file.join(30)

    # A Friday, as the file says.
    assert house.schedule().next_slot == SET_UP.replace(hour=14, minute=30)
    assert (house.schedule().cron, house.schedule().state) == ("30 15 * * 5", "active")


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_so_do_a_move_to_another_version_and_a_file_with_another_query(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    house.apply(TWO_VERSIONS)
    other = TWO_VERSIONS.replace("    query: all-orders", "    query: no-orders")
    file = _file_meanwhile(house, monkeypatch, other)

    moved = schedule_changes.repin(
        house.backends, house.workspace_id, schedule_id=house.schedule().id, by=OPERATOR
    )
    assert moved.pinned_version == 2
    file.join(30)

    with house.backends.database.across.read() as connection:
        source = sources.get(connection, house.workspace_id, house.schedule().source_id)
    assert source is not None
    assert (source.name, house.schedule().pinned_version) == ("no-orders", 1)
    assert house.deliver(MONDAY) == ["delivered"]


@pytest.mark.parametrize("database_kind", ["postgresql"])
def test_a_pass_and_a_file_wait_for_each_other_in_turn(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither holds a row that the other needs while it waits for the table."""
    file = _file_meanwhile(
        house, monkeypatch, CATALOG.replace("title: Weekly orders", "title: Other"), at="_due_slots"
    )

    assert house.dispatch(MONDAY).admitted == 1
    file.join(30)

    assert (house.schedule().title, house.schedule().next_slot) == ("Other", MONDAY + WEEK)


def _file_meanwhile(
    house: House, monkeypatch: pytest.MonkeyPatch, catalog: str, *, at: str = "source_of"
) -> threading.Thread:
    """Let a file be applied once a change, or a pass, has read the schedule and not yet decided.

    It goes on as soon as the file waits for it, or is written.
    """
    path = house.folder / "meanwhile.yaml"
    path.write_text(catalog)
    file = threading.Thread(
        target=lambda: apply_catalog(
            house.backends.database,
            [path],
            clock=house.clock,
            environment=house.environment,
            by=OPERATOR,
            take_over=True,
        )
    )
    module: Any = admit_due if at == "_due_slots" else schedule_changes
    original = getattr(module, at)

    def begun(*given: Any) -> Any:
        file.start()
        waiting = sa.text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        with house.backends.database.session() as watcher:
            while file.is_alive() and not watcher.scalar(waiting):
                pass
        return original(*given)

    monkeypatch.setattr(module, at, begun)
    return file
