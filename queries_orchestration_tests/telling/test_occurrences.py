"""A page of a history is asked of the store at once, not occurrence by occurrence."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from queries_orchestration.store import workspaces
from queries_orchestration.telling.occurrences import occurrences_json
from queries_orchestration_tests.house import MONDAY, WEEK, House

WEEKS = 5


def asked_for(house: House, number: int) -> tuple[list[dict[str, Any]], int]:
    """Tell the newest ``number`` occurrences; how many statements that took."""
    asked: list[str] = []
    found = house.history()[-number:]
    with house.backends.database.read(house.workspace_id) as connection:
        place = workspaces.get(connection, house.workspace_id)
        assert place is not None
        sa.event.listen(connection, "before_cursor_execute", lambda *told: asked.append(told[2]))
        told = occurrences_json(connection, house.backends, place, house.schedule(), found)
    return told, len(asked)


def test_a_longer_history_takes_no_more_statements_and_tells_each_its_own(house: House) -> None:
    for week in range(WEEKS):
        assert house.deliver(MONDAY + week * WEEK) == ["delivered"]

    one, for_one = asked_for(house, 1)
    all_told, for_all = asked_for(house, WEEKS)

    assert for_all == for_one
    assert all_told[-1:] == one
    assert [told["occurrence"] for told in all_told] == [one.key for one in house.history()]
    for told in all_told:
        sent = house.deliveries(told["occurrence"])
        assert {one["person"]: one["message_id"] for one in told["deliveries"]} == {
            name: delivery.message_id for name, delivery in sent.items()
        }
        assert [attempt["receive"] for attempt in told["attempts"]] == [1]
    files = [told["file"] and told["file"]["export"] for told in all_told]
    exports = [occurrence.export_id for occurrence in house.history()]
    assert files == [None, None, None, *exports[-2:]]  # the others have expired
