"""The keys that sign links, as QUERIES_LINK_KEYS spells them; other settings spell theirs so."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

from queries_orchestration.model.errors import InvalidSettings

LINK_KEYS_SETTING: Final = "QUERIES_LINK_KEYS"

_SECRET_BYTES = 32
_KEY_ID = re.compile(r"[A-Za-z0-9_-]{1,32}")
_SECRET = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class LinkKeys:
    """The signing keys, by id: the first signs new links, all of them verify.

    To change keys, put the new one first and keep the old one until its last link has ended.
    """

    secrets: tuple[tuple[str, str], ...] = field(repr=False)

    @classmethod
    def parse(cls, text: str, *, setting: str = LINK_KEYS_SETTING) -> LinkKeys:
        """Read ``id1:secret1,id2:secret2``, the value of ``setting``.

        Raises:
            InvalidSettings: empty, malformed, an id twice, or a secret below 32 bytes. The
                message counts entries from 1 and shows neither ids nor secrets.
        """
        if not text.strip():
            raise InvalidSettings(
                f"{setting} is empty: set it to `id:secret`, the secret at least "
                f"{_SECRET_BYTES} random bytes of text, several keys with commas between them"
            )
        secrets: dict[str, str] = {}
        for number, entry in enumerate(text.split(","), start=1):
            key_id, _, secret = entry.strip().partition(":")
            if not _KEY_ID.fullmatch(key_id) or not _SECRET.fullmatch(secret):
                raise InvalidSettings(
                    f"{setting}: entry {number} is not `id:secret` (id: 1 to 32 letters, "
                    "digits, `_`, `-`; secret: visible ASCII characters without a comma)"
                )
            if len(secret) < _SECRET_BYTES:
                raise InvalidSettings(
                    f"{setting}: the secret of entry {number} is shorter than {_SECRET_BYTES} bytes"
                )
            if key_id in secrets:
                raise InvalidSettings(f"{setting}: entry {number} uses an id a second time")
            secrets[key_id] = secret
        return cls(tuple(secrets.items()))

    @property
    def signing_key_id(self) -> str:
        """The id of the key that signs new links."""
        return self.secrets[0][0]

    def secret(self, key_id: str) -> str | None:
        """The secret of ``key_id``, or None when the setting no longer holds it."""
        return dict(self.secrets).get(key_id)
