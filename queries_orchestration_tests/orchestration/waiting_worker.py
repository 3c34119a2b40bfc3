"""A worker of the launcher's own app whose runs only wait: until a file says that they may end.

``celery --app queries_orchestration_tests.orchestration.waiting_worker worker`` runs it.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Final

from dagster_celery.config import TASK_EXECUTE_JOB_NAME

from queries_orchestration.orchestration.warm_launcher import WarmRunLauncher

BROKER: Final = "WAITING_BROKER"
FOLDER: Final = "WAITING_FOLDER"

_url = os.environ.get(BROKER)
app = WarmRunLauncher(default_queue="upkeep", broker=_url, backend=_url).celery


@app.task(name=TASK_EXECUTE_JOB_NAME, track_started=True)  # type: ignore[untyped-decorator]
def wait(name: str) -> None:
    """Say that ``name`` has begun, then wait for its end."""
    folder = Path(os.environ[FOLDER])
    (folder / f"{name}.begun").touch()
    while not (folder / f"{name}.may-end").exists():
        time.sleep(0.02)
