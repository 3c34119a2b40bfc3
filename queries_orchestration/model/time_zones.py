"""Time zones by their IANA names, and the instant that a wall time denotes."""

from __future__ import annotations

import difflib
import re
from datetime import UTC, datetime
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from queries_orchestration.model.errors import UnknownTimeZone

_PLACES_OF_ABBREVIATIONS = {
    "EST": "America/New_York",
    "EDT": "America/New_York",
    "CST": "America/Chicago",
    "CDT": "America/Chicago",
    "MST": "America/Denver",
    "MDT": "America/Denver",
    "PST": "America/Los_Angeles",
    "PDT": "America/Los_Angeles",
    "GMT": "Europe/London",
    "BST": "Europe/London",
    "WET": "Europe/Lisbon",
    "CET": "Europe/Berlin",
    "CEST": "Europe/Berlin",
    "EET": "Europe/Athens",
    "IST": "Asia/Kolkata",
    "JST": "Asia/Tokyo",
}


_OFFSET: Final = re.compile(
    r"(?:UTC|GMT|Z)?\s*([+-])\s*(\d{1,2})(?::?([0-5]\d)|[.,](\d{1,2}))?", re.IGNORECASE | re.ASCII
)
_PLACES_OF_OFFSETS: Final = {
    -570: "Pacific/Marquesas",
    -210: "America/St_Johns",
    210: "Asia/Tehran",
    270: "Asia/Kabul",
    330: "Asia/Kolkata",
    345: "Asia/Kathmandu",
    390: "Asia/Yangon",
    525: "Australia/Eucla",
    570: "Australia/Darwin",
    630: "Australia/Lord_Howe",
    765: "Pacific/Chatham",
}
"""Where the clocks show what is no whole hour, in minutes ahead of UTC."""


@cache
def zone_names() -> frozenset[str]:
    """The names that ``zone`` accepts: ``Area/Place`` and ``UTC``.

    Names without an area (``EST``, ``CET``, ``GB``) are left out: most are abbreviations that
    stand for several places or for an offset without daylight saving.
    """
    return frozenset(name for name in available_timezones() if "/" in name) | {"UTC"}


def zone(name: str) -> ZoneInfo:
    """The time zone called ``name``, spelt exactly as the IANA database spells it.

    Raises UnknownTimeZone, with the nearest good name, for anything else: abbreviations,
    offsets, Windows names, other capitals, paths.
    """
    if name not in zone_names():
        suggestion = _of_offset(name) or _nearest_name(name)
        example = (
            f"did you mean {suggestion}?"
            if suggestion
            else "such as Europe/Berlin or America/New_York, or UTC."
        )
        raise UnknownTimeZone(
            f"{name[:80]!r} is not a time zone: give an IANA name of area and place, {example}"
        )
    return ZoneInfo(name)


def instant_of(wall_time: datetime, place: ZoneInfo, *, fold: int = 0) -> datetime:
    """The UTC instant that the naive ``wall_time`` denotes in ``place`` (RFC 5545 §3.3.5).

    A wall time that does not exist is read with the offset before the gap (02:30 becomes 03:30);
    of one that exists twice this is the first. ``fold=1`` gives the other reading (PEP 495): the
    offset after the gap, or the second of the two.
    """
    return wall_time.replace(tzinfo=place, fold=fold).astimezone(UTC)


def _of_offset(name: str) -> str | None:
    """Return the zone that is always, or usually, as far from UTC as an offset says."""
    given = _OFFSET.fullmatch(name.strip()[:80])
    if given is None:
        return None
    sign, hours, minutes, fraction = given.groups()
    size = 60 * int(hours) + (round(60 * float(f"0.{fraction}")) if fraction else int(minutes or 0))
    ahead = size if sign == "+" else -size
    if ahead % 60:
        return _PLACES_OF_OFFSETS.get(ahead)
    # The names of these count what UTC is ahead of them: five hours ahead is Etc/GMT-5.
    fixed = f"Etc/GMT{-ahead // 60:+d}" if ahead else "UTC"
    return fixed if fixed in zone_names() else None


def _nearest_name(name: str) -> str | None:
    words = name.split()
    if words and words[0].upper() in _PLACES_OF_ABBREVIATIONS:
        return _PLACES_OF_ABBREVIATIONS[words[0].upper()]
    wanted = "_".join(words).lower()
    by_spelling: dict[str, str] = {}
    # Etc/GMT+1 is one hour behind UTC: whoever writes GMT+1 rarely means that.
    for known in sorted(name for name in zone_names() if not name.startswith("Etc/")):
        by_spelling[known.lower()] = known
        by_spelling.setdefault(known.rpartition("/")[2].lower(), known)
    close = difflib.get_close_matches(wanted[:80], by_spelling, n=1, cutoff=0.8)
    return by_spelling[close[0]] if close else None
