"""Servers that say whatever bytes they are told to, for what no decent server says."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

Reply = bytes | Callable[[socket.socket], None]


@contextmanager
def running_raw(hold: Callable[[socket.socket], None]) -> Iterator[int]:
    """Run a server that does ``hold`` with each connection; gives its port."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=handle, args=(connection,), daemon=True).start()

    def handle(connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            hold(connection)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        # A close alone does not wake the thread that waits for a connection.
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()


def smtp(replies: Sequence[bytes]) -> Callable[[socket.socket], None]:
    """The first reply comes at once, each further one after a command or after a message."""

    def hold(connection: socket.socket) -> None:
        lines = connection.makefile("rb")
        in_message = False
        for reply in replies:
            connection.sendall(reply)
            in_message = reply.startswith(b"354")
            while True:
                line = lines.readline()
                if not line:
                    return
                if not in_message or line == b".\r\n":
                    break
        time.sleep(10)

    return hold


def http(reply: bytes, *, pause: float = 0) -> Callable[[socket.socket], None]:
    """One request is read whole, then the reply comes, with a pause after each of its bytes."""

    def hold(connection: socket.socket) -> None:
        read = b""
        while b"\r\n\r\n" not in read:
            read += connection.recv(65_536)
        head, _, body = read.partition(b"\r\n\r\n")
        (length,) = (
            int(line.split(b":")[1])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length")
        )
        while len(body) < length:
            body += connection.recv(65_536)
        pieces = [reply[place : place + 1] for place in range(len(reply))] if pause else [reply]
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause)

    return hold


def answer(status: str, body: bytes) -> bytes:
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s" % (status.encode(), len(body), body)
