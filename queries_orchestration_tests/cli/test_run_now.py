"""``queries run-now``: asked for, followed until settled, told who got what."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.cli.workers import at_work
from queries_orchestration_tests.downloads import STAFF
from queries_orchestration_tests.house import House

ASKED = ("run-now", "weekly", "--as", "ada")


def test_it_is_delivered_now_and_told_who_got_what(house: House, call: Call) -> None:
    with at_work(house, "delivery"):
        told = call(house.environment, *ASKED, "--reason", "asked by phone", "--json").json()

    (occurrence,) = house.history()
    assert (occurrence.via, occurrence.reason) == ("run-now", "asked by phone")
    assert (told["occurrence"], told["outcome"], told["actor"]) == (
        occurrence.key,
        "delivered",
        "ada",
    )
    assert told["file"]["rows"] == 2_500
    assert {one["person"]: (one["state"], one["code"]) for one in told["deliveries"]} == {
        "bob": ("sent", None),
        "cyd": ("sent", None),
        "dan": ("skipped", "inactive"),
    }
    assert house.addressees() == ["bob@example.org", "cyd@example.org"]
    assert call(house.environment, "history", "--json").json()["occurrences"] == [told]


def test_a_person_reads_the_outcome_in_two_lines(small_house: House, call: Call) -> None:
    with at_work(small_house, "delivery"):
        told = call(small_house.environment, *ASKED)

    (occurrence,) = small_house.history()
    assert (told.status, told.err) == (0, "Running acme/weekly\n")
    assert told.out == (
        f"acme/weekly  delivered  {occurrence.key}\n"
        "  2,500 rows as csv for ada: bob sent, cyd sent, dan skipped (inactive)\n"
    )


def test_the_same_click_twice_is_delivered_once(house: House, call: Call) -> None:
    with at_work(house, "delivery"):
        first = call(house.environment, *ASKED, "--key", "click-1", "--json").json()
        second = call(house.environment, *ASKED, "--key", "click-1", "--json").json()
        other = call(house.environment, *ASKED, "--key", "click-2", "--json").json()

    assert second == first
    assert other["occurrence"] != first["occurrence"]
    assert len(house.history()) == 2
    assert len(house.messages()) == 4


def test_an_empty_result_that_is_skipped_is_a_good_end(house: House, call: Call) -> None:
    house.apply(
        "workspace: {name: acme}\n"
        "schedules:\n"
        "  empty: {title: Nobody, query: no-orders, owner: ada, cron: 0 8 * * 1, format: csv,"
        " skip_empty: true, recipients: [bob]}\n"
    )

    with at_work(house, "delivery"):
        told = call(house.environment, "run-now", "empty", "--as", "ada", "--json").json()

    assert (told["outcome"], told["deliveries"]) == ("skipped_empty", [])


def test_a_failed_run_ends_with_1_and_says_why(house: House, source_url: str, call: Call) -> None:
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME COLUMN region TO area"))
    engine.dispose()

    with at_work(house, "delivery"):
        text = call(house.environment, *ASKED)
        machine = call(house.environment, *ASKED, "--json")

    assert (text.status, machine.status) == (1, 1)
    assert text.out.startswith("acme/weekly  failed  ")
    assert text.err.splitlines()[-1].startswith("source_broken: ")
    told = machine.refusal()
    assert (told["outcome"], told["code"], told["deliveries"]) == ("failed", "source_broken", [])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("nothing", "--as", "ada"), "not_found"),
        (("weekly", "--as", "zoe"), "not_found"),
        (("weekly", "--as", "gus"), "not_found"),
        (("weekly", "--as", "bob"), "not_found"),
        (("weekly", "--as", "fay"), "access_lost"),
        (("weekly", "--as", "ada", "--workspace", "x"), "not_found"),
        (("weekly", "--as", "ada", "--key", ""), "usage"),
        (("weekly", "--as", "ada", "--key", "k" * 201), "usage"),
        (("weekly", "--as", "ada", "--no-wait", "--work"), "usage"),
        (("weekly", "--as", "ada", "--no-wait", "--wait", "1"), "usage"),
        (("weekly", "--as", "ada", "--wait", "nan"), "usage"),
    ],
)
def test_what_is_refused_writes_nothing(
    words: tuple[str, ...], code: str, small_house: House, call: Call
) -> None:
    small_house.apply(STAFF)

    refused = call(small_house.environment, "run-now", *words, "--json")

    assert (refused.status, refused.refusal()["code"]) == (2, code)
    assert small_house.history() == []


def test_without_waiting_the_key_is_told(small_house: House, call: Call) -> None:
    told = call(small_house.environment, *ASKED, "--no-wait")

    (occurrence,) = small_house.history()
    assert (told.status, told.out, told.err) == (0, f"{occurrence.key}\n", "")
    assert occurrence.state == "waiting"


def test_it_waits_no_longer_than_told_and_says_how_to_see_it(
    small_house: House, call: Call
) -> None:
    ended = call(small_house.environment, *ASKED, "--wait", "0.2")

    (occurrence,) = small_house.history()
    assert ended.status == 1
    assert ended.err == (
        "Running acme/weekly\n"
        f"\n{occurrence.key} does not end with this command. To see it:\n"
        "  queries history weekly --workspace acme\n"
        "still_waiting: Not done yet: it waits for a worker.\n"
    )


def test_it_can_be_worked_here_again_until_its_receives_are_used_up(
    small_house: House, call: Call
) -> None:
    environment = {
        **small_house.environment,
        "SHOP_URL": "postgresql+psycopg2://shop:tr0ub4dor@127.0.0.1:1/shop",
        "QUERIES_RETRY_DELAY": "0.001",
    }

    told = call(environment, *ASKED, "--work", "--json")

    assert told.status == 1
    failure = told.refusal()
    assert (failure["code"], failure["receives"]) == ("source_unavailable", 3)
    assert failure["message"].startswith(
        "The connection 'shop', whose URL is in SHOP_URL, cannot be reached: nothing listens at"
    )
    assert "tr0ub4dor" not in told.out
