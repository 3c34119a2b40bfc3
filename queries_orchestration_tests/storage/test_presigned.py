"""The command downloads by a link of the store, as a browser would."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from queries_orchestration.model.errors import LinkRefused, StorageUnavailable
from queries_orchestration.storage.presigned import fetch
from queries_orchestration.storage.s3 import S3Storage
from queries_orchestration_tests.storage.fault_proxy import Fault, FaultProxy

KEY = "w/e.csv"
CONTENT = b"0123456789" * 300_000


@pytest.fixture
def url(behind_proxy: S3Storage) -> str:
    """A link to a file that is there."""
    upload_id = behind_proxy.begin_upload(KEY, "text/csv")
    part = behind_proxy.upload_part(KEY, upload_id, 1, CONTENT)
    behind_proxy.complete_upload(KEY, upload_id, [part])
    return link(behind_proxy)


def link(storage: S3Storage) -> str:
    return storage.link(
        KEY,
        file_name="Orders.csv",
        content_type="text/csv; charset=utf-8",
        expires_at=datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5),
    )


def test_the_file_is_streamed(url: str) -> None:
    found = fetch(url, file_name="Orders.csv")
    assert (found.size, found.file_name, found.content_type) == (
        len(CONTENT),
        "Orders.csv",
        "text/csv; charset=utf-8",
    )
    with found.stream as stream:
        assert stream.read(10) == CONTENT[:10]
        assert stream.read() == CONTENT[10:]


def test_a_file_that_is_gone_or_a_link_that_was_changed_is_refused(
    url: str, behind_proxy: S3Storage
) -> None:
    with pytest.raises(LinkRefused):
        fetch(f"{url}0", file_name="Orders.csv")
    behind_proxy.delete(KEY)
    with pytest.raises(LinkRefused):
        fetch(url, file_name="Orders.csv")


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        (Fault.REDIRECT, "HTTP 302"),
        (Fault.ERROR_503, "HTTP 503"),
        (Fault.LOSE_ANSWER, "RemoteDisconnected"),
    ],
)
def test_a_store_that_fails_or_leads_elsewhere_is_told(
    url: str, proxy: FaultProxy, fault: Fault, what: str
) -> None:
    proxy.plan("open", fault)
    with pytest.raises(StorageUnavailable, match=what) as failed:
        fetch(url, file_name="Orders.csv")
    assert "secret" not in failed.value.message
    assert proxy.endpoint not in failed.value.message
    assert not any("elsewhere" in request.path for request in proxy.requests)


def test_a_file_that_ends_early_is_an_error(url: str, proxy: FaultProxy) -> None:
    proxy.plan("open", Fault.CUT_ANSWER)
    with (
        fetch(url, file_name="Orders.csv").stream as stream,
        pytest.raises(StorageUnavailable, match="it ended early"),
    ):
        stream.read()


def test_a_store_that_falls_silent_is_given_up(url: str, proxy: FaultProxy) -> None:
    proxy.slowness = 0.5
    proxy.plan("open", Fault.SLOW)
    with pytest.raises(StorageUnavailable, match="TimeoutError"):
        fetch(url, file_name="Orders.csv", seconds=0.1)


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_only_http_is_opened(url: str) -> None:
    with pytest.raises(StorageUnavailable):
        fetch(url, file_name="x")
