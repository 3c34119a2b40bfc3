"""Entry of the ``queries`` command, and what its exit status means.

0 done, 2 refused (bad input; nothing was written), 1 failed.
"""

from __future__ import annotations

import json
import os
import sys

import click

from queries_orchestration.cli.catalog import catalog
from queries_orchestration.cli.history import history
from queries_orchestration.cli.init import init
from queries_orchestration.cli.mailbox import mailbox
from queries_orchestration.cli.tick import tick
from queries_orchestration.model.errors import InvalidCatalog, QueriesError, Refused
from queries_orchestration.settings import load_settings

DONE, FAILED, REFUSED = 0, 1, 2


@click.group()
@click.version_option(package_name="queries-orchestration")
@click.pass_context
def queries(context: click.Context) -> None:
    """Saved queries and reports as files, on time, in the right hands."""
    context.obj = load_settings(os.environ)


for command in (init, catalog, tick, history, mailbox):
    queries.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its status."""
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    try:
        queries.main(words, prog_name="queries", standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(FAILED)
    except click.ClickException as error:
        if as_json:
            _tell("usage", error.format_message(), as_json=True)
        else:
            error.show()
        sys.exit(REFUSED)
    except InvalidCatalog as error:
        faults = [
            {"file": fault.file, "line": fault.line, "message": fault.message}
            for fault in error.faults
        ]
        _tell(error.code, error.message, as_json=as_json, faults=faults)
        sys.exit(REFUSED)
    except QueriesError as error:
        _tell(error.code, error.message, as_json=as_json)
        sys.exit(REFUSED if isinstance(error, Refused) else FAILED)
    sys.exit(DONE)


def _tell(code: str, message: str, *, as_json: bool, **more: object) -> None:
    if as_json:
        click.echo(json.dumps({"code": code, "message": message, **more}))
    else:
        click.echo(f"{code}: {message}", err=True)
