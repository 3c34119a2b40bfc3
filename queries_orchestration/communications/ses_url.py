"""Which region of Amazon SES a URL names, and with which configuration set."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, parse_qsl, urlsplit

from queries_orchestration.model.errors import InvalidSettings

_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-[0-9]{1,2}")
_CONFIGURATION_SET: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OPTIONS: Final = ("configuration_set", "endpoint")


@dataclass(frozen=True, slots=True, kw_only=True)
class SesPlace:
    """A region; ``endpoint`` is another address than Amazon's own, as ``https://host``."""

    region: str
    configuration_set: str | None = None
    endpoint: str | None = None


def read_ses_url(parts: SplitResult) -> SesPlace:
    """Read ``ses://eu-central-1?configuration_set=reports``.

    Raises:
        InvalidSettings: it names no region, or something else than these options.
    """
    if "@" in parts.netloc:
        raise _invalid(
            "holds no credentials: give them by the standard AWS environment (AWS_ACCESS_KEY_ID and"
            " AWS_SECRET_ACCESS_KEY, a profile or a role)"
        )
    if not _REGION.fullmatch(parts.netloc) or parts.path.strip("/") or parts.fragment:
        raise _invalid("must name a region: ses://eu-central-1?configuration_set=name")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    options = dict(pairs)
    if len(options) != len(pairs) or not set(options) <= set(_OPTIONS):
        raise _invalid(f"takes after ? only {' and '.join(_OPTIONS)}, each once")
    configuration_set, endpoint = (options.get(name) for name in _OPTIONS)
    if configuration_set is not None and not _CONFIGURATION_SET.fullmatch(configuration_set):
        raise _invalid("must give its configuration_set as a name of A-Z a-z 0-9 _ and -")
    if endpoint is not None and not _is_endpoint(endpoint):
        raise _invalid("must give its endpoint as https://host or http://host:port")
    return SesPlace(region=parts.netloc, configuration_set=configuration_set, endpoint=endpoint)


def _is_endpoint(value: str) -> bool:
    try:
        parts = urlsplit(value)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable) and "@" not in parts.netloc and value == f"{parts.scheme}://{parts.netloc}"


def _invalid(what: str) -> InvalidSettings:
    return InvalidSettings(f"QUERIES_COMMUNICATIONS_URL {what}; docs/messages.md describes it.")
