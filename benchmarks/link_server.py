"""The application as `queries serve` has it, with an empty route beside its own; one process."""

from __future__ import annotations

import sys

import uvicorn

from queries_orchestration.web.serving import app_of_environment

EMPTY = "/empty"


async def _empty() -> None:
    pass


def main() -> None:
    """Serve at the port of the first argument until it is ended."""
    app = app_of_environment()
    app.add_api_route(EMPTY, _empty)
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
