"""``queries export``: asked for, followed, fetched; and everything that keeps it from that."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from python_calamine import CalamineWorkbook

from queries_orchestration.cli import follow
from queries_orchestration.exports.cancel import cancel_export
from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.cli.workers import at_work
from queries_orchestration_tests.downloads import recorded
from queries_orchestration_tests.house import House

BY_REGION = """\
workspace: {name: acme}
queries:
  by-region:
    title: Orders of a region
    dataset: orders
    fields: [{field: id}, {field: region}]
    filters: [{field: region, op: eq, value: {parameter: region}}]
    parameters: [{name: region, type: text, allowed: [r1, r2]}]
"""
OTHER_WORKSPACE = "workspace: {name: berlin, title: Berlin, time_zone: Europe/Berlin}\n"
PATIENCE = 60.0

ASKED = ("export", "all-orders", "--as", "ada", "--format", "csv")


def test_the_whole_result_is_in_the_file_that_was_asked_for(
    house: House, call: Call, tmp_path: Path
) -> None:
    out = tmp_path / "out" / "orders.csv"
    out.parent.mkdir()

    with at_work(house, "export"):
        told = call(house.environment, *ASKED, "--out", out, "--json").json()

    lines = out.read_bytes().splitlines()
    assert len(lines) == 2_501
    assert lines[1] == b"1,r1,1.25"
    assert told["sha256"] == hashlib.sha256(out.read_bytes()).hexdigest()
    assert (told["state"], told["rows"], told["size"]) == ("ready", 2_500, out.stat().st_size)
    assert (told["source"], told["format"], told["time_zone"], told["out"]) == (
        "all-orders",
        "csv",
        "Europe/Berlin",
        str(out),
    )
    assert [file.name for file in out.parent.iterdir()] == ["orders.csv"]
    (download,) = recorded(house, told["export"])
    assert download.person_id == house.person("ada")


def test_values_format_and_zone_are_taken_from_the_command_line(
    house: House, call: Call, tmp_path: Path
) -> None:
    house.apply(BY_REGION)
    out = tmp_path / "orders.xlsx"

    with at_work(house, "export"):
        told = call(
            house.environment,
            *("export", "by-region", "--workspace", "acme", "--as", "ada", "--format", "xlsx"),
            *("--set", "region=r2", "--time-zone", "Asia/Kathmandu", "--out", out, "--json"),
        ).json()

    _, *rows = CalamineWorkbook.from_path(out).get_sheet_by_index(0).to_python()
    assert len(rows) == told["rows"] == 357
    assert {row[1] for row in rows} == {"r2"}
    assert (told["values"], told["time_zone"]) == ({"region": "r2"}, "Asia/Kathmandu")


def test_a_person_reads_on_standard_error_how_it_goes_and_at_the_end_what_came(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    out = tmp_path / "orders.csv"
    with at_work(small_house, "export"):
        told = call(small_house.environment, *ASKED, "--out", out)

    assert told.status == 0
    assert told.out == f"{out}: 2,500 rows, {out.stat().st_size / 1000:.1f} kB\n"
    assert told.err == "Exporting acme/all-orders\n"


def test_standard_output_gets_the_file_and_nothing_else(
    small_house: House,
) -> None:
    with at_work(small_house, "export"):
        done = subprocess.run(
            [sys.executable, "-m", "queries_orchestration", *ASKED, "--out", "-"],
            env=dict(small_house.environment),
            capture_output=True,
            timeout=PATIENCE,
            check=False,
        )

    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == 2_501
    assert b"-: 2,500 rows" in done.stderr


REFUSALS = [
    (("nothing", "--as", "ada"), "not_found"),
    (("by-region", "--as", "zoe", "--set", "region=r1"), "not_found"),
    (("by-region", "--as", "ada", "--workspace", "x", "--set", "region=r1"), "not_found"),
    (("by-region", "--as", "bob", "--set", "region=r1"), "access_lost"),
    (("by-region", "--as", "dan", "--set", "region=r1"), "actor_inactive"),
    (("by-region", "--as", "ada"), "invalid_value"),
    (("by-region", "--as", "ada", "--set", "region=r7"), "invalid_value"),
    (("by-region", "--as", "ada", "--set", "region=r1", "--set", "x=1"), "invalid_value"),
    (("all-orders", "--as", "ada", "--time-zone", "CEST"), "unknown_time_zone"),
    (("all-orders", "--as", "ada", "--set", "region"), "usage"),
    (("all-orders", "--as", "ada", "--set", "x=1", "--set", "x=2"), "usage"),
    (("all-orders", "--as", "ada", "--no-wait"), "usage"),
]


def test_what_is_refused_has_one_clear_message_and_leaves_nothing(
    house: House, call: Call, tmp_path: Path
) -> None:
    house.apply(BY_REGION)
    out = tmp_path / "orders.csv"

    for words, code in REFUSALS:
        refused = call(
            house.environment, "export", *words, "--format", "csv", "--out", out, "--json"
        )
        assert (refused.status, refused.refusal()["code"]) == (2, code), words

    assert _exports(house) == []
    assert not out.exists()


def test_which_workspace_must_be_said_where_there_are_several(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    small_house.apply(OTHER_WORKSPACE)
    words = (*ASKED, "--no-wait")

    refused = call(small_house.environment, *words)

    assert (refused.status, refused.out) == (2, "")
    assert refused.err == "which_workspace: Say which one with --workspace: acme, berlin.\n"
    assert call(small_house.environment, *words, "--workspace", "acme").status == 0
    elsewhere = call(small_house.environment, *words, "--workspace", "berlin")
    assert elsewhere.err == "not_found: There is no person 'ada' in the workspace 'berlin'.\n"


def test_a_file_that_is_there_is_replaced_only_when_told(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    out = tmp_path / "orders.csv"
    out.write_text("mine")

    refused = call(small_house.environment, *ASKED, "--out", out)
    folder = call(small_house.environment, *ASKED, "--out", tmp_path, "--force")

    assert (refused.status, folder.status) == (2, 2)
    assert refused.err == f"file_exists: {out} is there already: --force replaces it.\n"
    assert folder.err == f"file_exists: {tmp_path} is a folder: name a file in it.\n"
    assert out.read_text() == "mine"
    assert _exports(small_house) == []
    with at_work(small_house, "export"):
        assert call(small_house.environment, *ASKED, "--out", out, "--force").status == 0
    assert len(out.read_bytes().splitlines()) == 2_501


@pytest.mark.parametrize("folder", ["/nowhere", "/proc", "/dev/null"])
def test_a_folder_that_cannot_be_written_is_told_before_anything_is_asked_for(
    folder: str, small_house: House, call: Call
) -> None:
    failed = call(small_house.environment, *ASKED, "--out", f"{folder}/orders.csv")

    assert failed.status == 1
    assert failed.err.startswith(f"disk_error: {folder}/orders.csv cannot be written: ")
    assert failed.err.count("\n") == 1
    assert _exports(small_house) == []


def test_a_failed_export_ends_with_1_and_says_why(
    house: House, source_url: str, call: Call, tmp_path: Path
) -> None:
    out = tmp_path / "orders.csv"
    engine = sa.create_engine(source_url)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE orders RENAME COLUMN region TO area"))
    engine.dispose()

    with at_work(house, "export"):
        text = call(house.environment, *ASKED, "--out", out)
        machine = call(house.environment, *ASKED, "--out", out, "--json")

    assert (text.status, machine.status) == (1, 1)
    assert text.out == ""
    assert text.err.splitlines()[-1].startswith("source_broken: ")
    told = machine.refusal()
    assert (told["code"], told["state"], told["rows"]) == ("source_broken", "failed", None)
    assert told["export"] in _exports(house)
    assert not out.exists()


def test_one_that_somebody_cancels_meanwhile_ends_with_1(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    def cancel() -> None:
        (export_id,) = _wait_for(lambda: _exports(small_house))
        cancel_export(
            small_house.backends,
            small_house.workspace_id,
            by=small_house.by("ada"),
            export_id=export_id,
        )

    canceller = threading.Thread(target=cancel)
    canceller.start()
    ended = call(small_house.environment, *ASKED, "--out", tmp_path / "orders.csv")
    canceller.join()

    assert ended.status == 1
    assert ended.err.splitlines()[-1] == "cancelled: Cancelled by who asked for it."


def test_without_waiting_the_id_is_told_and_the_file_taken_later(
    house: House, call: Call, tmp_path: Path
) -> None:
    asked = call(house.environment, *ASKED, "--no-wait")
    (export_id,) = _exports(house)
    assert (asked.status, asked.out, asked.err) == (0, f"{export_id}\n", "")
    words = ("exports", "download", export_id, "--as", "ada", "--out", tmp_path / "later.csv")
    early = call(house.environment, *words)
    assert (early.status, early.err.split(":")[0]) == (2, "not_ready")

    with at_work(house, "export"):
        _wait_for(lambda: house.claim(export_id).state == "done")

    later = call(house.environment, *words)
    assert later.status == 0
    assert len((tmp_path / "later.csv").read_bytes().splitlines()) == 2_501


def test_where_nobody_works_it_says_so_and_waits_no_longer_than_told(
    small_house: House, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follow, "PATIENCE", 0.0)
    ended = call(small_house.environment, *ASKED, "--out", tmp_path / "orders.csv", "--wait", "0.3")

    (export_id,) = _exports(small_house)
    options = f"{export_id} --workspace acme --as ada"
    assert ended.status == 1
    assert ended.err == (
        "Exporting acme/all-orders\n"
        "\nIt waits for a worker. If nobody works: start `dagster dev`, or run"
        " `queries tick --work`.\n"
        "\nThe export does not end with this command. To take its file, see it or stop it:\n"
        f"  queries exports download {options} --out FILE\n"
        f"  queries exports show {options}\n"
        f"  queries exports cancel {options}\n"
        "still_waiting: Not done yet: it waits for a worker.\n"
    )
    assert small_house.claim(export_id).state == "waiting"
    machine = call(
        small_house.environment, *ASKED, "--out", tmp_path / "b.csv", "--wait", "0", "--json"
    )
    assert (machine.status, json.loads(machine.out)["code"]) == (1, "still_waiting")


def test_asked_again_with_the_same_key_it_is_the_same_file(
    house: House, call: Call, tmp_path: Path
) -> None:
    keyed = (*ASKED, "--key", "click-1")
    with at_work(house, "export"):
        first = call(house.environment, *keyed, "--out", tmp_path / "1.csv", "--json").json()
    again = call(house.environment, *keyed, "--out", tmp_path / "2.csv", "--json").json()

    assert again["export"] == first["export"]
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
    other = call(house.environment, *keyed, "--time-zone", "UTC", "--no-wait")
    assert (other.status, other.err.split(":")[0]) == (2, "client_key_reused")
    bad = call(house.environment, *ASKED, "--key", "tab\t", "--no-wait")
    assert (bad.status, bad.err.split(":")[0]) == (2, "usage")
    with house.backends.database.across.transaction() as connection:
        connection.execute(sa.text("UPDATE exports SET state = 'expired'"))
    late = call(house.environment, *keyed, "--out", tmp_path / "3.csv")
    assert (late.status, late.err.splitlines()[-1]) == (
        2,
        "file_expired: The file has expired: export the query again. Ask with another --key.",
    )


def test_one_more_than_a_person_may_have_is_refused_with_when_to_ask_again(
    small_house: House, call: Call
) -> None:
    environment = {**small_house.environment, "QUERIES_EXPORTS_PER_PERSON": "2"}
    for _ in range(2):
        assert call(environment, *ASKED, "--no-wait").status == 0

    refused = call(environment, *ASKED, "--no-wait", "--json")
    text = call(environment, *ASKED, "--no-wait")

    assert (refused.status, text.status) == (2, 2)
    told = refused.refusal()
    assert (told["code"], told["retry_after"]) == ("too_many_exports", 10)
    assert text.err == (
        "too_many_exports: You have 2 exports that are not finished, the most that a person may"
        " have. Ask again in 10 seconds, or cancel one: `queries exports list` names them.\n"
    )
    assert len(_exports(small_house)) == 2


def test_an_interrupt_leaves_the_export_running_and_says_how_to_go_on(
    small_house: House, tmp_path: Path
) -> None:
    out = tmp_path / "orders.csv"
    command = subprocess.Popen(
        [sys.executable, "-m", "queries_orchestration", *ASKED, "--out", str(out)],
        env=dict(small_house.environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    (export_id,) = _wait_for(lambda: _exports(small_house))
    time.sleep(0.3)
    command.send_signal(signal.SIGINT)
    said, warned = command.communicate(timeout=PATIENCE)

    assert (command.returncode, said) == (1, "")
    assert f"queries exports cancel {export_id} --workspace acme --as ada" in warned
    assert "Traceback" not in warned
    assert small_house.claim(export_id).state == "waiting"
    assert not out.exists()


def _exports(house: House) -> list[str]:
    with house.backends.database.across.read() as connection:
        return list(connection.scalars(sa.text("SELECT id FROM exports ORDER BY created_at")))


def _wait_for(look: Callable[[], Any]) -> Any:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if found := look():
            return found
        time.sleep(0.02)
    pytest.fail("it did not come")
