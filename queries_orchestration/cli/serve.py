"""``queries serve``: the HTTP API, the links people click and the pages."""

from __future__ import annotations

import os
from typing import Any

import click

from queries_orchestration.cli.verb import pass_ready_settings
from queries_orchestration.observing.json_log import EVERYTHING, set_up_log
from queries_orchestration.observing.traces import set_up_traces
from queries_orchestration.settings import Settings


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=8080,
    show_default=True,
    help="Port to listen at; 0 takes a free one.",
)
@click.option(
    "--proxies",
    default="",
    metavar="ADDRESSES",
    help="Of the proxies in front, with commas: whose word counts for where a request comes from.",
)
@pass_ready_settings
def serve(settings: Settings, host: str, port: int, proxies: str) -> None:
    """Serve the HTTP API, the links people click and the pages."""
    # Imported here: no other verb needs a web framework.
    import uvicorn

    from queries_orchestration.web.serving import app_of_environment

    set_up_log(settings, of=EVERYTHING)
    set_up_traces(os.environ)
    # As text uvicorn sets its own loggers up; else it leaves them to ours.
    as_json: dict[str, Any] = {"log_config": None, "log_level": "info"}
    own = {} if settings.log_format == "text" else as_json
    uvicorn.run(
        app_of_environment(),
        host=host,
        port=port,
        # Addresses hold the tokens of links, which reach no log.
        access_log=False,
        ws="none",  # each of its handshakes would be logged, whatever the line before says
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=proxies,
        timeout_graceful_shutdown=10,
        **own,
    )
