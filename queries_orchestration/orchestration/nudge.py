"""The nudge: ask Dagster's web server to launch a run at once, instead of at the next sensor tick.

Best effort: whatever goes wrong, the offer's lease ends and the sensor makes it again.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http.client import HTTPException
from typing import Any, Final
from urllib.error import URLError
from urllib.request import Request, urlopen

from queries_orchestration.receives.publish import Answer

NUDGE_SECONDS: Final = 2.0
LOCATION: Final = "queries_orchestration"
REPOSITORY: Final = "__repository__"
_LAUNCH: Final = """
mutation Launch($run: ExecutionParams!) {
  launchRun(executionParams: $run) { __typename }
}
"""

log = logging.getLogger(__name__)


def launch_run(
    dagster_url: str, job: str, *, config: Mapping[str, Any], tags: Mapping[str, str]
) -> Answer:
    """Ask the web server at ``dagster_url`` to launch one run of ``job``.

    Returns:
        ``refused`` if it answered that it will not; ``unknown`` if no answer came in time, so
        that a run may or may not follow.
    """
    run = {
        "selector": {
            "repositoryLocationName": LOCATION,
            "repositoryName": REPOSITORY,
            "jobName": job,
        },
        "runConfigData": config,
        "executionMetadata": {
            "tags": [{"key": key, "value": value} for key, value in tags.items()]
        },
    }
    body = json.dumps({"query": _LAUNCH, "variables": {"run": run}}).encode()
    request = Request(  # noqa: S310 - the scheme is checked with the settings
        f"{dagster_url.rstrip('/')}/graphql",
        data=body,
        headers={"Content-Type": "application/json"},
    )
    try:
        with urlopen(request, timeout=NUDGE_SECONDS) as response:  # noqa: S310
            answer = json.load(response)
    except (URLError, HTTPException, OSError, ValueError) as error:
        log.warning("nudge_failed job=%s reason=%s", job, type(error).__name__)
        return _unless_refused(error)
    launched = (answer.get("data") or {}).get("launchRun") or {}
    kind = launched.get("__typename", "an error")
    if kind == "LaunchRunSuccess":
        return "accepted"
    log.warning("nudge_refused job=%s reason=%s", job, kind)
    return "refused"


def _unless_refused(error: Exception) -> Answer:
    """A connection that was refused, or an HTTP status, is an answer; silence is none."""
    reason = getattr(error, "reason", error)
    refused = isinstance(reason, ConnectionRefusedError) or hasattr(error, "code")
    return "refused" if refused else "unknown"
