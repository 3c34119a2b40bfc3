"""A real Redis of the test run's own, on loopback, with a password."""

from __future__ import annotations

import secrets
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from queries_orchestration_tests.end_with_us import end_with_us
from queries_orchestration_tests.postgres import free_port

START_SECONDS = 30


class RedisNotFound(Exception):
    """The system has no Redis."""


@contextmanager
def running_redis(folder: Path) -> Iterator[str]:
    """Start a server that keeps nothing on the disk, and stop it at the end; yields its URL.

    Raises:
        RedisNotFound: there is no program to start.
        RuntimeError: it did not come up.
    """
    program = shutil.which("redis-server")
    if program is None:
        raise RedisNotFound("Redis is missing; install redis-server")
    port, password = free_port(), secrets.token_urlsafe(16)
    configuration = folder / "redis.conf"
    configuration.write_text(
        f'bind 127.0.0.1\nport {port}\nrequirepass {password}\nsave ""\nappendonly no\n'
    )
    with (folder / "redis.log").open("wb") as log:
        process = subprocess.Popen(
            [program, str(configuration)],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_us(),
        )
    url = f"redis://:{password}@127.0.0.1:{port}/0"
    try:
        _wait_until_up(url, process)
        yield url
    finally:
        process.kill()
        process.wait(timeout=30)


def _wait_until_up(url: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with redis.Redis.from_url(url) as client:
                client.ping()
        except redis.ConnectionError:
            time.sleep(0.02)
            continue
        return
    raise RuntimeError("Redis did not come up")
