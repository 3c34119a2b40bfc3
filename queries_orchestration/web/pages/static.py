"""The stylesheet, the script and the mark, under addresses that change with their content."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from fastapi import APIRouter, Response

from queries_orchestration.model.errors import NotFound

_FOLDER: Final = Path(__file__).parent / "static"
_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS: Final = {"Cache-Control": "public, max-age=31536000, immutable"}

router = APIRouter(include_in_schema=False)


@cache
def _assets() -> dict[str, bytes]:
    """Return every file of the folder by its name."""
    return {file.name: file.read_bytes() for file in _FOLDER.iterdir() if file.suffix in _TYPES}


@cache
def address_of(name: str) -> str:
    """Return the address of an asset."""
    return f"/static/{hashlib.sha256(_assets()[name]).hexdigest()[:12]}/{name}"


@router.get("/static/{version}/{name}")
async def asset(version: str, name: str) -> Response:
    """Return an asset, which never changes under its address.

    Raises:
        NotFound: there is none.
    """
    if name not in _assets() or address_of(name) != f"/static/{version}/{name}":
        raise NotFound("There is no such file.")
    return Response(_assets()[name], media_type=_TYPES[Path(name).suffix], headers=_HEADERS)
