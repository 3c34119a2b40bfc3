from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from queries_orchestration.model.errors import InvalidSettings
from queries_orchestration.storage import open_storage
from queries_orchestration.storage.s3_url import S3Place, read_s3_url
from queries_orchestration_tests.storage.files import LINK_KEYS, PUBLIC_URL


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3://a-bucket", S3Place(bucket="a-bucket")),
        ("s3://a-bucket/", S3Place(bucket="a-bucket")),
        ("s3://a.bucket/Team_1/files/", S3Place(bucket="a.bucket", prefix="Team_1/files/")),
        (
            "s3://a-bucket/p?region=eu-central-1&encryption=AES256",
            S3Place(bucket="a-bucket", prefix="p/", region="eu-central-1", encryption="AES256"),
        ),
        (
            "s3://a-bucket?encryption=aws:kms"
            "&kms_key=arn:aws:kms:eu-central-1:123456789012:key/1a2b-3c",
            S3Place(
                bucket="a-bucket",
                encryption="aws:kms",
                kms_key="arn:aws:kms:eu-central-1:123456789012:key/1a2b-3c",
            ),
        ),
        (
            "s3://a-bucket/p?endpoint=http%3A%2F%2F127.0.0.1%3A9000&addressing=path",
            S3Place(
                bucket="a-bucket",
                prefix="p/",
                endpoint="http://127.0.0.1:9000",
                addressing="path",
            ),
        ),
        (
            "s3://a-bucket?endpoint=https://s3.example.org",
            S3Place(bucket="a-bucket", endpoint="https://s3.example.org"),
        ),
    ],
)
def test_a_url_names_a_place(url: str, place: S3Place) -> None:
    assert read_s3_url(urlsplit(url)) == place


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("s3://key:secret@a-bucket/p", "standard AWS environment"),
        ("s3://key@a-bucket/p", "standard AWS environment"),
        ("s3:///p", "must name a bucket"),
        ("s3://A_Bucket/p", "must name a bucket"),
        ("s3://a-bucket:443/p", "must name a bucket"),
        ("s3://ab", "must name a bucket"),
        ("s3://a-bucket/../p", "prefix"),
        ("s3://a-bucket/a//b", "prefix"),
        ("s3://a-bucket/.p", "prefix"),
        ("s3://a-bucket/a%20b", "prefix"),
        (f"s3://a-bucket/{'a' * 200}", "prefix"),
        ("s3://a-bucket/p#secret", "nothing after #"),
        ("s3://a-bucket?secret=x", "only endpoint, region"),
        ("s3://a-bucket?region=a&region=b", "each once"),
        ("s3://a-bucket?secret", "only endpoint, region"),
        ("s3://a-bucket?region=", "region as in"),
        ("s3://a-bucket?endpoint=ftp://secret", "endpoint as https://host"),
        ("s3://a-bucket?endpoint=https://me:secret@host", "endpoint as https://host"),
        ("s3://a-bucket?endpoint=https://host/secret", "endpoint as https://host"),
        ("s3://a-bucket?endpoint=https://host:0", "endpoint as https://host"),
        ("s3://a-bucket?endpoint=https://host:secret", "endpoint as https://host"),
        ("s3://a-bucket?encryption=secret", "AES256 or aws:kms"),
        ("s3://a-bucket?kms_key=secret", "needs encryption=aws:kms"),
        ("s3://a-bucket?encryption=AES256&kms_key=secret", "needs encryption=aws:kms"),
        ("s3://a-bucket?encryption=aws:kms&kms_key=sec%20ret", "an id, an alias or an ARN"),
        ("s3://a-bucket?addressing=secret", "path or virtual"),
    ],
)
def test_a_url_that_names_none_is_refused_without_telling_its_secrets(
    url: str, message: str
) -> None:
    with pytest.raises(InvalidSettings, match=rf"^QUERIES_STORAGE_URL .*{message}") as refused:
        open_storage(url, public_url=PUBLIC_URL, link_keys=LINK_KEYS)
    assert "secret" not in refused.value.message
