"""``queries mailbox``: both forms."""

from __future__ import annotations

from pathlib import Path

from queries_orchestration.model.links import verify
from queries_orchestration_tests.cli.conftest import Call, Place
from queries_orchestration_tests.house import MONDAY, House


def test_each_message_is_told_with_its_personal_link(small_house: House, call: Call) -> None:
    small_house.deliver(MONDAY)
    (occurrence,) = small_house.history()

    messages = call(small_house.environment, "mailbox", "--json").json()["messages"]

    assert {message["to"] for message in messages} == {"bob@example.org", "cyd@example.org"}
    deliveries = small_house.deliveries(occurrence.key)
    for message in messages:
        assert set(message) == {"file", "to", "subject", "date", "link"}
        assert message["date"] == "2027-01-04T07:00:00+00:00"
        assert message["subject"].startswith("Weekly orders")
        assert message["to"] in Path(message["file"]).read_text()
        token = message["link"].removeprefix("https://queries.example.org/d/")
        link = verify(small_house.backends.link_keys, token, now=MONDAY)
        assert link.recipient_id == deliveries[message["to"].partition("@")[0]].recipient_id


def test_people_read_date_address_subject_and_file(small_house: House, call: Call) -> None:
    small_house.deliver(MONDAY)

    told = call(small_house.environment, "mailbox")

    lines = told.out.splitlines()
    assert len(lines) == 4
    for line, file in zip(lines[::2], lines[1::2], strict=True):
        assert line.startswith("2027-01-04 07:00 UTC  ")
        assert "@example.org  Weekly orders" in line
        assert Path(file.strip()).is_file()
    assert "/d/" not in told.out


def test_an_empty_mailbox_says_so(place: Place, call: Call) -> None:
    call(place.environment, "init")

    assert call(place.environment, "mailbox").out == "There are no messages yet.\n"
    assert call(place.environment, "mailbox", "--json").json() == {"messages": []}


def test_an_address_of_no_backend_is_refused(place: Place, call: Call) -> None:
    call(place.environment, "init")
    place.environment["QUERIES_COMMUNICATIONS_URL"] = "pigeon://ann:tr0ub4dor@roof"

    refused = call(place.environment, "mailbox")

    assert refused.status == 2
    assert refused.err.startswith("invalid_settings: QUERIES_COMMUNICATIONS_URL")
    assert "tr0ub4dor" not in refused.err
