"""The exit status of the command, and how it tells why."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from queries_orchestration.cli.main import main, queries
from queries_orchestration_tests.cli.conftest import Call, Place

NOWHERE = {"QUERIES_DATABASE_URL": "postgresql+psycopg2://ann:tr0ub4dor@127.0.0.1:1/queries"}
VERBS = ["init", "catalog", "catalog apply", "tick", "history", "mailbox"]


def test_a_process_ends_with_0_when_done_2_when_refused_1_when_failed(place: Place) -> None:
    done = place.queries("init", "--json")
    refused = place.queries("history", "nothing")
    place.environment.update(NOWHERE)
    failed = place.queries("history", "--json")

    assert (done.status, done.err) == (0, "")
    assert done.json()["home"] == str(place.home)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err == (
        "not_found: There is no schedule 'nothing'; `queries history` lists them all.\n"
    )
    assert failed.status == 1
    assert failed.refusal()["code"] == "store_unavailable"


def test_a_refusal_is_code_and_message_on_standard_error_or_json_on_standard_output(
    place: Place, call: Call
) -> None:
    text = call(place.environment, "history")
    machine = call(place.environment, "history", "--json")

    assert (text.status, machine.status) == (2, 2)
    assert text.out == ""
    refusal = machine.refusal()
    assert set(refusal) == {"code", "message"}
    assert text.err == f"{refusal['code']}: {refusal['message']}\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["tik"], "No such command 'tik'"),
        (["tick", "--wrok"], "No such option"),
        (["tick", "--at"], "requires an argument"),
        (["history", "a", "b"], "unexpected extra argument"),
        (["history", "--limit", "0"], "not in the range"),
        (["catalog", "apply"], "Missing argument 'FILES...'"),
    ],
)
def test_words_it_does_not_understand_are_refused_with_where_to_read(
    words: list[str], said: str, place: Place, call: Call
) -> None:
    text = call(place.environment, *words)
    machine = call(place.environment, *words, "--json")

    assert (text.status, text.out) == (2, "")
    assert text.err.startswith("usage: ")
    assert said in text.err
    assert text.err.count("\n") == 1
    assert "--help`." in text.err
    assert machine.refusal()["code"] == "usage"


def test_without_a_verb_it_shows_what_there_is(place: Place, call: Call) -> None:
    nothing = call(place.environment)

    assert nothing.status == 2
    assert {line.split()[0] for line in nothing.err.splitlines() if line.startswith("  ")} > {
        *queries.commands
    }


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_help_needs_no_settings_and_fits_a_terminal(verb: str, call: Call) -> None:
    told = call({"QUERIES_HOMES": "a typo"}, *verb.split(), "--help")

    assert (told.status, told.err) == (0, "")
    assert told.out.startswith(f"Usage: queries {verb}".rstrip())
    assert max(map(len, told.out.splitlines())) <= 80
    verb_help = told.out.split("\n\n")[1]
    assert verb_help.strip().endswith((".", ":"))


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "catalog"])
def test_every_verb_has_json_and_every_option_says_what_it_does(verb: str, call: Call) -> None:
    told = call({}, *verb.split(), "--help").out

    options = told.split("Options:\n")[1]
    assert "  --json " in options
    for line in options.splitlines():
        if line.startswith("  --") and "INTEGER" not in line:
            assert len(line.split(maxsplit=2)) == 3, line


def test_it_tells_its_version(call: Call) -> None:
    told = call({}, "--version")

    assert told.status == 0
    assert told.out.startswith("queries, version ")


def test_a_wrong_setting_is_refused_by_every_verb(place: Place, call: Call) -> None:
    place.environment["QUERIES_HOMES"] = "x"
    for words in (["init"], ["catalog", "apply", "x.yaml"], ["tick"], ["history"], ["mailbox"]):
        refused = call(place.environment, *words)
        assert refused.status == 2
        assert refused.err == (
            "invalid_settings: QUERIES_HOMES is not a setting. Did you mean QUERIES_HOME?\n"
        )
    assert not place.home.exists()


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "catalog"])
def test_a_database_that_cannot_be_reached_is_a_failure_that_shows_no_password(
    verb: str, place: Place, call: Call
) -> None:
    words = verb.split() + ([str(place.catalog)] if "apply" in verb else [])

    failed = call(place.environment | NOWHERE, *words)

    assert failed.status == 1
    assert failed.err.startswith("store_unavailable: The application database cannot be reached")
    assert "tr0ub4dor" not in failed.err
    assert failed.err.count("\n") == 1


def test_a_folder_in_the_way_is_a_failure_that_names_it(place: Place, call: Call) -> None:
    call(place.environment, "init")
    lock = place.home / "queries.db.dispatcher.lock"
    lock.mkdir()

    failed = call(place.environment, "tick")

    assert failed.status == 1
    assert failed.err == (
        f"disk_error: {lock}: Is a directory. Check the path, its rights and its disk.\n"
    )


def test_a_reader_that_goes_away_ends_the_command_quietly(place: Place) -> None:
    place.queries("init")
    script = (
        f"{sys.executable} -m queries_orchestration history --json | /usr/bin/env true;"
        " echo ${PIPESTATUS[0]}"
    )
    done = subprocess.run(
        ["/bin/bash", "-c", script],
        env=place.environment | {"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() in ("0", "1")  # 0 when it was faster than the reader
    assert "Traceback" not in done.stderr


def test_an_interrupt_ends_the_command_without_a_traceback(
    place: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_environment: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("queries_orchestration.cli.verb.load_settings", interrupted)
    with pytest.raises(SystemExit) as ended:
        main(["history"])

    assert ended.value.code == 1
    assert capsys.readouterr().out == ""


def test_the_page_of_the_command_names_every_verb_and_none_that_is_not() -> None:
    page = (Path(__file__).parents[2] / "docs" / "command.md").read_text()
    named = {row.split("`")[1].split()[1] for row in page.splitlines() if "| `queries " in row}

    assert named == set(queries.commands)
