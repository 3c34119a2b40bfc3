"""What ``s3://bucket/prefix?…`` says: which bucket, where it is and how files lie in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from queries_orchestration.model.errors import InvalidSettings

LONGEST_PREFIX: Final = 200

_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_PREFIX: Final = re.compile(r"([A-Za-z0-9_-][A-Za-z0-9._-]*/)*")
_REGION: Final = re.compile(r"[A-Za-z0-9-]{1,40}")
_KMS_KEY: Final = re.compile(r"[A-Za-z0-9:/_-]{1,2048}")
_ENCRYPTIONS: Final = ("AES256", "aws:kms")
_ADDRESSINGS: Final = ("path", "virtual")
_OPTIONS: Final = ("endpoint", "region", "encryption", "kms_key", "addressing")


@dataclass(frozen=True, slots=True, kw_only=True)
class S3Place:
    """A bucket and a prefix in it, which is empty or ends with ``/``.

    ``endpoint`` is None for AWS itself; ``region`` and ``addressing`` are None where the standard
    AWS environment, or the endpoint, decides; ``kms_key`` is None for the bucket's own key.
    """

    bucket: str
    prefix: str = ""
    endpoint: str | None = None
    region: str | None = None
    encryption: str | None = None
    kms_key: str | None = None
    addressing: str | None = None


def read_s3_url(parts: SplitResult) -> S3Place:
    """Return the place that a split ``s3://…`` URL names.

    Raises:
        InvalidSettings: it names none; nothing of the URL is told, since it may hold a secret.
    """
    if "@" in parts.netloc:
        raise _invalid(
            "takes no user or password: give credentials by the standard AWS environment"
            " (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role)"
        )
    if not _BUCKET.fullmatch(parts.netloc):
        raise _invalid("must name a bucket: s3://bucket/prefix")
    prefix = f"{parts.path.strip('/')}/".removeprefix("/")
    if not _PREFIX.fullmatch(prefix) or ".." in prefix or len(prefix) > LONGEST_PREFIX:
        raise _invalid(
            f"must have a prefix of up to {LONGEST_PREFIX} of A-Z a-z 0-9 . _ - and /, or none"
        )
    if parts.fragment:
        raise _invalid("takes nothing after #")
    options = _options(parts.query)
    if "kms_key" in options and options.get("encryption") != "aws:kms":
        raise _invalid("has kms_key, which needs encryption=aws:kms")
    return S3Place(bucket=parts.netloc, prefix=prefix, **options)


def _options(query: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError:
        pairs = [("", "")]
    options = dict(pairs)
    if len(options) != len(pairs) or not set(options) <= set(_OPTIONS):
        raise _invalid(f"takes after ? only {', '.join(_OPTIONS)}, each once")
    for name, value in options.items():
        _check_option(name, value)
    return options


def _check_option(name: str, value: str) -> None:
    if name == "endpoint" and not _is_endpoint(value):
        raise _invalid("must give its endpoint as https://host or http://host:port")
    if name == "region" and not _REGION.fullmatch(value):
        raise _invalid("must give its region as in eu-central-1")
    if name == "encryption" and value not in _ENCRYPTIONS:
        raise _invalid(f"must give its encryption as {' or '.join(_ENCRYPTIONS)}")
    if name == "kms_key" and not _KMS_KEY.fullmatch(value):
        raise _invalid("must give its kms_key as an id, an alias or an ARN")
    if name == "addressing" and value not in _ADDRESSINGS:
        raise _invalid(f"must give its addressing as {' or '.join(_ADDRESSINGS)}")


def _is_endpoint(value: str) -> bool:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable) and "@" not in parts.netloc and value == f"{parts.scheme}://{parts.netloc}"


def _invalid(what: str) -> InvalidSettings:
    return InvalidSettings(f"QUERIES_STORAGE_URL {what}; docs/storage.md describes it.")
