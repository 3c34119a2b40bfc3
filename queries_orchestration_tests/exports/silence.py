"""A line to PostgreSQL that falls silent when it is told to.

It is a process of its own: what stops all threads of a test does not stop it.
"""

from __future__ import annotations

import asyncio
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import make_url

SILENT_SECONDS = 30
"""Then it hangs up, or a test that waits for it would never end."""


@dataclass(frozen=True, slots=True)
class SilentLine:
    """What leads to a source, until it falls silent."""

    url: str
    process: subprocess.Popen[str]

    def fall_silent(self) -> None:
        """Forward nothing any more, of anybody, who is left waiting."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("silent\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "silent\n"

    def is_silent(self) -> bool:
        """Tell whether it has not hung up, so that whoever waits for it would still wait."""
        assert self.process.stdout is not None
        return not select.select([self.process.stdout], [], [], 0)[0]


@contextmanager
def silent_line(url: str) -> Iterator[SilentLine]:
    """Lead to the source at ``url``."""
    parsed = make_url(url)
    with subprocess.Popen(
        [sys.executable, "-m", __name__, str(parsed.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield SilentLine(parsed.set(port=port).render_as_string(hide_password=False), process)
        finally:
            process.kill()


async def _lead_to(port: int) -> None:
    forwards = asyncio.Event()
    forwards.set()

    async def forward(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            await forwards.wait()
            writer.write(data)
            await writer.drain()
        await forwards.wait()
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await forwards.wait()
        server_reader, server_writer = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(
            forward(reader, server_writer),
            forward(server_reader, writer),
            return_exceptions=True,
        )

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    sys.stdout.write(f"{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)
    forwards.clear()
    sys.stdout.write("silent\n")
    sys.stdout.flush()
    await asyncio.sleep(SILENT_SECONDS)
    sys.stdout.write("hangs up\n")
    sys.stdout.flush()
    await asyncio.sleep(1)


if __name__ == "__main__":
    asyncio.run(_lead_to(int(sys.argv[1])))
