"""``queries catalog apply``; what it checks and writes is tested with the catalog."""

from __future__ import annotations

import sqlite3
from contextlib import closing

from queries_orchestration_tests.cli.conftest import Call, Place


def test_it_tells_what_it_wrote_and_the_second_time_that_nothing_changed(
    place: Place, call: Call
) -> None:
    call(place.environment, "init")

    first = call(place.environment, "catalog", "apply", place.catalog)
    second = call(place.environment, "catalog", "apply", place.catalog, "--json").json()

    assert "people: 4 created" in first.out
    assert "  created acme/weekly" in first.out
    assert second["people"]["created"] == second["people"]["changed"] == []
    assert {outcome: names for outcome, names in second["schedules"].items() if names} == {
        "unchanged": ["acme/weekly"]
    }


def test_rows_that_the_files_lack_go_only_when_told_to(place: Place, call: Call) -> None:
    call(place.environment, "init")
    call(place.environment, "catalog", "apply", place.catalog)
    text = place.catalog.read_text()
    place.catalog.write_text(text[: text.index("  no-orders:")] + text[text.index("schedules:") :])

    kept = call(place.environment, "catalog", "apply", place.catalog)
    pruned = call(place.environment, "catalog", "apply", "--prune", place.catalog)

    assert "no-orders" not in kept.out
    assert "  removed acme/no-orders" in pruned.out


def test_what_somebody_else_wrote_is_overwritten_only_when_told_to(
    place: Place, call: Call
) -> None:
    call(place.environment, "init")
    call(place.environment, "catalog", "apply", place.catalog)
    with closing(sqlite3.connect(place.home / "queries.db")) as store, store:
        store.execute("UPDATE people SET title = 'Bob', written_by = 'other' WHERE name = 'bob'")

    refused = call(place.environment, "catalog", "apply", place.catalog)
    taken = call(place.environment, "catalog", "apply", "--take-over", place.catalog)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"invalid_catalog: {place.catalog}:")
    assert "bob" in refused.err
    assert "  changed acme/bob" in taken.out


def test_every_fault_is_listed_with_its_file_and_line_and_nothing_is_written(
    place: Place, call: Call
) -> None:
    call(place.environment, "init")
    text = place.catalog.read_text().replace("query: all-orders", "query: some-orders")
    place.catalog.write_text(text.replace("cron: 0 8 * * 1", "cron: 0 8 * * 9"))
    lines = text.splitlines()
    line_of = {word: number for number, line in enumerate(lines, 1) for word in line.split()}
    source, cron = line_of["some-orders"], line_of["cron:"]

    told = call(place.environment, "catalog", "apply", place.catalog)
    machine = call(place.environment, "catalog", "apply", place.catalog, "--json").refusal()

    assert (told.status, told.out) == (2, "")
    assert told.err.startswith(f"invalid_catalog: {place.catalog}:{source}: ")
    assert f"\n{place.catalog}:{cron}: " in told.err
    assert [(fault["file"], fault["line"]) for fault in machine["faults"]] == [
        (str(place.catalog), source),
        (str(place.catalog), cron),
    ]
    assert all(fault["message"] for fault in machine["faults"])
    assert call(place.environment, "history", "--json").json() == {
        "occurrences": [],
        "schedules": [],
        "unreadable": [],
    }


def test_a_file_that_is_not_there_or_is_a_folder_is_refused_by_name(
    place: Place, call: Call
) -> None:
    call(place.environment, "init")
    for file in (place.folder / "nothing.yaml", place.folder):
        refused = call(place.environment, "catalog", "apply", place.catalog, file)
        assert refused.status == 2
        assert refused.err.startswith(f"invalid_catalog: {file}:1: cannot be read: ")
    assert call(place.environment, "history", "--json").json()["schedules"] == []


def test_a_connection_whose_variable_is_not_set_here_is_named(place: Place, call: Call) -> None:
    call(place.environment, "init")
    del place.environment["SHOP_URL"]

    told = call(place.environment, "catalog", "apply", place.catalog)

    assert told.status == 0
    assert "SHOP_URL is not set here: the workers need it" in told.out
