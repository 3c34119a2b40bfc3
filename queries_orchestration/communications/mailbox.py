"""The local backend: a folder of .eml files that any mail program opens."""

from __future__ import annotations

import errno
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from email import message_from_string, policy
from email.headerregistry import Address
from email.message import EmailMessage
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Literal

from queries_orchestration.communications.email_message import email_message
from queries_orchestration.communications.interface import (
    SUBMIT_SECONDS,
    Message,
    Submission,
    is_communication_key,
)
from queries_orchestration.model.errors import CommunicationsUnavailable

_BEGUN = ".writing-"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailboxMessage:
    """One message of the folder, to be listed; ``to`` is the address alone."""

    file: Path
    to: str = field(repr=False)
    subject: str
    date: datetime | None
    link: str | None = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedMessage:
    """One message of the folder, to be read."""

    listed: MailboxMessage
    sender: str = field(repr=False)
    text: str = field(repr=False)
    html: str = field(repr=False)


class Mailbox:
    """Keeps each message as ``<communication key>.eml``, once and whole or not at all.

    The files hold personal links, so only our own account may read them. A worker that is killed
    while it writes may leave a hidden ``.writing-<communication key>.…`` file, which nothing reads
    and which goes with the message.
    """

    idempotent_by_key = True

    def __init__(self, folder: Path, *, sender: Address, clock: Callable[[], datetime]) -> None:
        """``folder`` is made when it is missing; ``clock`` gives aware moments."""
        self.folder = folder
        self._sender = sender
        self._clock = clock

    def submit(self, message: Message, *, seconds: float = SUBMIT_SECONDS) -> Submission:
        """Write the message, unless its key has one already: that one then stays as it is.

        ``seconds`` is not looked at: a disk answers or fails.

        Raises:
            CommunicationsUnavailable: the folder cannot be written.
        """
        mail = email_message(message, sender=self._sender, date=self._clock())
        with self._disk_errors():
            written = self._write_once(message.communication_key, mail.as_bytes())
        return Submission("accepted" if written else "already_accepted", message.message_id)

    def forget(self, communication_keys: Iterable[str]) -> None:
        """Remove the files of messages, and what was begun of them; none is no error.

        Raises:
            CommunicationsUnavailable: the folder cannot be written.
        """
        keys = set(filter(is_communication_key, communication_keys))
        if not keys:
            return
        with self._disk_errors():
            for key in keys:
                (self.folder / f"{key}.eml").unlink(missing_ok=True)
            for begun in self.folder.glob(f"{_BEGUN}*"):
                if begun.name.removeprefix(_BEGUN).rpartition(".")[0] in keys:
                    begun.unlink(missing_ok=True)

    def close(self) -> None:
        """Do nothing: no connection is kept."""

    def check(self, *, seconds: float = SUBMIT_SECONDS) -> None:
        """See that the folder can be written, or made once it is needed.

        Raises:
            CommunicationsUnavailable: it cannot.
        """
        with self._disk_errors():
            there = next(one for one in (self.folder, *self.folder.parents) if one.exists())
            if not there.is_dir():
                raise OSError(errno.ENOTDIR, "not a folder")
            if not os.access(there, os.W_OK | os.X_OK):
                raise OSError(errno.EACCES, "no right to write")

    def _write_once(self, key: str, content: bytes) -> bool:
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(prefix=f"{_BEGUN}{key}.", dir=self.folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            # A link, unlike a rename, fails when the name is taken: the first one wins.
            os.link(temporary, self.folder / f"{key}.eml")
        except FileExistsError:
            return False
        finally:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
        self._sync_folder()
        return True

    def _sync_folder(self) -> None:
        descriptor = os.open(self.folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def messages(self) -> list[MailboxMessage]:
        """All messages, in the order of their dates; none when there is no folder yet.

        Raises:
            CommunicationsUnavailable: the folder cannot be read.
        """
        with self._disk_errors():
            files = [file for file in self.folder.glob("*.eml") if not file.name.startswith(".")]
            listed = [_listed(file) for file in files]
        return sorted(listed, key=lambda one: (one.date.timestamp() if one.date else 0, one.file))

    def open(self, key: str) -> OpenedMessage | None:
        """One message by its key, which may be any text; None if there is none.

        Raises:
            CommunicationsUnavailable: the folder cannot be read.
        """
        if not is_communication_key(key):
            return None
        file = self.folder / f"{key}.eml"
        with self._disk_errors():
            return _opened(file) if file.is_file() else None

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            name = errno.errorcode.get(error.errno or 0, "unknown error")
            raise CommunicationsUnavailable(
                f"the mailbox folder {self.folder} cannot be used ({name}): check that it is a "
                "folder, its rights and free space, and that its file system knows hard links"
            ) from None


def _listed(file: Path) -> MailboxMessage:
    return _told(file, _parsed(file))


def _opened(file: Path) -> OpenedMessage:
    mail = _parsed(file)
    return OpenedMessage(
        listed=_told(file, mail),
        sender=str(mail["From"] or ""),
        text=_body(mail, "plain"),
        html=_body(mail, "html"),
    )


def _parsed(file: Path) -> EmailMessage:
    # Headers are UTF-8 where an address is not ASCII; the parser of bytes would not decode them.
    source = file.read_bytes().decode(errors="replace")
    return message_from_string(source, _class=EmailMessage, policy=policy.SMTP)


def _body(mail: EmailMessage, kind: Literal["plain", "html"]) -> str:
    body = mail.get_body(preferencelist=(kind,))
    return str(body.get_content()) if body else ""


def _told(file: Path, mail: EmailMessage) -> MailboxMessage:
    try:
        date = parsedate_to_datetime(str(mail["Date"]))
    except ValueError:
        date = None  # a file that somebody else put here
    return MailboxMessage(
        file=file,
        to=", ".join(address.addr_spec for address in mail["To"].addresses) if mail["To"] else "",
        subject=str(mail["Subject"] or ""),
        date=date,
        link=_link(mail),
    )


def _link(mail: EmailMessage) -> str | None:
    """Return the personal link of a message: that of the site of its unsubscribe link.

    The body holds titles and words of others, too, and any link in them.
    """
    root, found, _ = str(mail["List-Unsubscribe"] or "").strip("<>").rpartition("/u/")
    if not found:
        return None
    link = re.search(rf"^{re.escape(root)}/d/\S+", _body(mail, "plain"), re.MULTILINE)
    return link[0] if link else None
