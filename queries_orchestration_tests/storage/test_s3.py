"""What is S3's own: checksums, encryption, rights, links; against a real server."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest

from queries_orchestration.model.errors import (
    LinkRefused,
    NotFound,
    StorageUnavailable,
    UploadGone,
)
from queries_orchestration.model.link_keys import LinkKeys
from queries_orchestration.orchestration.resources import StorageResource
from queries_orchestration.settings import load_settings
from queries_orchestration.storage.interface import PartReceipt, Storage
from queries_orchestration.storage.presigned import fetch
from queries_orchestration.storage.s3 import S3Storage
from queries_orchestration_tests.storage.conftest import open_s3
from queries_orchestration_tests.storage.fault_proxy import FaultProxy, Request
from queries_orchestration_tests.storage.s3_server import BUCKET, S3Server

KEY = "w/e.csv"
CSV = "text/csv; charset=utf-8"
PART = b"x" * (5 * 1024 * 1024)


def put(storage: Storage, *parts: bytes) -> None:
    upload_id = storage.begin_upload(KEY, CSV)
    receipts = [
        storage.upload_part(KEY, upload_id, number, part)
        for number, part in enumerate(parts, start=1)
    ]
    storage.complete_upload(KEY, upload_id, receipts)


def content(storage: Storage) -> bytes:
    with storage.open(KEY) as file:
        return file.read()


def link(storage: Storage, expires_at: datetime) -> str:
    return storage.link(KEY, file_name="e.csv", content_type=CSV, expires_at=expires_at)


def in_five_minutes() -> datetime:
    return datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=5)


def refusing_checksums(request: Request) -> bytes | None:
    """As a store that does not know AWS's newer checksums."""
    names = {name.lower() for name in request.headers}
    newer = any(name.startswith(("x-amz-checksum-", "x-amz-sdk-checksum")) for name in names)
    chunked = "aws-chunked" in request.headers.get("Content-Encoding", "")
    return b"InvalidRequest" if newer or chunked else None


def test_the_file_lies_under_prefix_and_key_as_its_type(
    s3_server: S3Server, s3_storage: S3Storage
) -> None:
    put(s3_storage, b"a,b\n")
    bucket, _, name = s3_storage.location(KEY).removeprefix("s3://").partition("/")
    assert (bucket, name.endswith(f"/{KEY}")) == (BUCKET, True)
    seen = s3_server.client().get_object(Bucket=bucket, Key=name)
    assert (seen["Body"].read(), seen["ContentType"]) == (b"a,b\n", CSV)


def test_without_a_prefix_the_bucket_is_ours(s3_server: S3Server) -> None:
    bucket = "a-bucket-of-its-own"
    s3_server.client().create_bucket(Bucket=bucket)
    storage = open_s3(s3_server.url("", bucket=bucket))
    put(storage, b"x")
    assert storage.location(KEY) == f"s3://{bucket}/{KEY}"
    stranger = s3_server.client().create_multipart_upload(Bucket=bucket, Key="Somebody's file")
    assert stranger["UploadId"]
    assert storage.open_uploads("") == []


def test_parts_may_come_in_any_order_and_again(s3_storage: S3Storage) -> None:
    upload_id = s3_storage.begin_upload(KEY, CSV)
    end = s3_storage.upload_part(KEY, upload_id, 2, b"the end")
    s3_storage.upload_part(KEY, upload_id, 1, b"lost")
    start = s3_storage.upload_part(KEY, upload_id, 1, PART)
    s3_storage.complete_upload(KEY, upload_id, [start, end])
    assert content(s3_storage) == PART + b"the end"


def test_a_part_is_sent_with_its_crc32(proxy: FaultProxy, behind_proxy: S3Storage) -> None:
    put(behind_proxy, b"123456789")
    begin, part, complete = (one for one in proxy.requests if one.does != "size")
    assert begin.headers["x-amz-checksum-algorithm"] == "CRC32"
    assert part.headers["x-amz-checksum-crc32"] == "y/Q5Jg=="  # the check value of CRC-32
    assert b"<ChecksumCRC32>y/Q5Jg==</ChecksumCRC32>" in complete.body


def test_a_store_without_newer_checksums_works_with_awss_own_setting(
    proxy: FaultProxy, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    for what in ("REQUEST_CHECKSUM_CALCULATION", "RESPONSE_CHECKSUM_VALIDATION"):
        monkeypatch.setenv(f"AWS_{what}", "when_required")
    proxy.refuse(refusing_checksums)
    storage = open_s3(s3_server.url("md5", endpoint=proxy.endpoint))
    put(storage, b"123456789")
    assert content(storage) == b"123456789"
    (part,) = (one for one in proxy.requests if one.does == "part")
    assert part.headers["Content-MD5"] == "JfnnlDI7RTiF9RgfG2JNCw=="


def test_a_store_without_newer_checksums_is_told_which_setting_it_needs(
    proxy: FaultProxy, behind_proxy: S3Storage
) -> None:
    proxy.refuse(refusing_checksums)
    with pytest.raises(StorageUnavailable, match="AWS_REQUEST_CHECKSUM_CALCULATION=when_required"):
        put(behind_proxy, b"x")


def test_a_part_that_the_store_has_otherwise_is_refused(
    s3_storage: S3Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage, client = s3_storage, s3_storage._client
    upload_id = storage.begin_upload(KEY, CSV)
    send = client.upload_part
    monkeypatch.setattr(
        client, "upload_part", lambda Body, **rest: send(Body=b"y" + Body[1:], **rest)
    )
    with pytest.raises(StorageUnavailable, match=r"sending part 1 of w/e\.csv failed"):
        storage.upload_part(KEY, upload_id, 1, b"x" * 100)


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({"encryption": "AES256"}, {"x-amz-server-side-encryption": "AES256"}),
        (
            {"encryption": "aws:kms", "kms_key": "alias/queries"},
            {
                "x-amz-server-side-encryption": "aws:kms",
                "x-amz-server-side-encryption-aws-kms-key-id": "alias/queries",
            },
        ),
    ],
)
def test_an_upload_asks_for_encryption(
    proxy: FaultProxy, s3_server: S3Server, options: dict[str, str], wanted: dict[str, str]
) -> None:
    storage = open_s3(s3_server.url("sealed", endpoint=proxy.endpoint, **options))
    with pytest.raises(StorageUnavailable, match=r"NotImplemented.*no encryption in the URL"):
        storage.begin_upload(KEY, CSV)  # this server has none
    sent = proxy.requests[0].headers
    assert {name: sent[name] for name in sent if "encryption" in name} == wanted


def test_wrong_keys_are_told_and_never_shown(
    s3_url: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-wrong-secret")
    storage = open_s3(s3_url)
    with pytest.raises(
        StorageUnavailable, match=r"SignatureDoesNotMatch.*AWS_SECRET_ACCESS_KEY"
    ) as failed:
        storage.begin_upload(KEY, CSV)
    assert "a-wrong-secret" not in failed.value.message
    with pytest.raises(LinkRefused):
        fetch(link(storage, in_five_minutes()), file_name="e.csv")


def test_without_credentials_it_is_told_where_they_belong(
    s3_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    storage = open_s3(s3_url)
    for call in (
        lambda: storage.size(KEY),
        lambda: link(storage, in_five_minutes()),
    ):
        with pytest.raises(StorageUnavailable, match="standard AWS environment"):
            call()


def test_a_bucket_that_is_not_there_is_told(s3_server: S3Server) -> None:
    storage = open_s3(s3_server.url("x", bucket="never-made"))
    for call in (lambda: storage.begin_upload(KEY, CSV), lambda: storage.open_uploads("")):
        with pytest.raises(StorageUnavailable, match="there is no such bucket"):
            call()


@pytest.mark.usefixtures("at_once")
def test_a_store_that_is_not_there_is_told_without_its_address(s3_server: S3Server) -> None:
    storage = open_s3(s3_server.url("x", endpoint="http://127.0.0.1:9"))
    with pytest.raises(StorageUnavailable, match="it does not answer") as failed:
        storage.size(KEY)
    assert "127.0.0.1" not in failed.value.message


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (b"AccessDenied", "rights that docs/storage.md lists"),
        (b"InvalidAccessKeyId", "check AWS_ACCESS_KEY_ID"),
        (b"ExpiredToken", "check AWS_ACCESS_KEY_ID"),
        (b"AuthorizationHeaderMalformed", "region="),
        (b"RequestTimeTooSkewed", "clock"),
        (b"KMS.NotFoundException", "kms_key"),
        (b"SomethingUnheardOf", "SomethingUnheardOf.*docs/storage.md"),
        (b"no code, but a text with a secret", "HTTP 400.*docs/storage.md"),
    ],
)
def test_what_the_store_refuses_is_told_in_our_words(
    proxy: FaultProxy, behind_proxy: S3Storage, code: bytes, advice: str
) -> None:
    proxy.refuse(lambda request: code)
    with pytest.raises(StorageUnavailable, match=advice) as failed:
        behind_proxy.begin_upload(KEY, CSV)
    assert "secret" not in failed.value.message


@pytest.mark.parametrize("change", ["order", "other", "none"])
def test_parts_that_do_not_make_up_the_file_are_not_completed(
    s3_storage: S3Storage, change: str
) -> None:
    upload_id = s3_storage.begin_upload(KEY, CSV)
    one = s3_storage.upload_part(KEY, upload_id, 1, PART)
    two = s3_storage.upload_part(KEY, upload_id, 2, b"b")
    parts = {
        "order": [two, one],
        "other": [one, PartReceipt(number=2, size=1, tag=one.tag)],
        "none": [],
    }
    with pytest.raises(StorageUnavailable):
        s3_storage.complete_upload(KEY, upload_id, parts[change])
    assert s3_storage.size(KEY) is None


def test_completing_a_second_time_is_refused(s3_storage: S3Storage) -> None:
    upload_id = s3_storage.begin_upload(KEY, CSV)
    parts = [s3_storage.upload_part(KEY, upload_id, 1, b"x")]
    s3_storage.complete_upload(KEY, upload_id, parts)
    with pytest.raises(UploadGone):
        s3_storage.complete_upload(KEY, upload_id, parts)
    assert content(s3_storage) == b"x"


def test_a_link_ends_at_its_second(s3_storage: S3Storage) -> None:
    put(s3_storage, b"x")
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=1)
    url = link(s3_storage, until)
    said = {name: value for name, (value,) in parse_qs(urlsplit(url).query).items()}
    signed_at = datetime.strptime(said["X-Amz-Date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    assert signed_at + timedelta(seconds=int(said["X-Amz-Expires"])) == until
    time.sleep(max(0, (until - datetime.now(UTC)).total_seconds()) + 0.1)
    with pytest.raises(LinkRefused):
        fetch(url, file_name="e.csv")


def test_a_link_that_was_to_end_later_is_changed_and_refused(s3_storage: S3Storage) -> None:
    put(s3_storage, b"x")
    url = link(s3_storage, in_five_minutes())
    for old, new in (("Expires=", "Expires=9"), (KEY, "w/other.csv"), ("e.csv%22", "f.csv%22")):
        assert url.count(old) == 1
        with pytest.raises(LinkRefused):
            fetch(url.replace(old, new), file_name="e.csv")


@pytest.mark.parametrize("region", ["eu-central-1", "us-east-1"])
@pytest.mark.parametrize("opened_by", ["command", "dagster"])
def test_links_into_aws_lead_to_the_buckets_own_region(
    s3_server: S3Server, region: str, opened_by: str
) -> None:
    url = f"s3://a-bucket/files?region={region}"
    storage = open_s3(url) if opened_by == "command" else of_dagster(url)
    parts = urlsplit(link(storage, in_five_minutes()))
    assert (parts.scheme, parts.netloc, parts.path) == (
        "https",
        f"a-bucket.s3.{region}.amazonaws.com",
        f"/files/{KEY}",
    )
    assert parse_qs(parts.query)["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]


@pytest.mark.parametrize(
    ("addressing", "host"),
    [("path", "s3.example.org/files/"), ("virtual", "files.s3.example.org/")],
)
def test_a_store_may_want_the_bucket_in_its_host_name(
    s3_server: S3Server, addressing: str, host: str
) -> None:
    storage = open_s3(s3_server.url("p", endpoint="https://s3.example.org", addressing=addressing))
    assert link(storage, in_five_minutes()).startswith(f"https://{host}p/{KEY}?")


def of_dagster(url: str) -> Storage:
    settings = load_settings({"QUERIES_STORAGE_URL": url})
    return StorageResource().open(settings, LinkKeys.parse(f"k1:{'a' * 40}"))


def test_dagsters_resource_reaches_the_same_bucket(s3_url: str, s3_server: S3Server) -> None:
    storage = of_dagster(s3_url)
    put(storage, b"made in a run")
    assert content(open_s3(s3_url)) == b"made in a run"
    with fetch(link(storage, in_five_minutes()), file_name="e.csv").stream as stream:
        assert stream.read() == b"made in a run"


def test_a_killed_worker_leaves_an_upload_that_is_found_and_aborted(
    s3_url: str, s3_storage: S3Storage
) -> None:
    script = f"""
import os, signal
from queries_orchestration.storage.multipart import MultipartWriter
from queries_orchestration_tests.storage.conftest import open_s3
storage = open_s3({s3_url!r})
upload_id = storage.begin_upload({KEY!r}, "text/csv")
print(upload_id, flush=True)
writer = MultipartWriter(storage, {KEY!r}, upload_id, {len(PART)})
writer.write(bytes({2 * len(PART) + 5}))
os.kill(os.getpid(), signal.SIGKILL)
"""
    worker = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert worker.returncode == -signal.SIGKILL, worker.stderr
    (left,) = s3_storage.open_uploads("w/")
    assert left[:2] == (KEY, worker.stdout.strip())
    assert s3_storage.size(KEY) is None
    s3_storage.abort_upload(KEY, left.upload_id)
    assert s3_storage.open_uploads("") == []


def test_opening_a_bucket_loads_no_boto3() -> None:
    script = """
import sys
from queries_orchestration_tests.storage.files import LINK_KEYS, PUBLIC_URL
from queries_orchestration.storage import open_storage
open_storage("s3://a-bucket/prefix", public_url=PUBLIC_URL, link_keys=LINK_KEYS)
print([name for name in sys.modules if name in ("boto3", "botocore", "dagster_aws")])
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (shown.stdout.strip(), shown.stderr) == ("[]", "")


def test_a_file_that_is_not_there_is_not_found(s3_storage: S3Storage) -> None:
    with pytest.raises(NotFound, match=r"storage has no file w/e\.csv"):
        s3_storage.open(KEY)
