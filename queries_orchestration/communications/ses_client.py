"""The client through which Amazon SES is reached, and what it says as our errors.

Credentials come from the standard AWS environment alone. boto3 is imported when a client is built,
for it is slow to load. It tries nothing twice by itself: SES cannot tell a second submission from
a second message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

from queries_orchestration.communications.ses_url import SesPlace
from queries_orchestration.communications.within import within
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    QueriesError,
    RecipientRefused,
    SubmissionUncertain,
)
from queries_orchestration.model.server_words import clean_server_words

SesClient: TypeAlias = Any
"""boto3 makes the methods of its clients when it builds them, so they have no type."""

Connect: TypeAlias = Callable[[SesPlace, float, float], SesClient]
"""Builds a client from the place, the seconds to connect and the seconds to answer."""

SERVER: Final = "Amazon SES, of QUERIES_COMMUNICATIONS_URL,"

_REFUSALS: Final = frozenset({"MessageRejected", "BadRequestException"})
_NOT_VERIFIED: Final = "not verified"
"""Within a `MessageRejected`: an identity of ours is missing in SES, or the account is in its
sandbox, where recipients need one too. No recipient is to blame for either."""
_GATEWAY_ENDED: Final = frozenset({502, 504})
"""Somebody between us and SES stopped waiting for it: SES may have taken the message."""

_RIGHTS: Final = "give its credentials the rights that docs/messages.md lists"
_KEYS: Final = "check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the profile or the role"
_WHAT_TO_DO: Final = {
    "AccessDeniedException": _RIGHTS,
    "UnrecognizedClientException": _KEYS,
    "InvalidClientTokenId": _KEYS,
    "InvalidSignatureException": _KEYS,
    "SignatureDoesNotMatch": _KEYS,
    "ExpiredTokenException": _KEYS,
    "MailFromDomainNotVerifiedException": "verify the domain of QUERIES_FROM_ADDRESS in SES",
    "NotFoundException": "its configuration_set is not there: make it, or correct the URL",
    "AccountSuspendedException": "the account may not send: see SES's console",
    "SendingPausedException": "sending is paused for the account or the configuration set",
    "LimitExceededException": "a limit of the account is reached: it may take messages later",
    "TooManyRequestsException": "it is asked too often: it may take messages later",
}


def connect(place: SesPlace, connect_seconds: float, answer_seconds: float) -> SesClient:
    """Build a client with boto3.

    Raises:
        botocore.exceptions.BotoCoreError: the AWS environment cannot be used.
    """
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        "sesv2",
        region_name=place.region,
        endpoint_url=place.endpoint,
        config=Config(
            connect_timeout=connect_seconds,
            read_timeout=answer_seconds,
            retries={"mode": "standard", "total_max_attempts": 1},
        ),
    )


def ask(operation: Callable[..., Any], *, seconds: float, **values: Any) -> Mapping[str, Any]:
    """Call an operation of a client, within ``seconds`` however slowly its answer drips in.

    Raises:
        botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError: as botocore has them.
        SubmissionUncertain: the answer did not come in time, or botocore trips over it.
    """
    from botocore.exceptions import BotoCoreError, ClientError
    from botocore.parsers import ResponseParserError

    try:
        answer = within(seconds, lambda: operation(**values))
    except (BotoCoreError, ClientError):
        raise
    except TimeoutError:
        raise SubmissionUncertain(
            f"{SERVER} did not answer in time; it may have taken the message"
        ) from None
    except (ResponseParserError, AttributeError, TypeError, ValueError, LookupError):
        raise unreadable() from None
    if not isinstance(answer, Mapping):
        raise unreadable()
    return answer


def unreadable() -> SubmissionUncertain:
    """Return what is known after an answer that is none of SES."""
    return SubmissionUncertain(
        f"{SERVER} gave an answer that cannot be read; it may have taken the message"
    )


@contextmanager
def as_ours() -> Iterator[None]:
    """Raise what SES or botocore says as our error.

    Raises:
        RecipientRefused: SES refuses the message or its address for good.
        SubmissionUncertain: the request was sent, and the answer was lost.
        CommunicationsUnavailable: everything else of botocore.
    """
    # Loaded with the client alone.
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        yield
    except ClientError as error:
        raise _answered(error.response) from None
    except BotoCoreError as error:
        raise _unanswered(error) from None


def _answered(response: dict[str, dict[str, Any]]) -> QueriesError:
    code = clean_server_words(str(response.get("Error", {}).get("Code", "")), limit=60)
    status = int(response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))
    words = str(response.get("Error", {}).get("Message", ""))
    if code in _REFUSALS and _NOT_VERIFIED in words:
        return CommunicationsUnavailable(
            f"{SERVER} does not know our address: verify QUERIES_FROM_ADDRESS in that region, and"
            " let the account leave the sandbox"
        )
    if code in _REFUSALS:
        return RecipientRefused(clean_server_words(f"{code}: {words}"))
    if status in _GATEWAY_ENDED:
        return SubmissionUncertain(f"{SERVER} ended with {status}; it may have taken the message")
    later = "it may take messages later" if status >= 500 else "docs/messages.md says what it needs"
    return CommunicationsUnavailable(
        f"{SERVER} said {code or status}: {_WHAT_TO_DO.get(code, later)}"
    )


def _unanswered(error: Exception) -> QueriesError:
    from botocore.exceptions import (
        ConnectionClosedError,
        CredentialRetrievalError,
        NoCredentialsError,
        PartialCredentialsError,
        ProfileNotFound,
        ReadTimeoutError,
    )

    name = type(error).__name__
    if isinstance(error, ConnectionClosedError | ReadTimeoutError):
        return SubmissionUncertain(
            f"{SERVER} did not answer ({name}); it may have taken the message"
        )
    if isinstance(
        error,
        NoCredentialsError | PartialCredentialsError | CredentialRetrievalError | ProfileNotFound,
    ):
        what_to_do = "give credentials by the standard AWS environment"
    else:
        what_to_do = "check its region, its endpoint and the network"
    return CommunicationsUnavailable(f"{SERVER} cannot be reached ({name}): {what_to_do}")
