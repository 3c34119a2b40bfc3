"""The line to a source's server, which any thread can cut, whatever is waited for on it.

psycopg2's own ``cancel()`` asks the server on a new connection, and lets no other thread of the
process run until that has answered: a server that hangs would stop all of a worker. A line that is
cut asks nobody. The server ends the statement as soon as it looks for its client.
"""

from __future__ import annotations

import os
import socket
from threading import Lock, Timer
from typing import Any


class Line:
    """The line of a connection of the driver.

    It is a handle of its own on the socket: the driver's may be closed meanwhile, and its number
    belong to something else.
    """

    def __init__(self, driver: Any) -> None:
        """Hold the line of ``driver``, which is open, until :meth:`close`."""
        self._socket = socket.socket(fileno=os.dup(driver.fileno()))
        self._guard = Lock()

    def cut(self) -> bool:
        """End whatever waits for the server, now and from now on; ``False``: it had ended."""
        with self._guard:
            try:
                self._socket.shutdown(socket.SHUT_RDWR)
            except OSError:
                return False
        return True

    def cut_after(self, seconds: float) -> Timer:
        """Cut the line in some seconds, unless what is returned is cancelled before."""
        timer = Timer(seconds, self.cut)
        timer.daemon = True
        timer.start()
        return timer

    def close(self) -> None:
        """Let go of the line."""
        with self._guard:
            self._socket.close()
