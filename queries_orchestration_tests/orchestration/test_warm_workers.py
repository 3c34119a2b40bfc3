"""Real workers with the app of the launcher, a real Redis, and runs that only wait."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import psutil
import pytest
import redis
from dagster import DagsterRunStatus as Status
from dagster._core.definitions.reconstruct import ReconstructableJob, reconstructable
from dagster._core.launcher import LaunchRunContext, WorkerStatus
from dagster._core.test_utils import create_run_for_test
from dagster_celery.config import TASK_EXECUTE_JOB_NAME
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG
from kombu.exceptions import OperationalError

from queries_orchestration.orchestration import warm_launcher
from queries_orchestration.orchestration.deliver_occurrence import deliver_occurrence
from queries_orchestration.orchestration.warm_launcher import WarmRunLauncher
from queries_orchestration_tests.conftest import CI
from queries_orchestration_tests.end_with_us import end_with_us
from queries_orchestration_tests.orchestration.waiting_worker import BROKER, FOLDER
from queries_orchestration_tests.redis_server import RedisNotFound, running_redis

QUEUE = "delivery"
PATIENCE = 30.0


@dataclass(frozen=True, kw_only=True)
class Shop:
    """A broker, the launcher that sends to it, and the folder of the runs that wait."""

    url: str
    launcher: WarmRunLauncher
    folder: Path

    @contextmanager
    def worker(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a worker of one child on the queue, until the block ends."""
        command = [
            *(sys.executable, "-m", "celery", "--quiet"),
            *("--app", "queries_orchestration_tests.orchestration.waiting_worker", "worker"),
            *("--queues", QUEUE, "--concurrency", "1", "--hostname", f"{name}@here"),
            *("--loglevel", "ERROR", "--without-gossip", "--without-mingle"),
        ]
        process = subprocess.Popen(
            command,
            env={**os.environ, BROKER: self.url, FOLDER: str(self.folder)},
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=end_with_us(),
        )
        try:
            wait_for(lambda: self.launcher.celery.control.ping([f"{name}@here"], timeout=0.2))
            yield process
        finally:
            main = psutil.Process(process.pid)
            for one in [*main.children(recursive=True), main]:
                one.kill()
            process.wait(timeout=PATIENCE)

    def send(self, name: str) -> str:
        """Send a run that waits; returns the id of its task."""
        task = self.launcher.celery.send_task(TASK_EXECUTE_JOB_NAME, args=[name], queue=QUEUE)
        return str(task.id)

    def has_begun(self, name: str) -> bool:
        return (self.folder / f"{name}.begun").exists()

    def end(self, name: str) -> None:
        (self.folder / f"{name}.may-end").touch()


def wait_for(look: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not look():
        assert time.monotonic() < deadline, "nothing came in time"
        time.sleep(0.02)


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    monkeypatch.setattr(warm_launcher, "ANSWER_SECONDS", 1.0)
    with ExitStack() as stack:
        try:
            url = stack.enter_context(running_redis(tmp_path))
        except RedisNotFound as error:
            if CI:
                raise
            pytest.skip(str(error))
        launcher = WarmRunLauncher(default_queue="upkeep", broker=url, backend=url)
        instance = stack.enter_context(dg.instance_for_test())
        launcher.register_instance(instance)
        yield Shop(url=url, launcher=launcher, folder=tmp_path)


def test_a_run_waits_in_its_queue_for_the_first_child_that_is_free(shop: Shop) -> None:
    """A worker that took it while its own child is at work would keep it from all others."""
    with redis.Redis.from_url(shop.url) as broker, shop.worker("busy"):
        shop.send("long")
        wait_for(lambda: shop.has_begun("long"))
        shop.send("next")
        shop.send("last")
        # It has answered, and so has looked at its queue, or not, since they were sent.
        for _ in range(3):
            assert shop.launcher.celery.control.ping(["busy@here"], timeout=PATIENCE, limit=1)
        assert broker.llen(QUEUE) == 2
        with shop.worker("other"):
            wait_for(lambda: shop.has_begun("next"))
            assert not shop.has_begun("last")
            shop.end("next")
            wait_for(lambda: shop.has_begun("last"))


def test_a_worker_that_is_silent_for_a_moment_fails_no_run(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while it finds its broker again, which has been away and still has the task."""
    with shop.worker("one") as process:
        task_id = shop.send("long")
        wait_for(lambda: shop.has_begun("long"))
        run = create_run_for_test(
            shop.launcher._instance,
            job_name="any",
            status=Status.STARTED,
            tags={DAGSTER_CELERY_TASK_ID_TAG: task_id},
        )

        def health() -> WorkerStatus:
            return shop.launcher.check_run_worker_health(run).status

        wait_for(lambda: health() == WorkerStatus.RUNNING)
        worker = psutil.Process(process.pid)
        worker.suspend()
        assert health() == WorkerStatus.RUNNING
        worker.resume()
        wait_for(lambda: health() == WorkerStatus.RUNNING)
        wait_for(lambda: not shop.launcher._silent)

        monkeypatch.setattr(warm_launcher, "GONE_SECONDS", 0.0)
        worker.suspend()
        assert health() == WorkerStatus.RUNNING
        assert health() == WorkerStatus.FAILED
    with shop.worker("one"):
        # It knows nothing of what the one before it was at, and says so.
        assert health() == WorkerStatus.FAILED


def test_a_broker_that_is_silent_keeps_no_launch_waiting_for_ever(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = warm_launcher._CONFIG["broker_transport_options"]
    soon = {name: 0.1 for name, one in options.items() if one == warm_launcher.SILENCE_SECONDS}
    monkeypatch.setitem(warm_launcher._CONFIG, "broker_transport_options", {**options, **soon})
    launcher = WarmRunLauncher(default_queue="upkeep", broker=shop.url, backend=shop.url)
    instance = shop.launcher._instance
    launcher.register_instance(instance)
    job: ReconstructableJob = reconstructable(deliver_occurrence)
    run = instance.create_run_for_job(
        deliver_occurrence, tags=deliver_occurrence.tags, job_code_origin=job.get_python_origin()
    )
    refused: list[Exception] = []

    def launch() -> None:
        try:
            launcher.launch_run(LaunchRunContext(dagster_run=run, workspace=None))
        except OperationalError as error:
            refused.append(error)

    with redis.Redis.from_url(shop.url) as broker:
        server = psutil.Process(broker.info("server")["process_id"])
    server.suspend()
    try:
        launching = threading.Thread(target=launch, daemon=True)
        launching.start()
        launching.join(PATIENCE)
        assert refused
    finally:
        server.resume()
        launching.join(PATIENCE)
