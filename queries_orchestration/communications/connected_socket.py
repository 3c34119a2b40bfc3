"""A TCP connection to a host by its name, within one time for the name and all its addresses.

`socket.create_connection` gives each address the whole time, and the look-up of the name any.
"""

from __future__ import annotations

import socket
import time

from queries_orchestration.communications.within import within


def connected_socket(host: str, port: int, *, ends: float) -> socket.socket:
    """Connect to the first address of ``host`` that answers.

    The time that is left is shared by the addresses that are left, so that a silent one lets the
    others be tried.

    Args:
        ends: the monotonic moment by which it must be done.

    Raises:
        TimeoutError: nothing answered in time.
        OSError: the name is not known, or no address could be connected to.
    """
    try:
        found = within(_left(ends), lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except UnicodeError:
        raise socket.gaierror(socket.EAI_NONAME, "no name of a host") from None
    failure: OSError = TimeoutError()
    for number, (family, kind, protocol, _, address) in enumerate(found):
        connected = socket.socket(family, kind, protocol)
        try:
            connected.settimeout(_left(ends) / (len(found) - number))
            connected.connect(address)
        except OSError as error:
            connected.close()
            failure = error
        else:
            return connected
    raise failure


def _left(ends: float) -> float:
    left = ends - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
