"""Every error of the project, in one drawing.

    QueriesError                 code + a message that says what to do
    ├── PermanentError           trying again cannot help: the work settles
    │   ├── Refused              bad input, refused before anything is written (exit status 2)
    │   │   ├── InvalidSettings · InvalidCatalog · InvalidDefinition · InvalidRecurrence
    │   │   ├── UnknownTimeZone
    │   │   ├── InvalidQuery · InvalidRuntimeValue · FieldNotAvailable · NotFound
    │   │   └── InvalidAddress · LinkRefused · EventRefused · TooManyExports
    │   ├── AccessLost           the actor may not open the source (pauses an automatic schedule)
    │   ├── SourceBroken         the source cannot be run as it is written (a dropped column …)
    │   ├── SourceGone           the source was deleted or archived
    │   ├── FormatLimit          the file format cannot hold the result (too many columns …)
    │   ├── LimitExceeded        the file is more than its workspace allows (bytes, seconds)
    │   ├── UnreadableRow        a row of the store holds what we have not written
    │   └── RecipientRefused     this recipient can never get this message; the others can
    ├── TransientError           the store offers the work again, three receives at most
    │   ├── SourceUnavailable · StorageUnavailable · CommunicationsUnavailable · StoreUnavailable
    │   ├── SubmissionUncertain  a message was handed over whole, but no answer came back
    │   └── ReceiveTimeout       the receive reached its deadline
    └── ReceiveLost              a newer receive or a settlement took the work: stop, write nothing
        └── UploadGone           … and aborted this worker's upload: its file can never appear

``code`` is the stable, machine-readable name that history and the command show.
Driver text never goes into a message: only an SQLSTATE and our own words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final


class QueriesError(Exception):
    """Root of the project's errors; ``code`` is stable, ``message`` is for a person."""

    code = "error"

    def __init__(self, message: str, *, code: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if code is not None:
            self.code = code


class PermanentError(QueriesError):
    """Trying again cannot help."""

    code = "permanent_error"


class TransientError(QueriesError):
    """Trying again later may help."""

    code = "transient_error"


class ReceiveLost(QueriesError):
    """The work was taken over or settled; this worker must not write any more."""

    code = "receive_lost"


class UploadGone(ReceiveLost):
    """The upload was aborted or already completed by somebody else."""

    code = "upload_gone"


class Refused(PermanentError):
    """Bad input, refused before anything is written."""

    code = "refused"


class InvalidSettings(Refused):
    code = "invalid_settings"


class InvalidRecurrence(Refused):
    code = "invalid_recurrence"


class UnknownTimeZone(Refused):
    code = "unknown_time_zone"


class InvalidQuery(Refused):
    code = "invalid_query"


class InvalidRuntimeValue(Refused):
    code = "invalid_value"


class FieldNotAvailable(Refused):
    code = "field_not_available"


class NotFound(Refused):
    code = "not_found"


class InvalidAddress(Refused):
    code = "invalid_address"


class EventRefused(Refused):
    """What says to come from a provider of mail and does not, or cannot be read."""

    code = "invalid_event"


class LinkRefused(Refused):
    """A public link that is not ours, was changed or has ended: always the same answer."""

    code = "invalid_link"

    def __init__(self) -> None:
        super().__init__("this link is not valid or has ended; ask its sender for a new one")


class TooManyExports(Refused):
    """As many exports as may be are not finished yet; ``retry_after`` seconds from now one may be.

    The one refusal that trying again later can help.
    """

    code = "too_many_exports"

    def __init__(self, message: str, *, retry_after: int) -> None:
        super().__init__(message)
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class CatalogFault:
    """One thing wrong in a catalog file; ``line`` counts from 1."""

    file: str
    line: int
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"


class InvalidCatalog(Refused):
    """All faults of one ``catalog apply``, together."""

    code = "invalid_catalog"

    def __init__(self, faults: Sequence[CatalogFault]) -> None:
        super().__init__("\n".join(str(fault) for fault in faults))
        self.faults = tuple(faults)


@dataclass(frozen=True, slots=True)
class DefinitionFault:
    """One thing wrong in a definition; ``pointer`` is a JSON pointer (RFC 6901), "" for all."""

    pointer: str
    message: str


class InvalidDefinition(Refused):
    """All faults of one definition, together."""

    code = "invalid_definition"

    def __init__(self, faults: Sequence[DefinitionFault]) -> None:
        super().__init__("\n".join(f"{fault.pointer}: {fault.message}" for fault in faults))
        self.faults = tuple(faults)


class AccessLost(PermanentError):
    code = "access_lost"


ACCESS_CODES: Final = frozenset({"access_lost", "actor_inactive", "field_not_available"})
"""The codes by which work fails because its actor may no longer open the source."""


class SourceBroken(PermanentError):
    code = "source_broken"


class SourceGone(PermanentError):
    code = "source_gone"


class FormatLimit(PermanentError):
    code = "format_limit"


class LimitExceeded(PermanentError):
    """A limit of the workspace: ``size_limit``, ``time_limit`` or ``statement_timeout``."""

    code = "limit_exceeded"


class UnreadableRow(PermanentError):
    """A row of the application database holds a value that cannot be decoded."""

    code = "unreadable_row"


class RecipientRefused(PermanentError):
    """This recipient can never get this message; ``reason`` goes into the delivery's outcome.

    Cleaned by who raises it: it may hold words of a server (``model.server_words``).
    """

    code = "recipient_refused"

    def __init__(self, reason: str) -> None:
        super().__init__(f"the recipient was refused: {reason}")
        self.reason = reason


class SourceUnavailable(TransientError):
    code = "source_unavailable"


class StorageUnavailable(TransientError):
    code = "storage_unavailable"


class CommunicationsUnavailable(TransientError):
    """The message was plainly not taken; it may be later."""

    code = "communications_unavailable"


class SubmissionUncertain(TransientError):
    """The message was handed over whole and the answer was lost: it may have been taken or not."""

    code = "submission_uncertain"


class StoreUnavailable(TransientError):
    code = "store_unavailable"


class ReceiveTimeout(TransientError):
    code = "receive_timeout"
