"""Asks a server for the same again and again, over connections that stay; one started process."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from itertools import cycle

_LENGTH = b"content-length: "


async def _ask(port: int, paths: list[str], status: int, until: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    expected = f"HTTP/1.1 {status} ".encode()
    answered = 0
    for path in cycle(paths):
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(expected):
            raise RuntimeError(f"{path[:3]}… is answered with {head[:30]!r}")
        at = head.lower().find(_LENGTH)
        length = int(head[at + len(_LENGTH) :].split(b"\r\n", 1)[0]) if at >= 0 else 0
        if length:
            await reader.readexactly(length)
        answered += 1
        if time.perf_counter() >= until:
            break
    writer.close()
    return answered


async def _ask_at_once(
    port: int, paths: list[str], status: int, connections: int, seconds: float
) -> dict[str, float]:
    began = time.perf_counter()
    asked = (
        _ask(port, paths[number:] + paths[:number], status, began + seconds)
        for number in range(connections)
    )
    answered = sum(await asyncio.gather(*asked))
    return {"answered": answered, "seconds": time.perf_counter() - began}


def main() -> None:
    """Ask as the JSON argument says; print how many answers came, and in how many seconds."""
    sys.stdout.write(json.dumps(asyncio.run(_ask_at_once(**json.loads(sys.argv[1])))))


if __name__ == "__main__":
    main()
