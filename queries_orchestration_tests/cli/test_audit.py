"""``queries audit``: who did what at the command line, and who was refused."""

from __future__ import annotations

from pathlib import Path

from queries_orchestration.model.ids import new_id
from queries_orchestration_tests.cli.conftest import Call
from queries_orchestration_tests.house import House


def test_what_was_done_and_refused_is_told_with_names(
    small_house: House, call: Call, tmp_path: Path
) -> None:
    environment = small_house.environment
    (launched,) = call(
        environment, "run-now", "weekly", "--as", "ada", "--reason", "Why not.", "--no-wait"
    ).out.split()
    call(environment, "schedules", "pause", "weekly", "--reason", "Too much.")
    export_id = new_id()
    for words in (
        ("run-now", "weekly", "--as", "bob", "--no-wait"),
        ("schedules", "test", "weekly", "--as", "bob", "--no-wait"),
        ("resend", launched, "--as", "bob", "--no-wait"),
        ("schedules", "transfer", "weekly", "--as", "bob", "--to", "cyd"),
        ("export", "all-orders", "--as", "bob", "--format", "csv", "--no-wait"),
        ("export", "other-orders", "--as", "bob", "--format", "csv", "--no-wait"),
        ("exports", "cancel", export_id, "--as", "bob"),
        ("exports", "download", "bob@example.org", "--as", "bob", "--out", str(tmp_path / "x")),
    ):
        assert call(environment, *words).status == 2, words

    events = call(environment, "audit", "--json").json()["events"]
    told = {
        (
            one["person"],
            one["attempted"] or one["action"],
            one["subject"] or one["subject_id"],
            one["code"],
        )
        for one in events
    }
    assert told == {
        (None, "catalog_applied", "acme", None),
        (None, "schedule_created", "weekly", None),
        ("ada", "run_launched", launched, None),
        (None, "schedule_paused", "weekly", None),
        ("bob", "run_launched", "weekly", "not_found"),
        ("bob", "test_launched", "weekly", "not_found"),
        ("bob", "resend_launched", launched, "not_found"),
        ("bob", "schedule_transferred", "weekly", "not_found"),
        ("bob", "export_asked", "all-orders", "access_lost"),
        ("bob", "export_asked", None, "not_found"),
        ("bob", "export_cancelled", export_id, "not_found"),
        ("bob", "file_downloaded", None, "not_found"),
    }
    assert {one["via"] for one in events} == {"command"}
    assert call(environment, "audit", "--limit", "2", "--json").json()["events"] == events[:2]
    table = call(environment, "audit").out
    assert table.split()[:7] == ["AT", "WHO", "VIA", "WHAT", "OF", "WHOM", "CODE"]
    lines = [" ".join(line.split()) for line in table.splitlines()]
    for ending in (
        "bob command refused file_downloaded export ? not_found",
        "the operator command schedule_paused schedule weekly",
        f"ada command run_launched occurrence {launched}",
    ):
        assert len([line for line in lines if line.endswith(ending)]) == 1, ending
    for secret in ("Why not", "Too much", "@example.org", "other-orders"):
        assert secret not in table
