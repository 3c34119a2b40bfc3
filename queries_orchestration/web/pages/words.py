"""Words and numbers as pages show them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final

from queries_orchestration.model.errors import UnknownTimeZone
from queries_orchestration.model.recurrences import Recurrence
from queries_orchestration.model.time_zones import zone

OUTCOMES: Final[Mapping[str, str]] = {
    "delivered": "Delivered",
    "delivered_partly": "Delivered in part",
    "skipped_empty": "Empty, not sent",
    "no_recipients": "Nobody to send to",
    "failed": "Failed",
    "missed": "Missed",
    "cancelled": "Cancelled",
    "unsettled": "Under way",
    "waiting": "Waiting",
    "running": "Running",
}
EXPORT_STATES: Final[Mapping[str, str]] = {
    "queued": "Waiting",
    "running": "Being made",
    "ready": "Ready",
    "failed": "Failed",
    "cancelled": "Cancelled",
    "expired": "Expired",
}
DELIVERY_STATES: Final[Mapping[str, str]] = {
    "sending": "Being sent",
    "sent": "Sent",
    "skipped": "Skipped",
    "refused": "Refused",
    "uncertain": "Perhaps sent",
    "unsent": "Not sent",
}
MESSAGE_STATES: Final[Mapping[str, str]] = {
    "accepted": "taken by the mail provider",
    "delayed": "delayed",
    "delivered": "arrived",
    "soft_bounced": "bounced for now",
    "bounced": "bounced",
    "complained": "marked as unwanted",
}
REASONS: Final[Mapping[str, str]] = {
    "inactive": "Is not active",
    "left_workspace": "Has left the workspace",
    "no_address": "Has no address",
    "domain_not_allowed": "The workspace does not allow the domain",
    "unsubscribed": "Has unsubscribed",
    "duplicate": "Gets it already, at the same address",
}
HINTS: Final[Mapping[str, str]] = {
    "integer": "A whole number, such as 42.",
    "decimal": "A number, such as 12.50.",
    "date": "A day such as 2027-01-31, or start_of:month,shift:-1.",
    "timestamp": "A time such as 2027-01-31T08:30, or start_of:month,shift:-1.",
    "timestamptz": "A time such as 2027-01-31T08:30+01:00, or start_of:month,shift:-1.",
}
"""How the values of a type are written; a start is counted from when the file is asked for."""
FORMATS: Final[Mapping[str, str]] = {
    "csv": "CSV",
    "xlsx": "Excel workbook",
    "pdf": "PDF",
}
TONES: Final[Mapping[str, str]] = {
    "delivered": "good",
    "ready": "good",
    "sent": "good",
    "active": "good",
    "delivered_partly": "warn",
    "missed": "warn",
    "uncertain": "warn",
    "paused": "warn",
    "failed": "bad",
    "refused": "bad",
    "unsent": "bad",
    "queued": "live",
    "running": "live",
    "waiting": "live",
    "unsettled": "live",
    "sending": "live",
}
"""The colour of a state, which is never its only sign; what is not named here is quiet."""

READINGS: Final[Mapping[str, str]] = {
    "plain": "",
    "gap": "{:%H:%M} does not exist on that day",
    "first_of_two": "{:%H:%M} comes twice on that day: the first",
    "second_of_two": "{:%H:%M} comes twice on that day: the second",
}
_DAY, _HOUR, _MINUTE = timedelta(days=1), timedelta(hours=1), timedelta(minutes=1)
_WEEKDAYS: Final = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
_SHORT: Final = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")


def clocks_of(name: str) -> tzinfo:
    """Return a time zone; UTC where it cannot be read any more."""
    try:
        return zone(name)
    except UnknownTimeZone:
        return UTC


def moment(instant: datetime, clocks: tzinfo = UTC) -> str:
    """Return an instant to the minute, as the clocks of a zone show it, with its offset."""
    local = instant.astimezone(clocks)
    return f"{local:%a} {local.day} {local:%b %Y, %H:%M} {offset(local)}"


def offset(local: datetime) -> str:
    """Return how far a local time is from UTC: ``+01:00``."""
    text = f"{local:%z}"
    return f"{text[:3]}:{text[3:5]}"


def day(instant: datetime, clocks: tzinfo = UTC) -> str:
    """Return the local day of an instant."""
    local = instant.astimezone(clocks)
    return f"{local.day} {local:%b %Y}"


def number(value: float) -> str:
    """Return a number with thin groups of digits."""
    return f"{value:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")


def rows(count: int) -> str:
    """Return a number of rows."""
    return f"{number(count)} row{'s' * (count != 1)}"


def size(count: int) -> str:
    """Return a number of bytes."""
    for unit, bytes_of_unit in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= bytes_of_unit:
            return f"{count / bytes_of_unit:.1f} {unit}"
    return f"{count} bytes"


def duration(seconds: float) -> str:
    """Return how long something took."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def from_now(instant: datetime, now: datetime) -> str:
    """Return how far ahead, or ago, an instant is, roughly."""
    apart = abs(instant - now)
    units = (("day", _DAY), ("hour", _HOUR), ("minute", _MINUTE))
    unit, of_unit = next((one for one in units if apart >= one[1]), ("minute", _MINUTE))
    count = apart // of_unit
    if not count:
        return "in less than a minute" if instant > now else "just now"
    said = f"{count} {unit}{'s' * (count != 1)}"
    return f"in {said}" if instant > now else f"{said} ago"


def value(given: object) -> str:
    """Return a runtime value: a text as it is, a relative one in words, others as JSON."""
    if isinstance(given, Mapping) and "start_of" in given:
        shift = given.get("shift", 0)
        counted = f", {abs(shift)} {'after' if shift > 0 else 'before'}" if shift else ""
        return f"start of the {given['start_of']}{counted}"
    if isinstance(given, list):
        return ", ".join(map(value, given))
    return given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)


def recipient(told: Mapping[str, Any]) -> str:
    """Return who a recipient is: a title, never an address."""
    if told.get("group"):
        return f"Group {told['group']}"
    if told.get("title"):
        return str(told["title"])
    if told.get("person"):
        return str(told["person"])
    return f"Outside address {str(told['outside'])[:6]}" if told.get("outside") else "Somebody gone"


def rule(recurrence: Recurrence) -> str:
    """Return in words when a rule comes, if it is a plain one; else its five fields."""
    minute, hour, of_month, month, of_week = recurrence.cron.split()
    if not (minute.isdigit() and hour.isdigit() and month == "*"):
        every = minute.removeprefix("*/")
        if minute != every and every.isdigit() and (hour, of_month, month, of_week) == ("*",) * 4:
            return f"Every {every} minutes"
        return recurrence.cron
    at = f"at {int(hour):02}:{int(minute):02}"
    if recurrence.last_day:
        return f"On the last day of the month {at}"
    if (of_month, of_week) == ("*", "*"):
        return f"Every day {at}"
    if of_month == "*" and of_week in ("MON-FRI", "1-5"):
        return f"Monday to Friday {at}"
    if of_month == "*" and (of_week in _SHORT or of_week in "01234567"):
        place = _SHORT.index(of_week) if of_week in _SHORT else int(of_week) % 7
        return f"Every {_WEEKDAYS[place]} {at}"
    if of_week == "*" and of_month.isdigit():
        return f"On day {int(of_month)} of each month {at}"
    return recurrence.cron


def tone(state: str | None) -> str:
    """Return the colour of a state."""
    return TONES.get(state or "", "quiet")


FILTERS: Final[Mapping[str, Callable[..., Any]]] = {
    "moment": moment,
    "day": day,
    "number": number,
    "rows": rows,
    "filesize": size,
    "duration": duration,
    "from_now": from_now,
    "value": value,
    "recipient": recipient,
    "tone": tone,
}
