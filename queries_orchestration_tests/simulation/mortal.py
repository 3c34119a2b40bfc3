"""A process of the simulation: it can be killed, and then changes nothing any more.

A kill is no error: nothing catches it. What the code would still do while the stack unwinds, a
process that is dead would not, so that every backend refuses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from sqlalchemy import Connection

from queries_orchestration.communications.interface import (
    SUBMIT_SECONDS,
    Communications,
    Message,
    Submission,
)
from queries_orchestration.model.errors import (
    CommunicationsUnavailable,
    RecipientRefused,
    StorageUnavailable,
    SubmissionUncertain,
)
from queries_orchestration.receives.backends import Backends
from queries_orchestration.storage.interface import OpenUpload, PartReceipt, Storage, StoredFile
from queries_orchestration.store.database import Across, Database
from queries_orchestration_tests.simulation.fates import Fate


class Killed(BaseException):
    """The process is dead."""


class Life:
    """How long a process lives."""

    def __init__(self, fate: Fate) -> None:
        self.fate = fate
        self.reached_steps: Counter[str] = Counter()
        self._is_dead = False

    def reached(self, step: str) -> None:
        """Die here, if that is the fate."""
        self.check()
        self.reached_steps[step] += 1
        if step == self.fate.dies_at and self.reached_steps[step] == self.fate.time:
            self._is_dead = True
            raise Killed(step)

    def check(self) -> None:
        """Do nothing after death."""
        if self._is_dead:
            raise Killed(self.fate.dies_at)


def process(
    backends: Backends, fate: Fate, *, folder: Path, refuses: Callable[[str], bool]
) -> Backends:
    """Return the backends of one process that meets ``fate``.

    Args:
        folder: where the broken source lies; beside it is none.
        refuses: whether the mail server refuses the message to an address for good.
    """
    life = Life(fate)
    environment = dict(backends.environment)
    if fate.source != "up":
        file = {"down": "nowhere/at-all.db", "broken": "broken.db"}[fate.source]
        environment["SHOP_URL"] = f"sqlite:///{folder / file}"
    return replace(
        backends,
        database=_Database(backends.database, life),
        storage=_Storage(backends.storage, life),
        communications=_Communications(backends.communications, life, refuses),
        environment=environment,
        reached=life.reached,
    )


class _Database(Database):
    def __init__(self, whole: Database, life: Life) -> None:
        super().__init__(whole.url)
        self._life = life
        self.across = _Across(whole.across, life)

    @contextmanager
    def transaction(self, workspace_id: str) -> Iterator[Connection]:
        self._life.check()
        with super().transaction(workspace_id) as connection:
            yield connection
            self._life.check()

    @contextmanager
    def read(self, workspace_id: str) -> Iterator[Connection]:
        self._life.check()
        with super().read(workspace_id) as connection:
            yield connection


class _Across(Across):
    def __init__(self, whole: Across, life: Life) -> None:
        super().__init__(whole._engine)
        self._life = life

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        self._life.check()
        with super().transaction() as connection:
            yield connection
            self._life.check()

    @contextmanager
    def read(self) -> Iterator[Connection]:
        self._life.check()
        with super().read() as connection:
            yield connection


class _Communications:
    def __init__(self, whole: Communications, life: Life, refuses: Callable[[str], bool]) -> None:
        self._whole = whole
        self._life = life
        self._refuses = refuses
        self._turn = 0

    @property
    def idempotent_by_key(self) -> bool:
        return self._whole.idempotent_by_key

    def submit(self, message: Message, *, seconds: float = SUBMIT_SECONDS) -> Submission:
        self._life.check()
        self._turn += 1
        fate = self._life.fate
        is_hit = fate.mail_turn in (0, self._turn)
        if self._refuses(message.recipient_address):
            raise RecipientRefused("550")
        if fate.mail == "down" and is_hit:
            raise CommunicationsUnavailable("The mail server is down.")
        taken = self._whole.submit(message, seconds=seconds)
        if fate.mail == "lost" and is_hit:
            raise SubmissionUncertain("The answer of the mail server was lost.")
        return taken

    def forget(self, communication_keys: Iterable[str]) -> None:
        self._life.check()
        self._whole.forget(communication_keys)

    def close(self) -> None:
        self._life.check()
        self._whole.close()

    def check(self, *, seconds: float = SUBMIT_SECONDS) -> None:
        self._life.check()
        self._whole.check(seconds=seconds)


class _Storage:
    def __init__(self, whole: Storage, life: Life) -> None:
        self._whole = whole
        self._life = life

    @property
    def parts_at_once(self) -> int:
        return self._whole.parts_at_once

    def begin_upload(self, key: str, content_type: str) -> str:
        if self._alive.fate.storage == "begin":
            raise StorageUnavailable("The storage is down.")
        return self._whole.begin_upload(key, content_type)

    def upload_part(
        self, key: str, upload_id: str, number: int, data: bytes | bytearray
    ) -> PartReceipt:
        self._life.check()
        return self._whole.upload_part(key, upload_id, number, data)

    def complete_upload(self, key: str, upload_id: str, parts: Sequence[PartReceipt]) -> None:
        storage = self._alive.fate.storage
        if storage == "end":
            raise StorageUnavailable("The storage went down.")
        if storage == "odd":
            raise ArithmeticError("nobody foresaw this")
        self._whole.complete_upload(key, upload_id, parts)

    def abort_upload(self, key: str, upload_id: str) -> None:
        self._life.check()
        self._whole.abort_upload(key, upload_id)

    def size(self, key: str) -> int | None:
        self._life.check()
        return self._whole.size(key)

    def open(self, key: str) -> BinaryIO:
        self._life.check()
        return self._whole.open(key)

    def delete(self, key: str) -> None:
        self._life.check()
        self._whole.delete(key)

    def files(self, prefix: str) -> Iterator[StoredFile]:
        self._life.check()
        return self._whole.files(prefix)

    def open_uploads(self, prefix: str) -> list[OpenUpload]:
        self._life.check()
        return self._whole.open_uploads(prefix)

    def link(self, key: str, *, file_name: str, content_type: str, expires_at: datetime) -> str:
        return self._whole.link(
            key, file_name=file_name, content_type=content_type, expires_at=expires_at
        )

    def location(self, key: str) -> str:
        return self._whole.location(key)

    @property
    def _alive(self) -> Life:
        self._life.check()
        return self._life
