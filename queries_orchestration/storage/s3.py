"""Files in a bucket of S3, or of a store that speaks its language.

Every answer of the store may be lost after it did the work. A part is then sent again, and whether
a file was completed is seen by looking at it.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple
from urllib.parse import parse_qs, urlsplit

from queries_orchestration.model.errors import NotFound, StorageUnavailable, UploadGone
from queries_orchestration.model.file_names import content_disposition
from queries_orchestration.model.storage_links import StorageLink
from queries_orchestration.storage.interface import (
    OpenUpload,
    PartReceipt,
    StoredFile,
    check_key,
    check_prefix,
    is_key,
)
from queries_orchestration.storage.s3_client import S3Client
from queries_orchestration.storage.s3_errors import as_ours, unavailable
from queries_orchestration.storage.s3_url import S3Place

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

_READ_BYTES: Final = 1024 * 1024
_MD5: Final = re.compile("[0-9a-f]{32}")


class _Seen(NamedTuple):
    """An object as it was; another one under the same key differs in one of them."""

    size: int
    tag: str
    modified_at: datetime


class S3Storage:
    """The storage of any number of machines.

    Args:
        place: the bucket and how files lie in it.
        client: builds a client, made ready by ``s3_client.prepare``; called when first needed.
    """

    parts_at_once = 2

    def __init__(self, place: S3Place, *, client: Callable[[], S3Client]) -> None:
        self._place = place
        self._build = client

    def begin_upload(self, key: str, content_type: str) -> str:
        options: dict[str, str] = {"ContentType": content_type}
        if self._place.encryption is not None:
            options["ServerSideEncryption"] = self._place.encryption
        if self._place.kms_key is not None:
            options["SSEKMSKeyId"] = self._place.kms_key
        where = self._object(key)
        with as_ours(f"beginning the upload of {key}", key=key):
            if self._sends_crc32:
                options["ChecksumAlgorithm"] = "CRC32"
            answer = self._client.create_multipart_upload(**where, **options)
        upload_id: str = answer["UploadId"]
        return upload_id

    def upload_part(
        self, key: str, upload_id: str, number: int, data: bytes | bytearray
    ) -> PartReceipt:
        doing, where = f"sending part {number} of {key}", self._object(key)
        with as_ours(doing, key=key):
            sums = self._sums(data)
            answer = self._client.upload_part(
                **where, UploadId=upload_id, PartNumber=number, Body=data, **sums
            )
        if not _arrived_whole(answer, data):
            raise unavailable(doing, "changed on the way", "make the file again")
        tag = f"{answer['ETag']} {sums.get('ChecksumCRC32', '')}"
        return PartReceipt(number=number, size=len(data), tag=tag)

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        before = self._look(key)
        try:
            with as_ours(f"completing {key}", key=key):
                self._client.complete_multipart_upload(
                    **self._object(key),
                    UploadId=upload_id,
                    MultipartUpload={"Parts": [_named(part) for part in parts]},
                )
        except (StorageUnavailable, UploadGone):
            # The answer may have been lost, and this be that of a second try.
            after = self._look(key)
            size = sum(part.size for part in parts)
            if after is None or after == before or after.size != size:
                raise

    def abort_upload(self, key: str, upload_id: str) -> None:
        where = self._object(key)
        try:
            with as_ours(f"aborting the upload of {key}", key=key):
                self._client.abort_multipart_upload(**where, UploadId=upload_id)
        except UploadGone:
            return

    def size(self, key: str) -> int | None:
        seen = self._look(key)
        return None if seen is None else seen.size

    def open(self, key: str) -> BinaryIO:
        where = self._object(key)
        with as_ours(f"opening {key}", key=key):
            answer = self._client.get_object(**where)
        return io.BufferedReader(_Body(answer["Body"], key), _READ_BYTES)

    def delete(self, key: str) -> None:
        where = self._object(key)
        with as_ours(f"removing {key}", key=key):
            self._client.delete_object(**where)

    def files(self, prefix: str) -> Iterator[StoredFile]:
        doing, start = "listing the files", self._place.prefix + check_prefix(prefix)
        with as_ours(doing, key=prefix):
            lists = self._client.get_paginator("list_objects_v2")
            pages = iter(lists.paginate(Bucket=self._place.bucket, Prefix=start))
        while True:
            with as_ours(doing, key=prefix):
                page = next(pages, None)
            if page is None:
                return
            for one in page.get("Contents", ()):
                key = one["Key"].removeprefix(self._place.prefix)
                if is_key(key):  # else it is none of ours
                    yield StoredFile(key, one["LastModified"].astimezone(UTC))

    def open_uploads(self, prefix: str) -> list[OpenUpload]:
        start = self._place.prefix + check_prefix(prefix)
        found = []
        with as_ours("listing the open uploads", key=prefix):
            lists = self._client.get_paginator("list_multipart_uploads")
            for page in lists.paginate(Bucket=self._place.bucket, Prefix=start):
                for one in page.get("Uploads", ()):
                    key = one["Key"].removeprefix(self._place.prefix)
                    if is_key(key):  # else it is none of ours
                        begun_at = one.get("Initiated")
                        found.append(
                            OpenUpload(
                                key,
                                one["UploadId"],
                                None if begun_at is None else begun_at.astimezone(UTC),
                            )
                        )
        return sorted(found, key=lambda upload: upload[:2])

    def link(self, key: str, *, file_name: str, content_type: str, expires_at: datetime) -> str:
        link = StorageLink(
            key=check_key(key),
            file_name=file_name,
            content_type=content_type,
            expires_at=expires_at,
        )
        # S3 counts from the second of signing: sign until that is the one it was counted for.
        url, signed_at = self._signed(link, seconds=1)
        while True:
            seconds = int((expires_at - signed_at).total_seconds())
            url, at = self._signed(link, seconds=seconds)
            if at == signed_at:
                return url
            signed_at = at

    def location(self, key: str) -> str:
        return f"s3://{self._place.bucket}/{self._place.prefix}{check_key(key)}"

    @cached_property
    def _client(self) -> S3Client:
        return self._build()

    @property
    def _sends_crc32(self) -> bool:
        """Not where the AWS environment says ``when_required``: the store knows MD5 alone."""
        wanted: str = self._client.meta.config.request_checksum_calculation
        return wanted == "when_supported"

    def _sums(self, data: bytes | bytearray) -> dict[str, str]:
        """What the store checks a part by."""
        return {"ChecksumCRC32": _crc32(data)} if self._sends_crc32 else {"ContentMD5": _md5(data)}

    def _object(self, key: str) -> dict[str, str]:
        return {"Bucket": self._place.bucket, "Key": self._place.prefix + check_key(key)}

    def _look(self, key: str) -> _Seen | None:
        where = self._object(key)
        try:
            with as_ours(f"looking for {key}", key=key):
                answer = self._client.head_object(**where)
        except NotFound:
            return None
        return _Seen(answer["ContentLength"], answer["ETag"], answer["LastModified"])

    def _signed(self, link: StorageLink, *, seconds: int) -> tuple[str, datetime]:
        with as_ours(f"making a link to {link.key}", key=link.key):
            url: str = self._client.generate_presigned_url(
                "get_object",
                Params={
                    **self._object(link.key),
                    "ResponseContentDisposition": content_disposition(link.file_name),
                    "ResponseContentType": link.content_type,
                },
                ExpiresIn=seconds,
            )
        (signed_at,) = parse_qs(urlsplit(url).query)["X-Amz-Date"]
        return url, datetime.strptime(signed_at, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


class _Body(io.RawIOBase):
    """The content of an object as it arrives, with our errors."""

    def __init__(self, body: Any, key: str) -> None:
        self._body = body
        self._key = key

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        with memoryview(buffer).cast("B") as room, as_ours(f"reading {self._key}", key=self._key):
            data: bytes = self._body.read(room.nbytes)
            room[: len(data)] = data
            return len(data)

    def close(self) -> None:
        self._body.close()
        super().close()


def _named(part: PartReceipt) -> dict[str, str | int]:
    tag, _, crc32 = part.tag.partition(" ")
    named: dict[str, str | int] = {"PartNumber": part.number, "ETag": tag}
    return named | {"ChecksumCRC32": crc32} if crc32 else named


def _arrived_whole(answer: dict[str, str], data: bytes | bytearray) -> bool:
    """Whether the answer to a part tells that what the store has is what we sent."""
    if "ChecksumCRC32" in answer:
        return answer["ChecksumCRC32"] == _crc32(data)
    # A store that does not say what it checked: its tag is the part's MD5, or tells nothing.
    tag = answer["ETag"].strip('"')
    if answer.get("ServerSideEncryption", "").startswith("aws:kms") or not _MD5.fullmatch(tag):
        return True
    return tag == hashlib.md5(data, usedforsecurity=False).hexdigest()


def _crc32(data: bytes | bytearray) -> str:
    return base64.b64encode(zlib.crc32(data).to_bytes(4, "big")).decode()


def _md5(data: bytes | bytearray) -> str:
    return base64.b64encode(hashlib.md5(data, usedforsecurity=False).digest()).decode()
