"""Entity tags (RFC 9110): nobody writes over what they have not seen."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from fastapi import Depends, Header, Response

from queries_orchestration.model.errors import Refused

_TAG: Final = re.compile(r'(W/)?"([^"]*)"')
TAGGED: Final[dict[str, Any]] = {
    "headers": {
        "ETag": {
            "description": "Of what a person can change: for `If-Match` of the next change.",
            "schema": {"type": "string"},
        }
    }
}
"""How a route documents that its answer has a tag."""


def set_tag(response: Response, tag: str) -> None:
    """Let an answer carry the tag of what it tells."""
    response.headers["ETag"] = f'"{tag}"'


def if_match(
    given: Annotated[
        str | None,
        Header(
            alias="If-Match",
            max_length=1_000,
            description="`ETag` of what is to be changed, or `*` for whatever is there. Needed.",
        ),
    ] = None,
) -> frozenset[str] | None:
    """Return the tags of which the thing must have one; None: whatever it has.

    Raises:
        Refused: nothing is said (``if_match_required``).
    """
    if given is None:
        raise Refused(
            "Say with If-Match what you have read: the ETag of that answer, or * to write over"
            " whatever is there.",
            code="if_match_required",
        )
    if given.strip() == "*":
        return None
    # A weak tag never matches here.
    return frozenset(tag for weak, tag in _TAG.findall(given) if not weak)


IfMatch = Annotated[frozenset[str] | None, Depends(if_match)]
