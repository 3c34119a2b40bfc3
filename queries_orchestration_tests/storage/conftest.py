from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import ProxyHandler, build_opener
from uuid import uuid4

import pytest

from queries_orchestration.model.errors import LinkRefused
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.interface import Storage
from queries_orchestration.storage.local import LocalStorage
from queries_orchestration.storage.s3 import S3Storage
from queries_orchestration.storage.s3_client import RETRIES, S3Client, prepare
from queries_orchestration.storage.s3_url import S3Place, read_s3_url
from queries_orchestration_tests.conftest import CI
from queries_orchestration_tests.storage.fault_proxy import FaultProxy, fault_proxy
from queries_orchestration_tests.storage.files import LINK_KEYS, PUBLIC_URL, open_files
from queries_orchestration_tests.storage.s3_server import (
    BUCKET,
    S3Server,
    S3ServerNotFound,
    running_s3_server,
)


@pytest.fixture
def local_storage(tmp_path: Path) -> LocalStorage:
    return open_files(tmp_path / "files")


@pytest.fixture(scope="session")
def running_s3() -> Iterator[S3Server]:
    """One store per test process, started when the first test asks for it."""
    try:
        with running_s3_server() as server:
            yield server
    except S3ServerNotFound as error:
        if CI:
            raise
        pytest.skip(str(error))


@pytest.fixture
def s3_server(running_s3: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """The store, and an AWS environment in which nothing but its keys is set."""
    for variable in list(os.environ):
        if variable.startswith("AWS_") or variable.upper().endswith("_PROXY"):
            monkeypatch.delenv(variable)
    for variable, value in running_s3.environment.items():
        monkeypatch.setenv(variable, value)
    for variable in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(variable, os.devnull)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return running_s3


@pytest.fixture
def s3_url(s3_server: S3Server) -> str:
    """An empty storage."""
    return s3_server.url(f"tests/{uuid4().hex}")


@pytest.fixture(scope="session")
def prepared_client(running_s3: S3Server) -> S3Client:
    """What most tests share: to build one takes longer than what they do with it."""
    return prepare(running_s3.client(), S3Place(bucket=BUCKET, endpoint=running_s3.endpoint))


@pytest.fixture
def s3_storage(s3_url: str, prepared_client: S3Client) -> S3Storage:
    return S3Storage(read_s3_url(urlsplit(s3_url)), client=lambda: prepared_client)


@pytest.fixture(scope="session")
def running_proxy(running_s3: S3Server) -> Iterator[FaultProxy]:
    with fault_proxy(running_s3.port) as running:
        yield running


@pytest.fixture
def proxy(running_proxy: FaultProxy) -> FaultProxy:
    """Between us and the store, with no fault planned."""
    running_proxy.forget()
    return running_proxy


@pytest.fixture(scope="session")
def proxied_client(running_s3: S3Server, running_proxy: FaultProxy) -> S3Client:
    place = S3Place(bucket=BUCKET, endpoint=running_proxy.endpoint)
    client = running_s3.client(endpoint=running_proxy.endpoint, max_attempts=RETRIES)
    return prepare(client, place)


@pytest.fixture
def behind_proxy(
    request: pytest.FixtureRequest, proxy: FaultProxy, proxied_client: S3Client
) -> S3Storage:
    """An empty storage behind the proxy, whose client tries again without delay."""
    request.getfixturevalue("at_once")
    place = S3Place(bucket=BUCKET, prefix=f"tests/{uuid4().hex}/", endpoint=proxy.endpoint)
    return S3Storage(place, client=lambda: proxied_client)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's own retries come without delay, and as often as in a client that is new."""
    monkeypatch.setattr("botocore.retries.standard.ExponentialBackoff.delay_amount", _no_delay)
    monkeypatch.setattr("botocore.retries.quota.RetryQuota.acquire", _granted)


def _no_delay(*_: object) -> float:
    return 0.0


def _granted(*_: object) -> bool:
    return True


def open_s3(url: str) -> S3Storage:
    """Open a bucket as the product does."""
    storage = open_storage(url, public_url=PUBLIC_URL, link_keys=LINK_KEYS)
    assert isinstance(storage, S3Storage)
    return storage


class Fetched(NamedTuple):
    """What a link gives to whoever opens it."""

    content: bytes
    file_name: str
    content_type: str


Fetch = Callable[[str, datetime], Fetched]


@pytest.fixture
def fetch(storage: Storage) -> Fetch:
    """Opens a link at a moment; raises LinkRefused as the link's server would refuse.

    A real server goes by its own clock.
    """
    return _redeem(storage) if isinstance(storage, LocalStorage) else _get


def _redeem(storage: LocalStorage) -> Fetch:
    def open_link(url: str, now: datetime) -> Fetched:
        root, _, token = url.rpartition("/")
        assert root == f"{PUBLIC_URL}/files"
        found = storage.redeem(token, now=now)
        with found.stream as stream:
            content = stream.read()
        assert found.size == len(content)
        return Fetched(content, found.file_name, found.content_type)

    return open_link


def _get(url: str, now: datetime) -> Fetched:
    try:
        with build_opener(ProxyHandler({})).open(url, timeout=30) as answer:
            content, headers = answer.read(), answer.headers
    except HTTPError as error:
        error.close()
        if error.code not in (400, 403, 404):
            raise
        raise LinkRefused from None
    return Fetched(content, _name(headers["Content-Disposition"]), headers["Content-Type"])


def _name(disposition: str) -> str:
    """As a browser reads it: the encoded name goes before the plain one."""
    if encoded := re.search(r"; filename\*=UTF-8''([^;]+)$", disposition):
        return unquote(encoded[1])
    plain = re.fullmatch(r'attachment; filename="([^"]+)"', disposition)
    assert plain is not None
    return plain[1]


@pytest.fixture(params=["local_storage", "s3_storage"])
def storage(request: pytest.FixtureRequest) -> Storage:
    """Every backend in turn: what holds for one holds for all."""
    backend: Storage = request.getfixturevalue(request.param)
    return backend
