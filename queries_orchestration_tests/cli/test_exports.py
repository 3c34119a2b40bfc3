"""``queries exports``: whose they are, what becomes of them, and the file itself."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from queries_orchestration.exports.admit import admit_export
from queries_orchestration.model.clock import system_clock
from queries_orchestration.model.ids import new_id
from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.cli.workers import on_real_clock
from queries_orchestration_tests.downloads import (
    CONTENT,
    STAFF,
    change_export,
    export_of,
    put_file,
    recorded,
    request_file,
)
from queries_orchestration_tests.house import MONDAY, House

NOT_FOUND = {
    "show": "not_found: There is no such export, or it is not yours.\n",
    "cancel": "not_found: There is no such export.\n",
    "download": "not_found: There is no such export, or it is not yours to download.\n",
    "verify": "not_found: There is no such export, or it is not yours.\n",
}


@pytest.fixture
def house(house: House) -> House:
    """The house with its staff, on the clock that the command has."""
    house.apply(STAFF)
    house.clock.at = system_clock()
    return house


def test_a_person_sees_their_own_the_newest_first_and_so_does_an_administrator(
    house: House, call: Call
) -> None:
    first, second = _queued(house, "ada"), _queued(house, "ada")
    of_eve = _queued(house, "eve")
    house.deliver(MONDAY)

    def listed(*words: str) -> list[str]:
        told = call(house.environment, "exports", "list", *words, "--json").json()
        return [one["export"] for one in told["exports"]]

    assert listed("--as", "ada") == [second, first]
    assert listed("--as", "ada", "--limit", "1") == [second]
    assert listed("--as", "eve") == [of_eve]
    assert listed("--as", "gus") == []
    text = call(house.environment, "exports", "list", "--as", "ada").out.splitlines()
    assert [line.split()[0] for line in text] == ["EXPORT", second, first]
    nothing = call(house.environment, "exports", "list", "--as", "gus")
    assert nothing.out == "gus has asked for no exports: `queries export` does.\n"


def test_show_tells_what_became_of_one(house: House, call: Call) -> None:
    export_id = _queued(house, "ada")
    words = ("exports", "show", export_id, "--as", "ada")

    waiting = call(house.environment, *words, "--json").json()
    assert on_real_clock(house).work("export") == ["ready"]
    ready = call(house.environment, *words, "--json").json()

    assert (waiting["state"], waiting["rows"], waiting["rows_done"]) == ("queued", None, 0)
    export = export_of(house, export_id)
    assert export.expires_at is not None
    assert {key: ready[key] for key in ("state", "rows", "size", "sha256", "expires_at")} == {
        "state": "ready",
        "rows": 2_500,
        "size": export.size,
        "sha256": export.sha256,
        "expires_at": export.expires_at.isoformat(),
    }
    assert (waiting["columns"], waiting["rows_per_second"]) == (None, None)
    assert [column["label"] for column in ready["columns"]] == ["Order", "Region", "amount"]
    assert ready["rows_per_second"] == 2_500 / ready["duration_seconds"]
    assert ready["created_at"] <= ready["started_at"] <= ready["snapshot_at"]
    assert ready["snapshot_at"] <= ready["completed_at"]
    text = call(house.environment, *words).out
    assert f"export      {export_id}\n" in text
    assert "query       acme/all-orders, version 1\n" in text
    assert "size        2,500 rows, " in text
    assert "columns     Order, Region, amount\n" in text
    assert f"SHA-256     {ready['sha256']}\n" in text
    assert re.search(r"\ntook        [\d.]+ s, [\d,]+ rows/s\n", text)


def test_show_tells_how_far_a_running_one_is_and_how_fast(small_house: House, call: Call) -> None:
    export_id = _queued(small_house, "ada")
    change_export(
        small_house,
        export_id,
        state="running",
        rows_done=30_000,
        bytes_done=1_500_000,
        duration_seconds=2.0,
    )
    words = ("exports", "show", export_id, "--as", "ada")

    told = call(small_house.environment, *words, "--json").json()
    text = call(small_house.environment, *words).out

    assert (told["rows_done"], told["bytes_done"], told["rows_per_second"]) == (
        30_000,
        1_500_000,
        15_000,
    )
    assert "so far     30,000 rows, 1.5 MB\n" in text
    assert "took       2.0 s, 15,000 rows/s\n" in text


def test_verify_proves_a_file_or_names_the_first_difference(house: House, call: Call) -> None:
    export_id = _queued(house, "ada")
    words = ("exports", "verify", export_id, "--as", "ada")
    early = call(house.environment, *words)
    assert (early.status, early.err.split(":")[0]) == (2, "not_ready")
    assert on_real_clock(house).work("export") == ["ready"]
    export = export_of(house, export_id)

    told = call(house.environment, *words, "--json").json()
    text = call(house.environment, *words)
    change_export(house, export_id, rows=2_499)
    differs = call(house.environment, *words)
    machine = call(house.environment, *words, "--json")

    assert told == {
        "export": export_id,
        "workspace": "acme",
        "complete": True,
        "size": export.size,
        "sha256": export.sha256,
        "rows": 2_500,
        "columns": ["Order", "Region", "amount"],
    }
    assert text.status == 0
    assert text.out.startswith("complete: 2,500 rows, ")
    assert text.out.endswith(f", 3 columns, SHA-256 {export.sha256}\n")
    assert (differs.status, differs.out) == (1, "")
    message = "The file has 2500 rows, 2499 were recorded. Do not use the file; ask for it again."
    assert differs.err == f"file_differs: {message}\n"
    refused = machine.refusal()
    assert (machine.status, refused["code"], refused["complete"]) == (1, "file_differs", False)
    assert (refused["rows"], refused["message"]) == (2_500, message)


def test_anothers_an_unknown_and_another_workspaces_look_the_same(
    house: House, call: Call, tmp_path: Path
) -> None:
    anothers = request_file(house, "ada")
    house.apply(
        "workspace: {name: berlin, title: Berlin, time_zone: Europe/Berlin}\n"
        "people: {gus: {title: Gus, roles: [administrator]}}\n"
    )

    for verb, said in NOT_FOUND.items():
        out = ("--out", str(tmp_path / "x")) if verb == "download" else ()
        for export_id, workspace in (
            (anothers, "acme"),
            (new_id(), "acme"),
            ("x; DROP TABLE exports", "acme"),
            (anothers, "berlin"),
        ):
            words = ("exports", verb, export_id, "--workspace", workspace, "--as", "gus", *out)
            refused = call(house.environment, *words)
            assert (refused.status, refused.out, refused.err) == (2, "", said)
    assert recorded(house, anothers) == []
    assert export_of(house, anothers).state == "ready"


def test_an_unknown_person_is_told_so_by_every_verb(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    export_id = new_id()
    for words in (
        ("list",),
        ("show", export_id),
        ("cancel", export_id),
        ("verify", export_id),
        ("download", export_id, "--out", str(tmp_path / "x")),
    ):
        refused = call(small_house.environment, "exports", *words, "--as", "zoe")
        assert refused.status == 2
        assert refused.err == "not_found: There is no person 'zoe' in the workspace 'acme'.\n"


def test_one_cancels_what_is_not_finished_and_an_administrator_anybodys(
    house: House, call: Call
) -> None:
    own, anothers = _queued(house, "gus"), _queued(house, "gus")

    by_gus = call(house.environment, "exports", "cancel", own, "--as", "gus", "--json").json()
    by_eve = call(house.environment, "exports", "cancel", anothers, "--as", "eve", "--json").json()
    again = call(house.environment, "exports", "cancel", own, "--as", "gus")

    assert (by_gus["state"], by_gus["message"]) == ("cancelled", "Cancelled by who asked for it.")
    assert (by_eve["state"], by_eve["message"]) == ("cancelled", "Cancelled by an administrator.")
    assert (again.status, again.err.split(":")[0]) == (2, "already_finished")
    assert house.work("export") == []


def test_a_deliverys_file_is_not_cancelled_and_its_owner_takes_it(
    house: House, call: Call, tmp_path: Path
) -> None:
    assert on_real_clock(house).deliver(MONDAY) == ["delivered"]
    (occurrence,) = house.history()
    export_id = house.export(occurrence.key).id
    out = tmp_path / "weekly.csv"

    told = call(
        house.environment, "exports", "download", export_id, "--as", "ada", "--out", out, "--json"
    ).json()
    kept = call(house.environment, "exports", "cancel", export_id, "--as", "eve")

    assert (told["schedule"], told["file_name"]) == ("weekly", "Weekly orders 2027-01-04.csv")
    assert out.read_bytes() == house.file(occurrence.key)
    assert (kept.status, kept.err.split(":")[0]) == (2, "belongs_to_delivery")


def test_the_file_is_fetched_through_a_link_and_the_download_recorded(
    house: House, call: Call, tmp_path: Path
) -> None:
    export_id = request_file(house, "ada")
    out = tmp_path / "orders.csv"
    words = ("exports", "download", export_id, "--as", "ada", "--out", out)

    first = call(house.environment, *words)
    refused = call(house.environment, *words)
    out.write_bytes(b"older")
    forced = call(house.environment, *words, "--force")

    assert (first.status, refused.status, forced.status) == (0, 2, 0)
    assert first.out == f"{out}: 1 row, {len(CONTENT)} bytes\n"
    assert refused.err == f"file_exists: {out} is there already: --force replaces it.\n"
    assert out.read_bytes() == CONTENT
    assert len(recorded(house, export_id)) == 2


def test_a_file_that_was_changed_in_the_storage_is_not_taken_for_it(
    house: House, call: Call, tmp_path: Path
) -> None:
    export_id = request_file(house, "ada")
    put_file(house, export_id, CONTENT[::-1])

    told = call(
        house.environment,
        *("exports", "download", export_id, "--as", "ada", "--out", tmp_path / "orders.csv"),
    )

    assert (told.status, told.err.split(":")[0]) == (1, "file_differs")
    assert list(tmp_path.glob("*.csv")) == []


def test_standard_output_gets_the_bytes_alone(small_house: House, call: Call) -> None:
    small_house.clock.at = system_clock()
    export_id = request_file(small_house, "ada")

    told = call(
        small_house.environment, "exports", "download", export_id, "--as", "ada", "--out", "-"
    )

    assert list(csv.reader(told.out.splitlines())) == [["Order", "Region"], ["1", "r1"]]
    assert told.err == f"-: 1 row, {len(CONTENT)} bytes\n"


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"state": "running"}, "not_ready"),
        ({"state": "failed", "code": "source_broken", "message": "No."}, "export_failed"),
        ({"state": "cancelled"}, "cancelled"),
        ({"state": "expired"}, "file_expired"),
        ({"size": 1}, "file_gone"),
    ],
)
def test_what_cannot_be_fetched_is_refused_and_leaves_no_file(
    change: dict[str, object], code: str, small_house: House, call: Call, tmp_path: Path
) -> None:
    small_house.clock.at = system_clock()
    export_id = request_file(small_house, "ada")
    change_export(small_house, export_id, **change)
    folder = tmp_path / "out"
    folder.mkdir()

    refused = call(
        small_house.environment,
        *("exports", "download", export_id, "--as", "ada", "--out", folder / "x.csv"),
    )

    assert (refused.status, refused.out) == (2, "")
    assert refused.err.startswith(f"{code}: ")
    assert list(folder.iterdir()) == []


def _queued(house: House, person: str) -> str:
    return admit_export(
        on_real_clock(house).backends,
        house.workspace_id,
        by=house.by(person),
        source_name="all-orders",
        file_format="csv",
        given_values={},
    )
