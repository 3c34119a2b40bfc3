"""The log as JSON, one object a line: ``QUERIES_LOG_FORMAT=json``.

A message ``name key=value …`` becomes the event ``name`` with a field for each key. It holds what
the text would hold and no more; of an exception its type and its lines, never its words.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, TextIO

from queries_orchestration.observing.about import ids_of_work, now_about
from queries_orchestration.settings import Settings

PACKAGE: Final = "queries_orchestration"
EVERYTHING: Final = ""
_PLACE: Final = re.compile(r"(?:\b([a-z_]+)=)?%(?:\.\d+)?[a-z]")
_EVENT: Final = re.compile(r"([a-z_]+) [a-z_]+=")


class JsonLines(logging.Formatter):
    """Writes a record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        message = record.getMessage().splitlines()
        told: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": message[0] if message else "",
            **now_about(),
            **_fields_of(record),
        }
        event = _EVENT.match(told["message"])
        if event is not None and record.name.startswith(PACKAGE):
            told["event"] = event[1]
        if message[1:]:
            told["more"] = message[1:]
        if record.exc_info and record.exc_info[0] is not None:
            told["error"] = record.exc_info[0].__name__
            told["at"] = [line.strip() for line in traceback.format_tb(record.exc_info[2])]
        return json.dumps(told, ensure_ascii=False, default=str)


def _fields_of(record: logging.LogRecord) -> dict[str, Any]:
    """Return the values of a message of ours, by the names that it gives them."""
    if not record.name.startswith(PACKAGE):
        return {}
    args = record.args if isinstance(record.args, tuple) else ()
    names = [place[1] for place in _PLACE.finditer(str(record.msg))]
    fields = {name: one for name, one in zip(names, args, strict=False) if name}
    # Of those that name their fields with the record.
    fields |= {name: value for name, value in record.__dict__.items() if name in _GIVEN}
    work = fields.pop("work", None)
    return fields if work is None else {**ids_of_work(str(work)), **fields}


_GIVEN: Final = ("event", "workspace", "schedule", "occurrence", "code", "streak")


def set_up_log(settings: Settings, *, of: str = PACKAGE, stream: TextIO | None = None) -> None:
    """Let this process log as the settings say; as text it does already.

    Args:
        of: the logger whose lines are written, with those below it.
        stream: where to; standard error.
    """
    if settings.log_format != "json":
        return
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    logger = logging.getLogger(of)
    logger.handlers[:] = [handler]
    logger.propagate = False
    logging.getLogger(PACKAGE).setLevel(logging.INFO)
