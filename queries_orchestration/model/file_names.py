"""Names under which files are downloaded, and how they are told to a browser.

A title is somebody's free text; a file name must be harmless in a folder of every system: no path,
nothing invisible or reversing, no device's name, and short enough.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import date
from typing import Final
from urllib.parse import quote

LONGEST_FILE_NAME: Final = 200
"""In UTF-8 bytes: file systems take 255, and browsers add ` (1)` or their own ending."""

CONTENT_TYPES: Final = {
    "csv": "text/csv; charset=utf-8",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "pdf": "application/pdf",
}
"""By format."""

_WITHOUT_NAME: Final = "Result"
# What a path, a drive, a wildcard or a shell of some system is made of.
_SEPARATORS: Final = re.compile(r'\s*[/\\:*?"<>|][/\\:*?"<>|\s]*')
_JOINERS: Final = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"  # scripts and emoji need them
_NOT_AT_ENDS: Final = " .-" + _JOINERS
_INVISIBLE: Final = frozenset({"Cc", "Cf", "Cs"})  # controls, marks of direction, half characters
_DEVICES: Final = re.compile(r"con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]", re.IGNORECASE)
_NOT_PLAIN: Final = re.compile(r'[^ -~]|[/\\:*?"<>|%]')
_ATTRIBUTE_CHARACTERS: Final = "!#$&+-.^_`|~"  # RFC 8187 attr-char, besides letters and digits


def file_name(title: str, *, day: date, file_format: str) -> str:
    """Return ``<title> <day>.<format>``, at most 200 UTF-8 bytes, for any title at all.

    Args:
        title: of the schedule or source, as people wrote it.
        day: the local day that the file is of.
        file_format: ``csv``, ``xlsx`` or ``pdf``, which is also the extension.
    """
    ending = f" {day.isoformat()}.{file_format}"
    stem = _visible(title)
    if stem.lower().endswith(f".{file_format}"):
        stem = stem[: -len(file_format) - 1]
    stem = _SEPARATORS.sub("-", stem).strip(_NOT_AT_ENDS) or _WITHOUT_NAME
    if _DEVICES.fullmatch(stem.partition(".")[0].rstrip()):
        stem = f"_{stem}"  # some systems look at what stands before the first dot alone
    room = LONGEST_FILE_NAME - len(ending)
    return stem.encode()[:room].decode(errors="ignore").rstrip(_NOT_AT_ENDS) + ending


def content_disposition(file_name: str) -> str:
    """Return the header's value that saves the answer as ``file_name`` (RFC 6266, RFC 8187).

    A name that is not plain ASCII is given twice: as it is, and as what old clients can read.
    """
    plain = _NOT_PLAIN.sub("_", _without_marks(file_name))
    value = f'attachment; filename="{plain}"'
    if plain == file_name:
        return value
    encoded = quote(file_name.encode(errors="replace"), safe=_ATTRIBUTE_CHARACTERS)
    return f"{value}; filename*=UTF-8''{encoded}"


def _visible(title: str) -> str:
    """What shows nothing or turns the text around goes; white space becomes one blank."""
    shown = "".join(
        one
        for one in title
        if one.isspace() or one in _JOINERS or unicodedata.category(one) not in _INVISIBLE
    )
    return unicodedata.normalize("NFC", " ".join(shown.split()))


def _without_marks(text: str) -> str:
    """``é`` becomes ``e``; a letter that is none with a mark stays."""
    parts = unicodedata.normalize("NFD", text)
    return "".join(one for one in parts if not unicodedata.combining(one))
