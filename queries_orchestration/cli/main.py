"""Entry of the ``queries`` command, and what its exit status means.

0 done, 2 refused (bad input, or no access; nothing was written), 1 failed. Why is told as
``code: message`` on standard error, or with ``--json`` as ``{"code", "message"}`` on standard
output.
"""

from __future__ import annotations

import sys

import click

from queries_orchestration.cli.audit import audit
from queries_orchestration.cli.backfill import backfill
from queries_orchestration.cli.catalog import catalog
from queries_orchestration.cli.check import check
from queries_orchestration.cli.dispatch import dispatch
from queries_orchestration.cli.erase import erase_person
from queries_orchestration.cli.export import export
from queries_orchestration.cli.exports import exports
from queries_orchestration.cli.history import history
from queries_orchestration.cli.init import init
from queries_orchestration.cli.mailbox import mailbox
from queries_orchestration.cli.output import tell_failure
from queries_orchestration.cli.resend import resend
from queries_orchestration.cli.retention import retention
from queries_orchestration.cli.run_now import run_now
from queries_orchestration.cli.schedules import schedules
from queries_orchestration.cli.serve import serve
from queries_orchestration.cli.tick import tick
from queries_orchestration.cli.token import token
from queries_orchestration.model.errors import (
    InvalidCatalog,
    PermanentError,
    QueriesError,
    TooManyExports,
)

DONE, FAILED, REFUSED = 0, 1, 2


@click.group(epilog="Settings are environment variables: see docs/settings.md.")
@click.version_option(package_name="queries-orchestration")
def queries() -> None:
    """Saved queries and reports as files, on time, in the right hands."""


for command in (
    init,
    catalog,
    schedules,
    tick,
    dispatch,
    run_now,
    resend,
    backfill,
    export,
    exports,
    history,
    audit,
    retention,
    erase_person,
    mailbox,
    check,
    serve,
    token,
):
    queries.add_command(command)


def main(arguments: list[str] | None = None) -> None:
    """Run the command and exit with its status."""
    words = sys.argv[1:] if arguments is None else arguments
    as_json = "--json" in words
    try:
        # A verb that has told by itself what is not well ends with its status.
        status = queries.main(words, prog_name="queries", standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        sys.exit(REFUSED)
    except click.exceptions.Abort:
        sys.exit(FAILED)
    except click.ClickException as error:
        tell_failure("usage", _usage(error), as_json=as_json)
        sys.exit(REFUSED)
    except InvalidCatalog as error:
        faults = [
            {"file": fault.file, "line": fault.line, "message": fault.message}
            for fault in error.faults
        ]
        tell_failure(error.code, error.message, as_json=as_json, faults=faults)
        sys.exit(REFUSED)
    except TooManyExports as error:
        tell_failure(error.code, error.message, as_json=as_json, retry_after=error.retry_after)
        sys.exit(REFUSED)
    except QueriesError as error:
        tell_failure(error.code, error.message, as_json=as_json)
        sys.exit(REFUSED if isinstance(error, PermanentError) else FAILED)
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        advice = "Check the path, its rights and its disk."
        tell_failure("disk_error", f"{place}{error.strerror}. {advice}", as_json=as_json)
        sys.exit(FAILED)
    sys.exit(status or DONE)


def _usage(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    verb = context.command_path if context else "queries"
    return f"{error.format_message().rstrip('.')}. Try `{verb} --help`."
