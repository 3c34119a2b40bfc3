"""What a route is sent as JSON: the keys that it names, and no others."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, ConfigDict, model_validator

MOST_KEYS: Final = 20


class Body(BaseModel):
    """The body of a request."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _has_few_keys(cls, given: Any) -> Any:
        # Each key too many is a fault of its own, which takes its time.
        if isinstance(given, dict) and len(given) > MOST_KEYS:
            raise ValueError("has more keys than there are")
        return given
