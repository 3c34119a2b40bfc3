"""Words of the command line that several verbs take, and what they mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any, TypeVar

import click

from queries_orchestration.model.client_keys import check_client_key
from queries_orchestration.model.errors import Refused

Command = TypeVar("Command", bound=Callable[..., Any])


EARLIEST_YEAR, LATEST_YEAR = 1900, 9000  # beyond, the calendar of Python ends soon


class Instant(click.ParamType[datetime]):
    """An ISO 8601 instant with offset."""

    name = "instant"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        try:
            instant = datetime.fromisoformat(str(value))
            if instant.tzinfo is None:
                self.fail(f"{value!r} needs an offset, as in 2027-01-04T08:00+01:00.", param, ctx)
            if not EARLIEST_YEAR <= instant.year <= LATEST_YEAR:
                self.fail(
                    f"{value!r} is not between the years {EARLIEST_YEAR} and {LATEST_YEAR}.",
                    param,
                    ctx,
                )
            return instant.astimezone(UTC)
        except (ValueError, OverflowError):
            self.fail(f"{value!r} is not an ISO 8601 instant.", param, ctx)


class Day(click.ParamType[date]):
    """A date as in 2027-01-04."""

    name = "day"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> date:
        try:
            day = date.fromisoformat(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a date as in 2027-01-04.", param, ctx)
        if not EARLIEST_YEAR <= day.year <= LATEST_YEAR:
            years = f"{EARLIEST_YEAR} and {LATEST_YEAR}"
            self.fail(f"{value!r} is not between the years {years}.", param, ctx)
        return day


def _values(
    context: click.Context, parameter: click.Parameter, words: tuple[str, ...]
) -> dict[str, str]:
    values: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{word!r} is not NAME=VALUE.", context, parameter)
        if name in values:
            raise click.BadParameter(
                f"{name!r} is set twice. A list is one value, in JSON: {name}='[…, …]'.",
                context,
                parameter,
            )
        values[name] = value
    return values


def set_option(command: Command) -> Command:
    """Give a verb ``--set NAME=VALUE``, for each runtime value of a source."""
    return click.option(
        "--set",
        "values",
        multiple=True,
        metavar="NAME=VALUE",
        callback=_values,
        help="A runtime value of the query or report; repeat it for each."
        """ A list is JSON: 'NAME=["a", "b"]'.""",
    )(command)


def _client_key(context: click.Context, parameter: click.Parameter, key: str | None) -> str | None:
    try:
        return None if key is None else check_client_key(key)
    except Refused as error:
        raise click.BadParameter(error.message, context, parameter) from error


def key_option(command: Command) -> Command:
    """Give a verb ``--key CLIENTKEY``."""
    return click.option(
        "--key",
        "client_key",
        metavar="CLIENTKEY",
        callback=_client_key,
        help="Asked again with the same key, it is done once.",
    )(command)


def workspace_option(command: Command) -> Command:
    """Give a verb ``--workspace``."""
    return click.option("--workspace", metavar="NAME", help="Needed where there is more than one.")(
        command
    )


def person_option(command: Command) -> Command:
    """Give a verb ``--as PERSON``."""
    return click.option(
        "--as", "person", required=True, metavar="PERSON", help="The name of who asks."
    )(command)


def work_options(command: Command) -> Command:
    """Give a verb the options of one that asks for work and follows it."""
    for option in (
        click.option(
            "--wait",
            type=click.FloatRange(0),
            metavar="SECONDS",
            help="Follow it for so long at most; default: to its end.",
        ),
        click.option("--no-wait", is_flag=True, help="Do not follow it: print its key and end."),
        click.option("--work", is_flag=True, help="Work it here, so that no Dagster need run."),
    ):
        command = option(command)
    return command


def check_work_options(*, work: bool, no_wait: bool, wait: float | None) -> None:
    """Refuse options that contradict each other."""
    if no_wait and (work or wait is not None):
        raise click.UsageError("--no-wait goes with neither --work nor --wait.")
    if wait is not None and math.isnan(wait):  # which is in every range
        raise click.UsageError("--wait takes a number of seconds.")
