"""The line to a source's server, which any thread can cut, whatever is waited for on it.

psycopg2's own ``cancel()`` asks the server on a new connection, and lets no other thread of the
process run until that has answered: a server that hangs would stop all of a worker. A line that is
cut asks nobody. The server ends the statement as soon as it looks for its client.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock, Timer
from typing import Any

from sqlalchemy import Engine, event


class Line:
    """The line of a connection of the driver.

    It is a handle of its own on the socket: the driver's may be closed meanwhile, and its number
    belong to something else.
    """

    def __init__(self, driver: Any) -> None:
        """Hold the line of ``driver``, which is open, until :meth:`close`."""
        self._socket = socket.socket(fileno=os.dup(driver.fileno()))
        self._guard = Lock()
        self._cutting: Timer | None = None

    def cut(self) -> bool:
        """End whatever waits for the server, now and from now on; ``False``: it had ended."""
        with self._guard:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return False
        return True

    def cut_after(self, seconds: float) -> None:
        """Cut the line in some seconds, unless :meth:`keep` is called before."""
        self.keep()
        self._cutting = Timer(seconds, self.cut)
        self._cutting.daemon = True
        self._cutting.start()

    def keep(self) -> None:
        """Do not cut the line by itself."""
        if self._cutting is not None:
            self._cutting.cancel()

    def close(self) -> None:
        """Let go of the line."""
        self.keep()
        with self._guard:
            self._socket.close()


@contextmanager
def holding(engine: Engine, hold: Callable[[Line], object]) -> Iterator[None]:
    """Give ``hold`` the line of a connection made within, before anything is asked on it."""

    def connected(driver: Any, _record: object) -> None:
        hold(Line(driver))

    if engine.dialect.name != "postgresql":
        yield
        return
    event.listen(engine, "connect", connected, insert=True)
    try:
        yield
    finally:
        event.remove(engine, "connect", connected)
