"""TOML beyond the standard library's reader: on which line a key stands, and writing with comments."""

from __future__ import annotations

import datetime as dt
import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

Path: TypeAlias = tuple[str, ...]
_WIDE = 100
_CLOSES = re.compile(r"""["'\]}]\s*(#.*)?$""")  # how the last line of a statement of several lines ends


def lines_of(text: str) -> dict[Path, int]:
    """The line on which each key of a valid TOML text is first set, by the keys that lead to it.

    A statement ends with the first line at which it parses on its own, so the standard reader decides what
    is a string, a comment or a continued array.
    """
    found: dict[Path, int] = {}
    within: Path = ()
    pending, start = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        pending, start = (f"{pending}\n{line}", start) if pending else (line, number)
        if start < number and not _CLOSES.search(line):
            continue
        try:
            said = tomllib.loads(pending)
        except tomllib.TOMLDecodeError:
            continue
        if pending.lstrip().startswith("["):
            within = max(_paths(said), key=len, default=())
            found.setdefault(within, start)
        for path in _paths(said):
            found.setdefault(path if pending.lstrip().startswith("[") else within + path, start)
        pending = ""
    return found


def _paths(said: Any) -> Iterator[Path]:
    """Every key in a parsed statement; an array of tables counts by its only entry."""
    if isinstance(said, list) and len(said) == 1:
        said = said[0]
    if isinstance(said, dict):
        for key, value in said.items():
            yield (key,)
            yield from ((key, *rest) for rest in _paths(value))


def dump(data: Mapping[str, Any], comments: Mapping[Path, Sequence[str]] | None = None) -> str:
    """``data`` as TOML; the comments of a key stand above it. ``None`` is left out."""
    return "\n".join(_emit(data, (), comments or {})).strip() + "\n"


def _emit(data: Mapping[str, Any], path: Path, comments: Mapping[Path, Sequence[str]]) -> Iterator[str]:
    given = [(key, value) for key, value in data.items() if value is not None]
    last = max((place for place, (_, value) in enumerate(given) if not isinstance(value, Mapping)), default=-1)
    plain, tables = dict(given[: last + 1]), dict(given[last + 1 :])  # tables among values go inline, in order
    if path and (plain or not tables or path in comments):
        yield ""
        yield from _comments(comments.get(path, ()))
        yield f"[{'.'.join(map(_key, path))}]"
    for key, value in plain.items():
        yield from _comments(comments.get((*path, key), ()))
        yield f"{_key(key)} = {_value(value)}"
    for key, value in tables.items():
        yield from _emit(value, (*path, key), comments)


def _comments(said: Sequence[str]) -> Iterator[str]:
    """Comment lines; what a comment quotes cannot end it."""
    return (f"# {''.join(c if c.isprintable() else '�' for c in comment)}" for comment in said)


def _key(key: str) -> str:
    bare = key and all(c.isascii() and (c.isalnum() or c in "-_") for c in key)
    return key if bare else _value(key)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Decimal):
        text = f"{value:f}"
        return text if "." in text else f"{text}.0"
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(k)} = {_value(v)}" for k, v in value.items() if v is not None)
        return f"{{ {inside} }}" if inside else "{}"
    items = [_value(item) for item in value]
    line = f"[{', '.join(items)}]"
    return line if len(line) <= _WIDE else "[\n" + "".join(f"  {item},\n" for item in items) + "]"
