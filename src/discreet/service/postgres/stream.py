"""Stream of bytes from and to a client: whole messages, and a time limit for each wait."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from discreet.service.postgres import messages
from discreet.service.postgres.messages import BadMessage, Startup

MESSAGE_SECONDS = 30.0
"""Time limit for the rest of a message that has begun to arrive, seconds."""
WRITE_SECONDS = 60.0
"""Time limit for a client to read what is sent, seconds."""
_CHUNK_BYTES = 65_536


class Stream:
    """Bytes from and to a client, each wait with an end."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._waiting = bytearray()

    async def startup(self) -> Startup:
        """The first message of a connection."""
        length = int.from_bytes(await self._reader.readexactly(4))
        if not 8 <= length <= messages.MOST_STARTUP_BYTES:
            raise BadMessage("its length is wrong")
        return Startup.read(await self._reader.readexactly(length - 4))

    async def message(self, most: int, seconds: float) -> tuple[str, bytes]:
        """The next message: its letter and contents."""
        letter = await asyncio.wait_for(self._reader.readexactly(1), seconds)
        async with asyncio.timeout(MESSAGE_SECONDS):
            length = int.from_bytes(await self._reader.readexactly(4))
            if not 4 <= length <= most:
                raise BadMessage("its length is wrong")
            return letter.decode("latin-1"), await self._reader.readexactly(length - 4)

    def send(self, data: bytes) -> None:
        """Have bytes sent with the next ``flush``."""
        self._waiting += data

    async def flush(self) -> None:
        """Send what waits; an error if the client does not read."""
        if self._waiting:
            self._writer.write(bytes(self._waiting))
            self._waiting.clear()
        async with asyncio.timeout(WRITE_SECONDS):
            await self._writer.drain()

    async def flush_if_large(self) -> None:
        """Send what waits if it is much."""
        if len(self._waiting) > _CHUNK_BYTES:
            await self.flush()


async def refuse(stream: Stream, code: str, said: str, hint: str = "") -> None:
    """Tell a client why the connection ends."""
    with suppress(ConnectionError, TimeoutError):
        stream.send(messages.error("FATAL", code, said, hint))
        await stream.flush()
