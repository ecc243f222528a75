"""Messages of PostgreSQL's protocol, version 3: reading those of clients, and the bytes of ours.

A message is a letter, its length and its contents; the first of a connection has no letter. Nothing of what a client
sends is believed before it is measured: a length has a limit that depends on whether the client has signed in, and a
message that says one length and has another is an error of the protocol.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PROTOCOL = 196608
"""Version 3.0, as a number."""
SSL_REQUEST, GSS_REQUEST, CANCEL_REQUEST = 80877103, 80877104, 80877102
MOST_STARTUP_BYTES = 10_000
"""Bytes of the first message of a connection, as PostgreSQL allows."""
MOST_SIGN_IN_BYTES = 4_096
"""Bytes of a message of someone who has not signed in yet."""
MOST_BYTES = 1_000_000
"""Bytes of a message."""
MOST_VALUES = 1_000
"""Parameters of a statement, or formats of its columns."""


class BadMessage(Exception):
    """A message that is not one of the protocol: the connection ends, since nothing after it can be read."""


@dataclass
class Reader:
    """Takes the contents of a message apart."""

    data: bytes
    place: int = 0

    def text(self) -> str:
        """A text that ends with a zero byte."""
        end = self.data.find(b"\0", self.place)
        if end < 0:
            raise BadMessage("a text does not end")
        found, self.place = self.data[self.place : end], end + 1
        try:
            return found.decode()
        except UnicodeDecodeError:
            raise BadMessage("a text is not UTF-8") from None

    def take(self, count: int) -> bytes:
        """The next bytes, of this number."""
        if count < 0 or self.place + count > len(self.data):
            raise BadMessage("it is shorter than it says")
        found, self.place = self.data[self.place : self.place + count], self.place + count
        return found

    def int16(self) -> int:
        """A number of two bytes."""
        return int.from_bytes(self.take(2), signed=True)

    def int32(self) -> int:
        """A number of four bytes."""
        return int.from_bytes(self.take(4), signed=True)

    def count(self) -> int:
        """The number of items that follow."""
        found = int.from_bytes(self.take(2))
        if found > MOST_VALUES:
            raise BadMessage("it has too many values")
        return found

    def end(self) -> None:
        """An error unless all was read."""
        if self.place != len(self.data):
            raise BadMessage("it is longer than it says")


@dataclass(frozen=True)
class Parse:
    """A statement to be prepared."""

    name: str
    text: str
    types: tuple[int, ...]

    @classmethod
    def read(cls, data: bytes) -> Parse:
        """From a message's contents."""
        reader = Reader(data)
        name, text = reader.text(), reader.text()
        types = tuple(reader.int32() for _ in range(reader.count()))
        reader.end()
        return cls(name, text, types)


@dataclass(frozen=True)
class Bind:
    """Values for the parameters of a prepared statement."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]

    @classmethod
    def read(cls, data: bytes) -> Bind:
        """From a message's contents."""
        reader = Reader(data)
        portal, statement = reader.text(), reader.text()
        formats = tuple(reader.int16() for _ in range(reader.count()))
        values: list[bytes | None] = []
        for _ in range(reader.count()):
            length = reader.int32()
            values.append(None if length == -1 else reader.take(length))
        results = tuple(reader.int16() for _ in range(reader.count()))
        reader.end()
        if len(formats) not in (0, 1, len(values)) or not {0, 1}.issuperset({*formats, *results}):
            raise BadMessage("its formats do not fit")
        return cls(portal, statement, formats, tuple(values), results)


@dataclass(frozen=True)
class Target:
    """A statement (S) or portal (P) by name, to be described or closed."""

    kind: str
    name: str

    @classmethod
    def read(cls, data: bytes) -> Target:
        """From a message's contents."""
        reader = Reader(data)
        kind, name = reader.take(1), reader.text()
        reader.end()
        if kind not in (b"S", b"P"):
            raise BadMessage("it names neither a statement nor a portal")
        return cls(kind.decode(), name)


@dataclass(frozen=True)
class Execute:
    """A portal to be run, and the largest number of rows to be sent; 0: all."""

    portal: str
    rows: int

    @classmethod
    def read(cls, data: bytes) -> Execute:
        """From a message's contents."""
        reader = Reader(data)
        portal, rows = reader.text(), reader.int32()
        reader.end()
        return cls(portal, max(rows, 0))


@dataclass(frozen=True)
class Startup:
    """The first message: what is wanted, and the parameters of a session."""

    code: int
    parameters: Mapping[str, str] = field(default_factory=dict)
    key: tuple[int, bytes] | None = None
    """Whose statement is to be cancelled."""

    @classmethod
    def read(cls, data: bytes) -> Startup:
        """From a message's contents."""
        reader = Reader(data)
        code = reader.int32()
        if code == CANCEL_REQUEST:
            key = reader.int32(), reader.take(4)
            reader.end()
            return cls(code, key=key)
        if code in (SSL_REQUEST, GSS_REQUEST):
            reader.end()
            return cls(code)
        parameters: dict[str, str] = {}
        while name := reader.text():
            parameters[name] = reader.text()
        reader.end()
        return cls(code, parameters)


@dataclass(frozen=True)
class Described:
    """A column of a result: its name, and its type's number and size in bytes (-1: it varies)."""

    name: str
    oid: int
    size: int


def message(letter: bytes, contents: bytes = b"") -> bytes:
    """A message."""
    return letter + (len(contents) + 4).to_bytes(4) + contents


def text(value: str) -> bytes:
    """A text as the protocol has it. A zero byte, which would end it, is left out."""
    return value.replace("\0", "").encode(errors="replace") + b"\0"


def authentication(kind: int, contents: bytes = b"") -> bytes:
    """A step of signing in; 0: it is done."""
    return message(b"R", kind.to_bytes(4) + contents)


def parameter_status(name: str, value: str) -> bytes:
    """The value of a parameter of the session."""
    return message(b"S", text(name) + text(value))


def backend_key(number: int, secret: bytes) -> bytes:
    """What a client needs to have a statement cancelled."""
    return message(b"K", number.to_bytes(4) + secret)


def ready(status: str) -> bytes:
    """The next statement may come; outside a transaction (I), within one (T), or within one that failed (E)."""
    return message(b"Z", status.encode())


def row_description(columns: Sequence[Described], formats: Sequence[int]) -> bytes:
    """The columns of the rows that follow."""
    parts = [struct.pack(">H", len(columns))]
    for column, format_ in zip(columns, formats, strict=True):
        parts += [text(column.name), struct.pack(">ihihih", 0, 0, column.oid, column.size, -1, format_)]
    return message(b"T", b"".join(parts))


def parameter_description(types: Sequence[int]) -> bytes:
    """The types of a statement's parameters."""
    return message(b"t", struct.pack(f">H{len(types)}i", len(types), *types))


def data_row(values: Sequence[bytes | None]) -> bytes:
    """A row."""
    parts = [struct.pack(">H", len(values))]
    for value in values:
        parts.append(b"\xff\xff\xff\xff" if value is None else len(value).to_bytes(4) + value)
    return message(b"D", b"".join(parts))


def complete(tag: str) -> bytes:
    """A statement is done."""
    return message(b"C", text(tag))


def error(severity: str, code: str, said: str, hint: str = "", *, notice: bool = False) -> bytes:
    """An error, or a notice, with its SQLSTATE."""
    fields = {"S": severity, "V": severity, "C": code, "M": said} | ({"H": hint} if hint else {})
    parts = b"".join(letter.encode() + text(value) for letter, value in fields.items())
    return message(b"N" if notice else b"E", parts + b"\0")


PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE = message(b"1"), message(b"2"), message(b"3")
NO_DATA, EMPTY_QUERY, PORTAL_SUSPENDED = message(b"n"), message(b"I"), message(b"s")
