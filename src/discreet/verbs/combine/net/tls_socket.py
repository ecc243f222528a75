"""TLS transport for asyncio that reads and writes its socket directly.

asyncio's own TLS passes everything through buffers in memory and several objects in Python, which for short messages
costs more than the cryptography. Here OpenSSL has the socket itself: bytes go straight into the place they are for.
Connections end without TLS's farewell: a party knows from the messages, not from the connection, that all has come.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque

_HIGH_WATER_BYTES, _LOW_WATER_BYTES = 1 << 18, 1 << 16
"""Pending bytes above which the writer is paused, and below which it resumes."""
_MAX_READS = 64
"""Number of reads before others have their turn."""


async def handshake(raw: socket.socket, context: ssl.SSLContext, *, server: bool, seconds: float) -> ssl.SSLSocket:
    """Do the TLS handshake; on OSError or TimeoutError the socket is closed."""
    raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    secure = context.wrap_socket(raw, server_side=server, do_handshake_on_connect=False)
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    secure.do_handshake()
                    return secure
                except ssl.SSLWantReadError:
                    await wait_ready(secure, write=False)
                except ssl.SSLWantWriteError:
                    await wait_ready(secure, write=True)
    except BaseException:
        secure.close()
        raise


async def wait_ready(secure: socket.socket, *, write: bool = False) -> None:
    """Wait until there is something to read, or room to write."""
    loop = asyncio.get_running_loop()
    there: asyncio.Future[None] = loop.create_future()
    handle = secure.fileno()
    add, remove = (loop.add_writer, loop.remove_writer) if write else (loop.add_reader, loop.remove_reader)
    add(handle, _tell, there)
    try:
        await there
    finally:
        remove(handle)


def _tell(there: asyncio.Future[None]) -> None:
    if not there.done():
        there.set_result(None)


class TlsTransport(asyncio.Transport):
    """Transport between a TLS socket and a buffered protocol."""

    def __init__(self, secure: ssl.SSLSocket, protocol: asyncio.BufferedProtocol) -> None:
        super().__init__()
        self._loop, self._socket, self._protocol = asyncio.get_running_loop(), secure, protocol
        self._handle = secure.fileno()
        self._waiting: deque[memoryview] = deque()
        self._size = 0
        self._paused = self._closing = self._gone = False
        protocol.connection_made(self)
        if not self._gone:
            self._loop.add_reader(self._handle, self._read)
            self._loop.call_soon(self._read)  # what came with the handshake

    def is_closing(self) -> bool:
        """Whether nothing more can be sent."""
        return self._closing

    def get_write_buffer_size(self) -> int:
        """Number of pending bytes."""
        return self._size

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send bytes, now or when there is room."""
        if self._closing:
            return
        self._waiting.append(memoryview(data))
        self._size += len(data)
        if len(self._waiting) == 1:
            self._write()
            if self._size and not self._gone:
                self._loop.add_writer(self._handle, self._write)
        if self._size > _HIGH_WATER_BYTES and not self._paused:
            self._paused = True
            self._protocol.pause_writing()

    def close(self) -> None:
        """Close when everything is sent."""
        self._closing = True
        if not self._size:
            self.abort()

    def abort(self) -> None:
        """Close now."""
        if not self._gone:
            self._gone = self._closing = True
            self._loop.remove_reader(self._handle)
            self._loop.remove_writer(self._handle)
            self._socket.close()
            self._loop.call_soon(self._protocol.connection_lost, None)

    def _read(self) -> None:
        for _ in range(_MAX_READS):
            if self._gone:
                return
            buffer = self._protocol.get_buffer(-1)
            try:
                count = self._socket.recv_into(buffer)
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                return
            except OSError:
                count = 0
            if not count:
                self.abort()
                return
            self._protocol.buffer_updated(count)
        self._loop.call_soon(self._read)  # OpenSSL may hold more, of which the socket does not know

    def _write(self) -> None:
        while self._waiting and not self._gone:
            try:
                count = self._socket.send(self._waiting[0])
            except (ssl.SSLWantWriteError, ssl.SSLWantReadError):
                break  # OpenSSL goes on where it was when it is given the same again
            except OSError:
                self.abort()
                return
            self._size -= count
            if count == len(self._waiting[0]):
                self._waiting.popleft()
            else:
                self._waiting[0] = self._waiting[0][count:]
        if self._gone:
            return
        if not self._waiting:
            self._loop.remove_writer(self._handle)
            if self._closing:
                self.abort()
                return
        if self._paused and self._size < _LOW_WATER_BYTES:
            self._paused = False
            self._protocol.resume_writing()
