"""docs/operations.md has every code of the package, and the commands it names are such."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Final, get_args

import click
import pytest

from queries_orchestration.cli.main import queries
from queries_orchestration.deliveries.events import AUTO_PAUSED, RUN_FAILED
from queries_orchestration.model.message_states import MessageState
from queries_orchestration.model.outcomes import DeliveryState, Outcome
from queries_orchestration_tests.codes import every_code, every_event
from queries_orchestration_tests.named import ROOT, rows_of_table

OPERATIONS: Final = (ROOT / "docs/operations.md").read_text()
LOG: Final = "## A line in the log"
COMMANDS: Final = sorted(set(re.findall(r"`(queries\b[^`]*)`", OPERATIONS)))
BESIDE: Final = {*get_args(Outcome), *get_args(DeliveryState)}


def _sections() -> Iterator[tuple[str, list[list[str]]]]:
    for section in re.split(r"^(?=##+ )", OPERATIONS, flags=re.MULTILINE):
        yield section.splitlines()[0], rows_of_table(section, begin="`")


def _named(*, in_the_log: bool) -> list[str]:
    """The codes, or the events of the log, by the rows that are theirs."""
    return [
        name
        for title, rows in _sections()
        if (title == LOG) == in_the_log
        for row in rows
        for name in re.findall(r"`([^`]+)`", row[0])
    ]


def test_every_code_of_the_package_has_a_row_and_no_row_has_another() -> None:
    assert sorted(set(_named(in_the_log=False))) == sorted(every_code())


def test_a_section_has_each_code_once() -> None:
    for title, rows in _sections():
        names = [name for row in rows for name in re.findall(r"`([^`]+)`", row[0])]
        assert len(names) == len(set(names)), title


def test_every_row_says_what_one_sees_and_what_to_do() -> None:
    for title, rows in _sections():
        for row in rows:
            assert len(row) == (3 if title == LOG else 4), row
            assert row[1], row
            assert row[-1], row


def test_every_event_of_the_log_has_a_row_and_no_row_has_another() -> None:
    found = {name for name in every_event() if "%" not in name} | {RUN_FAILED, AUTO_PAUSED}
    named = _named(in_the_log=True)
    of_messages = {f"message_{state}" for state in get_args(MessageState)}
    assert len(named) == len(set(named))
    assert set(named) - of_messages == found


def test_states_and_outcomes_of_the_page_are_such() -> None:
    every = every_code() | every_event() | BESIDE | set(get_args(MessageState))
    assert {"sent", "skipped", "refused", "uncertain", "unsent", "sending"} <= BESIDE
    for word in ("sent", "skipped", "uncertain", "unsent", "sending", "missed", "no_recipients"):
        assert word in every
        assert f"`{word}`" in OPERATIONS


def _command(words: list[str]) -> tuple[click.Command, list[str]]:
    """The command that the first words name, and the words after them."""
    command: click.Command = queries
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        assert words[0] in command.commands, words[0]
        command, words = command.commands[words[0]], words[1:]
    return command, words


@pytest.mark.parametrize("told", COMMANDS)
def test_a_command_is_one_with_these_options_and_arguments(told: str) -> None:
    command, words = _command(shlex.split(told)[1:])
    options = {
        name: one for one in command.params if isinstance(one, click.Option) for name in one.opts
    }
    given: set[str | None] = set()
    arguments = 0
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            arguments += 1
            continue
        assert word in options, word
        given.add(options[word].name)
        if not options[word].is_flag:
            assert words, f"{word} wants a value"
            words.pop(0)
    wanted = [one for one in command.params if isinstance(one, click.Argument)]
    assert arguments <= len(wanted)
    if told == "queries":
        return
    # What is not optional is said, too, so that a line can be taken as it stands.
    assert arguments >= sum(one.required for one in wanted)
    required = {one.name for one in options.values() if one.required}
    assert required <= given
