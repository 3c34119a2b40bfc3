"""What a message tells of its delivery: late, missed, cut; and in the workspace's own words."""

from __future__ import annotations

import logging
from datetime import timedelta

import pytest
import sqlalchemy as sa

from queries_orchestration.store.tables import workspaces
from queries_orchestration_tests.deliveries.wider_house import (
    JANE,
    catalog,
    message_to,
    outcomes,
    text_of,
)
from queries_orchestration_tests.house import MONDAY, WEEK, House

OWN = """, messages: {sender_name: '{{ workspace }} Berichte', subject: '{{ schedule }} fertig',
  greeting: '{% if recipient %}Guten Tag {{ recipient }}{% else %}Guten Tag{% endif %}',
  intro: 'Ihre Datei', footer: Hamburg}"""


def said_to_bob(house: House) -> str:
    """The text of the one message to Bob, which is taken away."""
    message = message_to(house, "bob@example.org")
    for path in (house.folder / "home" / "mailbox").glob("*.eml"):
        path.unlink()
    return text_of(message)


def test_a_delivery_in_time_has_no_note(house: House) -> None:
    house.deliver(MONDAY)
    assert said_to_bob(house).split("File:   ")[1].startswith("CSV, 2,500 rows, ")
    house.deliver(MONDAY + WEEK + timedelta(minutes=30))
    assert "after its time" not in said_to_bob(house)


def test_a_late_delivery_says_so(house: House) -> None:
    house.deliver(MONDAY + timedelta(hours=5, minutes=1))
    assert "\n\nThis comes 5 hours after its time.\n" in said_to_bob(house)


def test_the_slots_that_were_missed_right_before_are_counted(house: House) -> None:
    house.deliver(MONDAY)
    assert "missed" not in said_to_bob(house)

    house.deliver(MONDAY + 3 * WEEK)
    assert "\n\nThe 2 deliveries before this one were missed.\n" in said_to_bob(house)
    house.deliver(MONDAY + 4 * WEEK)
    assert "missed" not in said_to_bob(house)
    house.deliver(MONDAY + 6 * WEEK)
    assert "\n\nThe delivery before this one was missed.\n" in said_to_bob(house)


def test_the_first_delivery_of_all_may_follow_missed_ones(house: House) -> None:
    house.deliver(MONDAY + WEEK)
    assert "\n\nThe delivery before this one was missed.\n" in said_to_bob(house)


def test_what_the_file_could_not_hold_is_told(house: House) -> None:
    house.apply(catalog("[bob]").replace("format: csv", "format: xlsx"))
    engine = sa.create_engine(house.environment["SHOP_URL"])
    with engine.begin() as connection:
        connection.execute(
            sa.text("UPDATE orders SET region = :long WHERE id = 1"), {"long": "x" * 40_000}
        )
        connection.execute(
            sa.text("UPDATE orders SET region = :bell WHERE id = 2"), {"bell": "\x07\x07"}
        )
    engine.dispose()

    assert house.deliver(MONDAY) == ["delivered"]

    text = said_to_bob(house)
    assert "\n1 text was too long for a cell and cut; the file says where.\n" in text
    assert "\n2 characters that the file's format cannot hold became \ufffd.\n" in text


def test_messages_can_be_in_the_words_of_the_workspace(house: House) -> None:
    house.apply(catalog(f"[bob, {JANE}, {{address: x@partner.example}}]", workspace=OWN))

    assert house.deliver(MONDAY) == ["delivered"]

    message = message_to(house, "jane@partner.example")
    assert message["From"].addresses[0].display_name == "Acme Berichte"
    assert message["Subject"] == "Weekly orders fertig"
    assert text_of(message).startswith("Guten Tag Jane Doe\n\nIhre Datei\n\nhttps://")
    assert "\n-- \nHamburg\nUnsubscribe: https://" in text_of(message)
    assert text_of(message_to(house, "x@partner.example")).startswith("Guten Tag\n\n")
    assert house.history()[0].message_fault is None


def test_words_that_cannot_be_used_lose_no_message_and_are_told_in_history_and_log(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.apply(catalog("[bob, cyd]", workspace=OWN))
    of_another_release = {"subject": "{{ gone }}", "footer": "{% for", "greeting": "Hallo"}
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.update(workspaces).values(messages=of_another_release))

    with caplog.at_level(logging.WARNING):
        assert house.deliver(MONDAY) == ["delivered"]

    (occurrence,) = house.history()
    assert occurrence.message_fault == "subject, footer"
    message = message_to(house, "bob@example.org")
    assert message["Subject"] == "Weekly orders, 2027-01-04 08:00"
    assert text_of(message).startswith("Hallo\n\nWeekly orders is ready\n")
    told = [record.getMessage() for record in caplog.records]
    assert told == [
        f"message_template_failed schedule={occurrence.schedule_id}"
        f" occurrence={occurrence.key} parts=subject,footer"
    ] * len(outcomes(house))
