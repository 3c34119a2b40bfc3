"""What the client calls a click of its user, and why the user clicks."""

from __future__ import annotations

from typing import Annotated

from fastapi import Header
from pydantic import StringConstraints

from queries_orchestration.model.reasons import LONGEST_REASON

ClientKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=200,
        description="What the client calls this click: the same click twice is one.",
    ),
]
Reason = Annotated[
    str,
    StringConstraints(
        strip_whitespace=True,
        min_length=1,
        max_length=LONGEST_REASON,
        pattern=r"^[^\x00-\x1f\x7f-\x9f]*$",
    ),
]
"""One line, for others to read."""
