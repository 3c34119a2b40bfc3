"""Every verb of the command, found by itself: help, options, refusals before ``queries init``."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest

from queries_orchestration.cli.main import queries
from queries_orchestration_tests.cli.conftest import Call


def _verbs(group: click.Group = queries, *path: str) -> Iterator[tuple[str, ...]]:
    for name, command in group.commands.items():
        if isinstance(command, click.Group):
            yield from _verbs(command, *path, name)
        else:
            yield (*path, name)


@pytest.mark.parametrize("verb", list(_verbs()), ids=" ".join)
def test_help_says_what_a_verb_and_each_of_its_options_do_and_fits_a_terminal(
    verb: tuple[str, ...], call: Call
) -> None:
    told = call({}, *verb, "--help")

    assert told.status == 0
    assert told.out.startswith(f"Usage: queries {' '.join(verb)} ")
    assert max(map(len, told.out.splitlines())) <= 80
    command: click.Command = queries
    for word in verb:
        assert isinstance(command, click.Group)
        command = command.commands[word]
    assert (command.help or "").splitlines()[0].strip().endswith((".", ":"))
    options = [one for one in command.params if isinstance(one, click.Option)]
    # A server has nothing to tell at its end.
    assert ("--json" in [name for option in options for name in option.opts]) == (
        verb != ("serve",)
    )
    for option in options:
        assert (option.help or "").endswith("."), option.name
