"""What must be there once an occurrence is delivered, whoever was killed meanwhile."""

from __future__ import annotations

from queries_orchestration.store.occurrences import Occurrence
from queries_orchestration_tests.house import MONDAY, House


def assert_delivered_once(house: House) -> Occurrence:
    """The one slot, with its file and one message for each recipient."""
    (occurrence,) = house.history()
    assert (occurrence.outcome, occurrence.slot) == ("delivered", MONDAY)
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert {name: row.state for name, row in house.deliveries(occurrence.key).items()} == {
        "bob": "sent",
        "cyd": "sent",
        "dan": "skipped",
    }
    assert len(house.file(occurrence.key).splitlines()) == 2_501
    assert len(visible(house)) == 1
    return occurrence


def visible(house: House) -> list[str]:
    """The keys under which storage shows a file."""
    folder = house.folder / "home" / "files"
    found = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    return [str(path) for path in found if ".uploads" not in path.parts]
