"""Values of PostgreSQL's types: those of answers as clients read them, in text and binary, and parameters as literals.

A parameter becomes a literal of the syntax tree. It never becomes a piece of a statement's text.
"""

from __future__ import annotations

import datetime as dt
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from typing import Any

from sqlglot import exp

from discreet.core import sql
from discreet.core.kind import Kind
from discreet.errors import BadInput
from discreet.service.postgres.messages import MOST_VALUES, BadMessage, Reader

_EPOCH = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)
_DIGITS = 4
"""Decimal digits in a digit of a binary numeric."""


@dataclass(frozen=True)
class PgType:
    """A type: its number, its size in bytes (-1: it varies), and how a value of it is written in binary."""

    oid: int
    name: str
    size: int
    binary: Callable[[Any], bytes]
    element: PgType | None = None
    """The type of an array's elements."""


def _text(value: Any) -> bytes:
    return str(value).replace("\0", "").encode(errors="replace")


def _packed(layout: str) -> Callable[[Any], bytes]:
    return lambda value: struct.pack(layout, value)


def _date(value: Any) -> bytes:
    return struct.pack(">i", (dt.date.fromisoformat(value) - _EPOCH.date()).days)


def _timestamp(value: Any) -> bytes:
    at = dt.datetime.fromisoformat(value)
    at = at if at.tzinfo else at.replace(tzinfo=dt.UTC)
    return struct.pack(">q", (at - _EPOCH) // dt.timedelta(microseconds=1))


def _numeric(value: Any) -> bytes:
    """Digits of base 10,000, with where the first stands and how many decimals are shown."""
    sign, digits, exponent = Decimal(str(value)).as_tuple()
    if not isinstance(exponent, int):
        return struct.pack(">HhHH", 0, 0, 0xC000, 0)
    scale = max(-exponent, 0)
    text = "".join(map(str, digits)) + "0" * max(exponent, 0)
    whole, part = (text[:-scale].lstrip("0"), text[-scale:].rjust(scale, "0")) if scale else (text.lstrip("0"), "")
    whole = whole.rjust(-(-len(whole) // _DIGITS) * _DIGITS, "0")
    part = part.ljust(-(-len(part) // _DIGITS) * _DIGITS, "0")
    groups = [int((whole + part)[i : i + _DIGITS]) for i in range(0, len(whole + part), _DIGITS)]
    weight = len(whole) // _DIGITS - 1
    while groups and not groups[0]:
        del groups[0]
        weight -= 1
    while groups and not groups[-1]:
        del groups[-1]
    head = struct.pack(">HhHH", len(groups), weight if groups else 0, 0x4000 if sign else 0, scale)
    return head + struct.pack(f">{len(groups)}H", *groups)


BOOL = PgType(16, "bool", 1, lambda value: b"\x01" if value else b"\x00")
INT8 = PgType(20, "int8", 8, _packed(">q"))
INT2 = PgType(21, "int2", 2, _packed(">h"))
INT4 = PgType(23, "int4", 4, _packed(">i"))
OID = PgType(26, "oid", 4, _packed(">I"))
FLOAT4 = PgType(700, "float4", 4, _packed(">f"))
FLOAT8 = PgType(701, "float8", 8, _packed(">d"))
TEXT = PgType(25, "text", -1, _text)
NAME = PgType(19, "name", 64, _text)
VARCHAR = PgType(1043, "varchar", -1, _text)
UNKNOWN = PgType(705, "unknown", -2, _text)
DATE = PgType(1082, "date", 4, _date)
TIMESTAMP = PgType(1114, "timestamp", 8, _timestamp)
TIMESTAMPTZ = PgType(1184, "timestamptz", 8, _timestamp)
NUMERIC = PgType(1700, "numeric", -1, _numeric)


def array_of(element: PgType, oid: int) -> PgType:
    """The type of arrays of some elements."""

    def binary(value: Any) -> bytes:
        head = struct.pack(">iiI", int(bool(value)), int(None in value), element.oid)
        parts = [head, struct.pack(">ii", len(value), 1) if value else b""]
        for one in value:
            made = None if one is None else element.binary(one)
            parts.append(b"\xff\xff\xff\xff" if made is None else len(made).to_bytes(4) + made)
        return b"".join(parts)

    return PgType(oid, f"_{element.name}", -1, binary, element)


_ARRAYS = {
    one.oid: one
    for one in (
        array_of(BOOL, 1000),
        array_of(NAME, 1003),
        array_of(INT2, 1005),
        array_of(INT4, 1007),
        array_of(TEXT, 1009),
        array_of(VARCHAR, 1015),
        array_of(INT8, 1016),
        array_of(FLOAT8, 1022),
        array_of(OID, 1028),
    )
}
_SCALARS = (BOOL, INT8, INT2, INT4, OID, FLOAT4, FLOAT8, TEXT, NAME, VARCHAR, DATE, TIMESTAMP, TIMESTAMPTZ, NUMERIC)
PG_TYPES = {one.oid: one for one in (*_SCALARS, UNKNOWN)} | _ARRAYS
"""All types that there are here, by number."""
OF_KIND = {
    Kind.INTEGER: INT8,
    Kind.REAL: FLOAT8,
    Kind.DECIMAL: NUMERIC,
    Kind.TEXT: TEXT,
    Kind.BOOLEAN: BOOL,
    Kind.DATE: DATE,
    Kind.TIMESTAMP: TIMESTAMP,
}
"""The type of each kind of a card."""


def type_of(kind: str) -> PgType:
    """The type of a kind, by the API's name for it; a text for what has none."""
    return next((type_ for one, type_ in OF_KIND.items() if one.value == kind), TEXT)


def array_type(element: PgType) -> PgType:
    """The type of arrays of a type; arrays of text for what has none."""
    return next((one for one in _ARRAYS.values() if one.element is element), _ARRAYS[1009])


Encoder = Callable[[Any], bytes | None]


def encoder(type_: PgType, format_: int) -> Encoder:
    """Writes values of a type in text (0) or in binary (1)."""
    write = type_.binary if format_ else _writer(type_)
    return lambda value: None if value is None else write(value)


def _writer(type_: PgType) -> Callable[[Any], bytes]:
    if type_.element is not None:
        inner = _writer(type_.element)
        return lambda value: b"{" + b",".join(b"NULL" if one is None else _quoted(inner(one)) for one in value) + b"}"
    if type_ is BOOL:
        return lambda value: b"t" if value else b"f"
    if type_ in (TIMESTAMP, TIMESTAMPTZ):
        return lambda value: str(value).replace("T", " ").encode()
    return _text


def _quoted(element: bytes) -> bytes:
    """An element of an array, between quotes if it has to be."""
    if element and not re.search(rb'[\s{},"\\]', element) and element.lower() != b"null":
        return element
    return b'"' + re.sub(rb'(["\\])', rb"\\\1", element) + b'"'


# -- parameters


def literal_of(value: bytes | None, oid: int, format_: int) -> exp.Expr:
    """A parameter as a literal; ``oid`` is its type, 0 if the client leaves it open."""
    if value is None:
        return exp.Null()
    type_ = PG_TYPES.get(oid, TEXT)
    if type_.element is not None:
        element = type_.element
        items = _binary_items(value) if format_ else _text_items(_decoded(value))
        return exp.Array(expressions=[literal_of(one, element.oid, format_) for one in items])
    found = _from_binary(value, type_) if format_ else _from_text(_decoded(value), type_)
    if isinstance(found, float) and not isfinite(found):
        raise BadInput("A parameter must be a finite number.")
    if isinstance(found, int | float | Decimal) and not isinstance(found, bool):
        literal: exp.Expr = exp.Literal.number(
            f"{found.copy_abs():f}" if isinstance(found, Decimal) else repr(abs(found))
        )
        return exp.Neg(this=literal) if found < 0 else literal
    return sql.literal(found)


def _decoded(value: bytes) -> str:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        raise BadInput("A parameter is not text in UTF-8.") from None
    if "\0" in text:
        raise BadInput("A parameter has a character that cannot be stored.")
    return text


_TRUE, _FALSE = ("t", "true", "y", "yes", "on", "1"), ("f", "false", "n", "no", "off", "0")
_WHOLE, _NUMBER = re.compile(r"[+-]?[0-9]{1,40}"), re.compile(r"[+-]?([0-9]{1,60}(\.[0-9]{0,60})?|\.[0-9]{1,60})")


def _from_text(text: str, type_: PgType) -> Any:
    plain = text.strip()
    try:
        match type_.name:
            case "int2" | "int4" | "int8" | "oid" if _WHOLE.fullmatch(plain):
                return int(plain)
            case "float4" | "float8":
                return float(plain)
            case "numeric" if _NUMBER.fullmatch(plain):
                return Decimal(plain)
            case "numeric":
                return float(plain)
            case "bool" if plain.lower() in _TRUE + _FALSE:
                return plain.lower() in _TRUE
            case "date":
                return dt.date.fromisoformat(plain)
            case "timestamptz":
                return dt.datetime.fromisoformat(plain)
            case "timestamp":
                at = dt.datetime.fromisoformat(plain)
                return at.astimezone(dt.UTC).replace(tzinfo=None) if at.tzinfo else at
            case "text" | "name" | "varchar" | "unknown":
                return text
    except ValueError:
        pass
    raise BadInput(f"A parameter is not a value of type {type_.name}.")


def _from_binary(value: bytes, type_: PgType) -> Any:
    try:
        match type_.name:
            case "int2" | "int4" | "int8":
                return struct.unpack({2: ">h", 4: ">i", 8: ">q"}[type_.size], value)[0]
            case "oid":
                return struct.unpack(">I", value)[0]
            case "float4" | "float8":
                return struct.unpack(">f" if type_.size == 4 else ">d", value)[0]
            case "bool":
                return struct.unpack(">?", value)[0]
            case "date":
                return _EPOCH.date() + dt.timedelta(days=struct.unpack(">i", value)[0])
            case "timestamp" | "timestamptz":
                at = _EPOCH + dt.timedelta(microseconds=struct.unpack(">q", value)[0])
                return at if type_ is TIMESTAMPTZ else at.replace(tzinfo=None)
            case "numeric":
                return _numeric_from(value)
    except (struct.error, OverflowError):
        raise BadInput(f"A parameter is not a value of type {type_.name}.") from None
    return _decoded(value)


def _numeric_from(value: bytes) -> Decimal:
    count, weight, sign, scale = struct.unpack(">HhHH", value[:8])
    if sign not in (0, 0x4000) or len(value) != 8 + 2 * count or count > 20 or abs(weight) > 20 or scale > 80:
        raise BadInput("A parameter is a number that questions do not support.")
    groups = struct.unpack(f">{count}H", value[8:])
    if any(one >= 10**_DIGITS for one in groups):
        raise BadInput("A parameter is a number that questions do not support.")
    digits = "".join(f"{one:0{_DIGITS}}" for one in groups) or "0"  # put together, not added up: that would be rounded
    return Decimal((int(bool(sign)), tuple(map(int, digits)), _DIGITS * (weight - count + 1) if count else 0))


def _binary_items(value: bytes) -> list[bytes | None]:
    reader = Reader(value)
    try:
        dimensions, _nulls, _element = reader.int32(), reader.int32(), reader.int32()
        if dimensions not in (0, 1):
            raise BadInput("An array must have one dimension.")
        length = reader.int32() if dimensions else 0
        if dimensions:
            reader.int32()
        if not 0 <= length <= MOST_VALUES:
            raise BadInput(f"An array may have at most {MOST_VALUES:,} elements.")
        items: list[bytes | None] = []
        for _ in range(length):
            size = reader.int32()
            items.append(None if size == -1 else reader.take(size))
        reader.end()
    except BadMessage:
        raise BadInput("A parameter is not an array.") from None
    return items


_ITEM = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^",{}\\\s]|\\.)[^",{}\\]*)')


def _text_items(text: str) -> list[bytes | None]:
    plain = text.strip()
    if not (plain.startswith("{") and plain.endswith("}")):
        raise BadInput("A parameter is not an array.")
    inner, place, items = plain[1:-1].strip(), 0, list[bytes | None]()
    while place < len(inner):
        found = _ITEM.match(inner, place)
        if found is None:
            raise BadInput("A parameter is not an array of one dimension.")
        quoted, bare = found.groups()
        if quoted is not None:
            items.append(re.sub(r"\\(.)", r"\1", quoted).encode())
        else:
            items.append(None if bare.strip().lower() == "null" else bare.strip().encode())
        if len(items) > MOST_VALUES:
            raise BadInput(f"An array may have at most {MOST_VALUES:,} elements.")
        place = found.end()
        while place < len(inner) and inner[place].isspace():
            place += 1
        if place < len(inner):
            if inner[place] != "," or place + 1 == len(inner):
                raise BadInput("A parameter is not an array of one dimension.")
            place += 1
            while place < len(inner) and inner[place].isspace():
                place += 1
    return items


def as_formats(formats: Sequence[int], count: int) -> list[int]:
    """The format of each value, where none or one may stand for all."""
    if len(formats) in (0, 1):
        return list(formats or (0,)) * count
    if len(formats) != count:
        raise BadInput("There are not as many formats as columns.")
    return list(formats)
