"""How often one address, or one token, may ask within a minute.

Counted in this process, in a fixed amount of memory, whatever strangers send: a caller has two
numbers, that of the minute before counting less and less, and the callers that asked longest ago
are forgotten first. The library `limits` keeps every key for ever and walks all of them a hundred
times a second, so that a flood of made-up tokens would be what it is to guard against.
"""

from __future__ import annotations

import ipaddress
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Final

from queries_orchestration.model.errors import Refused
from queries_orchestration.settings import Settings

WINDOW_SECONDS: Final = 60.0
MOST_CALLERS: Final = 20_000
_NETWORK_BITS: Final = 64
"""Of an IPv6 address: what one household or office has, and can choose addresses from."""


class TooManyRequests(Refused):
    """Asked too often; ``retry_after`` is in how many seconds it is answered again."""

    code = "too_many_requests"

    def __init__(self, *, retry_after: int) -> None:
        super().__init__(f"Too many requests: try again in {retry_after} seconds.")
        self.retry_after = retry_after


@dataclass(slots=True)
class _Counted:
    window: int
    now: int = 0
    before: int = 0


class RateLimit:
    """At most ``most`` in a minute for each caller; what is refused is not counted."""

    def __init__(
        self,
        most: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        most_callers: int = MOST_CALLERS,
    ) -> None:
        self._most = most
        self._clock = clock
        self._most_callers = most_callers
        self._counted: OrderedDict[str | bytes, _Counted] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """How many callers are remembered."""
        return len(self._counted)

    def count(self, caller: str | bytes) -> None:
        """Count one request.

        Raises:
            TooManyRequests: it is one too many.
        """
        with self._lock:
            window, passed = divmod(self._clock(), WINDOW_SECONDS)
            counted = self._of(caller, int(window))
            share = passed / WINDOW_SECONDS
            if counted.before * (1 - share) + counted.now + 1 > self._most:
                raise TooManyRequests(retry_after=self._wait(counted, share))
            counted.now += 1

    def _of(self, caller: str | bytes, window: int) -> _Counted:
        counted = self._counted.get(caller)
        if counted is None:
            counted = self._counted[caller] = _Counted(window)
            if len(self._counted) > self._most_callers:
                self._counted.popitem(last=False)
            return counted
        self._counted.move_to_end(caller)
        if counted.window != window:
            counted.before = counted.now if counted.window == window - 1 else 0
            counted.now, counted.window = 0, window
        return counted

    def _wait(self, counted: _Counted, share: float) -> int:
        room = self._most - 1 - counted.now
        # When enough of the minute before has faded; or of this one, in the next.
        fades = 1 - room / counted.before if room >= 0 else 2 - (self._most - 1) / counted.now
        return max(1, math.ceil((fades - share) * WINDOW_SECONDS))


class RateLimits:
    """The limits of the settings; a number each for this process alone."""

    def __init__(self, settings: Settings, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._addresses = RateLimit(settings.link_requests_per_address, clock=clock)
        self._tokens = RateLimit(settings.link_requests_per_token, clock=clock)
        self._failed_sign_ins = RateLimit(settings.failed_sign_ins_per_address, clock=clock)

    def count_link(self, address: str, token: str) -> None:
        """Count one request of a link.

        Raises:
            TooManyRequests: the address, or the token, asks too often.
        """
        self._addresses.count(network_of(address))
        self._tokens.count(blake2b(token.encode(errors="replace"), digest_size=16).digest())

    def count_failed_sign_in(self, address: str) -> None:
        """Count one request without a valid token.

        Raises:
            TooManyRequests: the address has sent too many.
        """
        self._failed_sign_ins.count(network_of(address))


def network_of(address: str) -> str:
    """Return what one caller has of an address: all of IPv4, the first half of IPv6."""
    if ":" not in address:
        return address
    try:
        network = ipaddress.ip_network((address.partition("%")[0], _NETWORK_BITS), strict=False)
    except ValueError:
        return address
    mapped = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(mapped, ipaddress.IPv6Address) and mapped.ipv4_mapped is not None:
        return str(mapped.ipv4_mapped)
    return str(network)
