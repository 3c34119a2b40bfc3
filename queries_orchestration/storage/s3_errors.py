"""What S3 or botocore says, as our errors: what a person can do, in our words.

All are transient. A right that is missing or a bucket that is gone is a fault of the installation,
not of the work: the same work succeeds once somebody has repaired it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from queries_orchestration.model.errors import NotFound, StorageUnavailable, UploadGone

_CODE: Final = re.compile(r"[A-Za-z0-9.]{1,60}")

_RIGHTS: Final = "give its credentials the rights that docs/storage.md lists"
_KEYS: Final = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile or the role"
_NO_BUCKET: Final = "there is no such bucket: make it, or correct the URL"
_REGION: Final = "the bucket is in another region: put its own into the URL (region=…)"
_CHECKSUMS: Final = (
    "a store that does not know AWS's newer checksums needs"
    " AWS_REQUEST_CHECKSUM_CALCULATION=when_required and"
    " AWS_RESPONSE_CHECKSUM_VALIDATION=when_required"
)
_OLD_STORE: Final = f"it refuses something we ask for: {_CHECKSUMS}, or no encryption in the URL"
_PARTS: Final = "it does not have all parts as they were sent: make the file again"
_DOWN: Final = "it is overloaded, down, or no S3 store: wait, or check it and its endpoint"

_WHAT_TO_DO: Final = {
    "AccessDenied": _RIGHTS,
    "403": _RIGHTS,
    "AllAccessDisabled": _RIGHTS,
    "InvalidAccessKeyId": _KEYS,
    "SignatureDoesNotMatch": _KEYS,
    "ExpiredToken": _KEYS,
    "InvalidToken": _KEYS,
    "NoSuchBucket": _NO_BUCKET,
    "PermanentRedirect": _REGION,
    "AuthorizationHeaderMalformed": _REGION,
    "301": _REGION,
    "RequestTimeTooSkewed": "set this machine's clock",
    "KMS.NotFoundException": "there is no such key: correct kms_key in the URL",
    "KMS.DisabledException": "its kms_key is disabled",
    "NotImplemented": _OLD_STORE,
    "InvalidArgument": _OLD_STORE,
    "InvalidRequest": _OLD_STORE,
    "MissingContentLength": _OLD_STORE,
    "XAmzContentSHA256Mismatch": _OLD_STORE,
    "BadDigest": _PARTS,
    "InvalidDigest": _PARTS,
    "InvalidPart": _PARTS,
    "InvalidPartOrder": _PARTS,
    "EntityTooSmall": _PARTS,
}


@contextmanager
def as_ours(doing: str, *, key: str) -> Iterator[None]:
    """Raise what S3 or botocore says as our error.

    Args:
        doing: what we were at, for people.
        key: of the file that it is about.

    Raises:
        UploadGone, NotFound: S3 knows no such upload, or no such file.
        StorageUnavailable: everything else.
    """
    # Loaded with the client alone, see s3_client.
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        code, status = _code(error.response), _status(error.response)
        if code == "NoSuchUpload":
            raise UploadGone(
                f"the upload of {key} was aborted or completed by somebody else"
            ) from error
        if code in ("NoSuchKey", "404"):
            raise NotFound(f"storage has no file {key}: it was removed or not made") from error
        raise unavailable(doing, code or f"HTTP {status}", _advice(code, status)) from error
    except BotoCoreError as error:
        raise unavailable(doing, type(error).__name__, _advice_here(error)) from error


def unavailable(doing: str, what: str, what_to_do: str) -> StorageUnavailable:
    """Return the error of a bucket that did not do what it was asked for."""
    return StorageUnavailable(
        f"{doing} failed ({what}) in the bucket of QUERIES_STORAGE_URL: {what_to_do}"
    )


def _code(response: dict[str, dict[str, str]]) -> str:
    """The store's code, if it is one: everything else in an answer is text we do not show."""
    code = response.get("Error", {}).get("Code", "")
    return code if _CODE.fullmatch(code) else ""


def _status(response: dict[str, dict[str, str]]) -> int:
    return int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def _advice(code: str, status: int) -> str:
    if code in _WHAT_TO_DO:
        return _WHAT_TO_DO[code]
    if "checksum" in code.lower():
        return _CHECKSUMS
    # An error, or nothing readable, under 200: botocore makes it 500.
    return _DOWN if status >= 500 else "docs/storage.md says what it needs"


def _advice_here(error: Exception) -> str:
    from botocore.exceptions import (
        ConnectionError as NoConnection,
        CredentialRetrievalError,
        HTTPClientError,
        NoCredentialsError,
        PartialCredentialsError,
        ProfileNotFound,
    )

    if isinstance(
        error,
        NoCredentialsError | PartialCredentialsError | CredentialRetrievalError | ProfileNotFound,
    ):
        return "give credentials by the standard AWS environment (docs/storage.md)"
    if isinstance(error, NoConnection | HTTPClientError):
        return "it does not answer: check its endpoint and the network"
    return "check QUERIES_STORAGE_URL and the AWS environment"
