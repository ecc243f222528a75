"""A client of the protocol that says whatever it is told to, written for these tests alone."""

from __future__ import annotations

import base64
import hashlib
import hmac
import socket
import struct

SIGN_IN = 196608


def startup(**parameters: str) -> bytes:
    """The first message."""
    text = b"".join(part.encode() + b"\0" for pair in parameters.items() for part in pair) + b"\0"
    return struct.pack(">ii", len(text) + 8, SIGN_IN) + text


def message(letter: str, contents: bytes = b"") -> bytes:
    """Any other message."""
    return letter.encode() + struct.pack(">i", len(contents) + 4) + contents


def query(text: str) -> bytes:
    """A simple query."""
    return message("Q", text.encode() + b"\0")


def parse(text: str, name: str = "", types: tuple[int, ...] = ()) -> bytes:
    """A statement to be prepared."""
    packed = struct.pack(f">h{len(types)}i", len(types), *types)
    return message("P", name.encode() + b"\0" + text.encode() + b"\0" + packed)


def bind(*values: bytes | None, portal: str = "", statement: str = "", results: tuple[int, ...] = ()) -> bytes:
    """Values in text for a prepared statement."""
    packed = b"".join(struct.pack(">i", -1) if one is None else struct.pack(">i", len(one)) + one for one in values)
    formats = struct.pack(f">h{len(results)}h", len(results), *results)
    return message("B", f"{portal}\0{statement}\0".encode() + struct.pack(">hh", 0, len(values)) + packed + formats)


def describe(kind: str, name: str = "") -> bytes:
    return message("D", f"{kind}{name}\0".encode())


def execute(portal: str = "", rows: int = 0) -> bytes:
    return message("E", f"{portal}\0".encode() + struct.pack(">i", rows))


SYNC, FLUSH, END = message("S"), message("H"), message("X")


class Wire:
    """A connection."""

    def __init__(self, port: int, seconds: float = 30) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=seconds)
        self._rest = b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send(self, *data: bytes) -> None:
        self.socket.sendall(b"".join(data))

    def read(self, count: int) -> bytes:
        """So many bytes; an error if the connection ends before."""
        while len(self._rest) < count:
            got = self.socket.recv(65_536)
            if not got:
                raise EOFError
            self._rest += got
        found, self._rest = self._rest[:count], self._rest[count:]
        return found

    def one(self) -> tuple[str, bytes]:
        """A message."""
        letter = self.read(1).decode("latin-1")
        return letter, self.read(struct.unpack(">i", self.read(4))[0] - 4)

    def until(self, letter: str = "Z") -> list[tuple[str, bytes]]:
        """All messages up to one of a kind."""
        found = [self.one()]
        while found[-1][0] != letter:
            found.append(self.one())
        return found

    def rest(self) -> list[tuple[str, bytes]]:
        """All messages until the connection ends."""
        found = []
        try:
            while True:
                found.append(self.one())
        except (EOFError, ConnectionError):
            return found

    def ask(self, *data: bytes) -> list[tuple[str, bytes]]:
        """What is answered until the next statement may come."""
        self.send(*data)
        return self.until()

    def sign_in(self, name: str, token: str, **parameters: str) -> list[tuple[str, bytes]]:
        """Sign in, and what is told then; for a wrong token the error."""
        self.send(startup(user=name, **parameters))
        letter, offered = self.one()
        assert (letter, offered[:4]) == ("R", struct.pack(">i", 10)), (letter, offered)
        assert b"SCRAM-SHA-256\0" in offered
        bare = "n=,r=clientnonce"
        first = f"n,,{bare}".encode()
        self.send(message("p", b"SCRAM-SHA-256\0" + struct.pack(">i", len(first)) + first))
        letter, said = self.one()
        assert letter == "R", said
        server = said[4:].decode()
        fields = dict(one.split("=", 1) for one in server.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", token.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
        key = hmac.digest(salted, b"Client Key", "sha256")
        last = f"c=biws,r={fields['r']}"
        exchange = f"{bare},{server},{last}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), exchange, "sha256")
        proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
        self.send(message("p", f"{last},p={proof}".encode()))
        letter, said = self.one()
        if letter == "E":
            return [(letter, said)]
        expected = hmac.digest(hmac.digest(salted, b"Server Key", "sha256"), exchange, "sha256")
        assert said[4:] == b"v=" + base64.b64encode(expected)
        return self.until()


def fields(data: bytes) -> dict[str, str]:
    """The fields of an error or a notice."""
    return {part[:1].decode(): part[1:].decode() for part in data.split(b"\0") if part}


def letters(found: list[tuple[str, bytes]]) -> str:
    """The kinds of messages."""
    return "".join(letter for letter, _ in found)


def rows(found: list[tuple[str, bytes]]) -> list[list[str | None]]:
    """The rows among messages."""
    made = []
    for letter, data in found:
        if letter != "D":
            continue
        place, row = 2, list[str | None]()
        for _ in range(struct.unpack(">h", data[:2])[0]):
            length = struct.unpack(">i", data[place : place + 4])[0]
            row.append(None if length == -1 else data[place + 4 : place + 4 + length].decode())
            place += 4 + max(length, 0)
        made.append(row)
    return made
