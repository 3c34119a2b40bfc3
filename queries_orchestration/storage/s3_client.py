"""The client through which a bucket is reached: boto3's, with what our links need.

Credentials come from the standard AWS environment alone. boto3 is imported when a client is built,
for it is slow to load.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from queries_orchestration.storage.s3_url import S3Place

S3Client: TypeAlias = Any
"""boto3 makes the methods of its clients when it builds them, so they have no type."""

Connect: TypeAlias = Callable[[S3Place], S3Client]

RETRIES: Final = 2
"""Of one request, within seconds, by botocore; beyond that the store offers the work again."""


def connect(place: S3Place, *, patience: float | None = None) -> S3Client:
    """Build a client with boto3.

    Args:
        patience: seconds to wait for a silent store at each try; None: for as long as it may need
            to put a large file together.

    Raises:
        botocore.exceptions.BotoCoreError: the AWS environment cannot be used.
    """
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        "s3",
        endpoint_url=place.endpoint,
        region_name=place.region,
        config=Config(
            retries={"mode": "standard", "max_attempts": RETRIES},
            **({"connect_timeout": patience, "read_timeout": patience} if patience else {}),
        ),
    )


def prepare(client: S3Client, place: S3Place) -> S3Client:
    """Make a client, whoever built it, address the bucket and sign links as we want, return it."""

    def address(builtins: dict[str, Any], **_: object) -> None:
        # Links would otherwise lead to the bucket by way of another region, which breaks them.
        builtins["AWS::S3::UseGlobalEndpoint"] = False
        if builtins["AWS::Region"] == "aws-global":
            builtins["AWS::Region"] = client.meta.region_name
        if place.addressing is not None:
            builtins["AWS::S3::ForcePathStyle"] = place.addressing == "path"

    def sign(signature_version: str, **_: object) -> str | None:
        # The default of old regions is a signature that newer ones, KMS and many stores refuse.
        return "s3v4-query" if signature_version.endswith("-query") else None

    client.meta.events.register("before-endpoint-resolution.s3", address)
    client.meta.events.register_first("choose-signer.s3", sign)
    return client
