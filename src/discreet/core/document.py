"""What is kept on the disk: exact JSON, format versions, and files that are written as a whole or not at all.

**JSON** is exact both ways, and read back strictly. It knows text, true, false, null, lists, objects and numbers. Other
values a release may hold are written as an object with one key that starts with ``$``: ``{"$fraction": "1/3"}``. Only
the tags below are read, so data never names code; whatever has no tag is refused rather than rounded or turned into
text.

A **format** belongs to one kind of file, folder or database. What is older is brought up to date step by step; what is
newer is refused, since reading it half would be a guess. No step can be left half done:

* a document (release, workspace, survey, reports, journal) is migrated in memory each time it is read and is never
  written over, so what was hashed or sealed stays as it was;
* a database (ledger, service database, register, streams) is migrated when it is opened: all steps and the new number
  in one transaction (``budget/store.py``).

docs/formats.md lists all formats and says how to add a migration.

**Files and folders** are there as a whole or not at all, also after the power has failed; private ones no one but their
owner may read, whatever the umask.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO, Generic, TypeVar, get_args

from discreet._version import __version__
from discreet.errors import BadInput, Damaged, DiscreetError


def _fraction(text: str) -> Fraction:
    numerator, _, denominator = text.partition("/")
    return Fraction(int(numerator), int(denominator or 1))


_WRITE: dict[type, tuple[str, Callable[[Any], str]]] = {
    Fraction: ("$fraction", str),
    Decimal: ("$decimal", str),
    dt.datetime: ("$datetime", dt.datetime.isoformat),
    dt.date: ("$date", dt.date.isoformat),
}
_READ: dict[str, Callable[[str], object]] = {
    "$fraction": _fraction,
    "$decimal": Decimal,
    "$datetime": dt.datetime.fromisoformat,
    "$date": dt.date.fromisoformat,
}
_TUPLE = "$tuple"


def dumps(value: object, *, compact: bool = False) -> str:
    """``value`` as JSON text from which ``loads`` makes an equal value of the same types, or an error.

    ``compact`` is one line, for programs.
    """
    try:
        shape: dict[str, Any] = {"separators": (",", ":")} if compact else {"indent": 2}
        text = json.dumps(_tagged(value, "the value"), ensure_ascii=False, allow_nan=False, **shape)
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("Text with half a surrogate pair cannot be written.") from None
    except (ValueError, RecursionError):  # thousands of digits, a list inside itself
        raise BadInput("The value is too long or too deep to be written as JSON.") from None
    return text + "\n"


def loads(text: str) -> Any:
    """The value ``dumps`` wrote."""
    try:
        return json.loads(text, object_pairs_hook=_untagged, parse_constant=_no_constant)
    except (ValueError, ZeroDivisionError, InvalidOperation, RecursionError) as error:
        raise BadInput(f"This is not JSON that discreet wrote: {error}.") from None


def fields(data: object, what: str, **kinds: type | UnionType) -> dict[str, Any]:
    """The fields of a JSON object that must have exactly these, each of its kind."""
    if not isinstance(data, Mapping):
        raise BadInput(f"{what} must be an object with {', '.join(kinds)}.")
    if wrong := set(data) ^ set(kinds):
        name = min(wrong)
        raise BadInput(f"{what} has {'an unknown' if name in data else 'no'} field {name!r}.")
    for name, kind in kinds.items():
        value = data[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and bool not in (kind, *get_args(kind))):
            raise BadInput(f"{what}: {name} has the wrong type; expected {_called(kind)}.")
    return dict(data)


def texts(data: list[object], what: str) -> tuple[str, ...]:
    """A JSON list of texts."""
    if not all(isinstance(item, str) for item in data):
        raise BadInput(f"{what} must be a list of texts.")
    return tuple(str(item) for item in data)


def _tagged(value: object, where: str) -> object:
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if isinstance(value, float) and kind is float and math.isfinite(value):
        return value
    if kind in _WRITE and not _says_more(value):
        tag, write = _WRITE[kind]
        return {tag: write(value)}
    if isinstance(value, list | tuple) and kind in (list, tuple):
        items = [_tagged(item, f"{where}[{index}]") for index, item in enumerate(value)]
        return items if kind is list else {_TUPLE: items}
    if isinstance(value, dict) and kind is dict:
        for key in value:
            if type(key) is not str or key.startswith("$"):
                raise BadInput(f"{where} has the key {key!r}; keys must be text and not start with $.")
        return {key: _tagged(item, f"{where}[{key!r}]") for key, item in value.items()}
    shown = f"the number {value}" if kind is float else f"a {kind.__module__}.{kind.__qualname__}"
    raise BadInput(
        f"{where} is {shown}, which cannot be written exactly.",
        hint="Use text, int, float, bool, None, Decimal, Fraction, date, datetime (with an offset, not a "
        "named zone), or lists, tuples and dicts of these.",
    )


def _untagged(pairs: list[tuple[str, Any]]) -> object:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key occurs twice")
    if not any(key.startswith("$") for key in made):
        return made
    [(tag, item), *others] = pairs
    if tag == _TUPLE and isinstance(item, list) and not others:
        return tuple(item)
    if tag in _READ and isinstance(item, str) and not others:
        return _READ[tag](item)
    raise ValueError(f"{tag!r} is an unknown or misused tag")


def _says_more(value: object) -> bool:
    """Whether a time is more than its text would say: a zone by name, the second of two equal hours."""
    if not isinstance(value, dt.datetime):
        return False
    return value.fold == 1 or not (value.tzinfo is None or type(value.tzinfo) is dt.timezone)


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is not a number")


def _called(kind: type | UnionType) -> str:
    return str(kind) if isinstance(kind, UnionType) else kind.__name__


# -- format versions

T = TypeVar("T")


@dataclass(frozen=True)
class Migration(Generic[T]):
    """The step from one version to the next."""

    discreet: str
    """The first release of discreet that writes the version it leads to."""
    step: Callable[[T], None]
    """Changes a document, or the database of a session, in place."""


@dataclass(frozen=True)
class Format(Generic[T]):
    """A format with its history."""

    name: str
    """What it is the format of, in messages."""
    migrations: Mapping[int, Migration[T]] = field(default_factory=dict)
    """By the version that each leads to: 2, 3, …"""
    unmarked: bool = False
    """Whether a document without a number has version 1: so it was written before there were numbers."""
    error: type[DiscreetError] = BadInput
    """What is raised if a version is too new."""

    def __post_init__(self) -> None:
        if list(self.migrations) != list(range(2, self.version + 1)):
            raise ValueError(f"The migrations of the format {self.name!r} are not numbered 2, 3, … without a gap.")

    @property
    def version(self) -> int:
        """The version that is written now."""
        return 1 + len(self.migrations)

    @property
    def needs(self) -> str:
        """The first release of discreet that reads this version; empty for the first version, which all read."""
        return self.migrations[self.version].discreet if self.migrations else ""

    def mark(self) -> dict[str, Any]:
        """The fields by which a document says its version and, after the first, which discreet it needs."""
        return {"format": self.version} | ({"discreet": self.needs} if self.needs else {})

    def read(self, document: Mapping[str, Any], place: object) -> dict[str, Any]:
        """A document that carries its own mark: without it, and up to date."""
        said: Any = dict(document)
        stored = said.pop("format", 1 if self.unmarked else None)
        needs = said.pop("discreet", "") if stored != 1 else ""
        self.migrate(said, stored, place, needs)
        return dict(said)

    def migrate(self, value: T, stored: object, place: object, needs: object = "") -> None:
        """Bring a value from its stored version to the current one, each step once and in order.

        ``needs`` is the discreet that is known to read it, in case this one does not.
        """
        if type(stored) is not int or stored < 1:
            raise Damaged(f"The {self.name} {place} does not state its format.", hint="Restore it from a backup.")
        if stored > self.version:
            known = isinstance(needs, str) and re.fullmatch(
                r"[0-9]+(\.[0-9a-z]+)*", needs
            )  # others may have written it
            raise self.error(
                f"The {self.name} {place} has format {stored}; discreet {__version__} reads formats up to "
                f"{self.version}.",
                hint=f"Install discreet {needs} or later." if known else "Install a later version of discreet.",
            )
        for number in range(stored + 1, self.version + 1):
            self.migrations[number].step(value)


# -- files and folders

FOLDER, FILE = 0o700, 0o600
"""Permissions of what only its owner may read."""


def write(path: Path, data: bytes | memoryview, *, private: bool = False) -> None:
    """A new file, all of which is on the disk; its name is not yet."""
    with open(path, "xb", buffering=0, opener=owned if private else None) as file:
        left = memoryview(data)
        while left:
            left = left[file.write(left) :]
        os.fsync(file.fileno())


def settle(made: Path, place: Path) -> None:
    """Move ``made`` to ``place``, which must be free, once all of it is on the disk, for its owner alone."""
    make_private(made)
    for path in made.rglob("*"):
        _flush(path)
    give_name(made, place)


def give_name(made: Path, place: Path) -> None:
    """Move the folder ``made``, the files of which are on the disk already, to ``place``, which must be free."""
    _flush(made)
    made.rename(place)
    flush_name(place)


def private_folder(place: Path) -> None:
    """Make a folder, and those above it that are missing, which no one but its owner may enter."""
    for folder in reversed([place, *place.parents]):
        if not folder.exists():
            folder.mkdir(mode=FOLDER, exist_ok=True)


def make_private(place: Path) -> None:
    """Let no one but the owner of a file, or of a folder and all in it, read it."""
    for path in (place, *place.rglob("*")):
        if not path.is_symlink():
            path.chmod(FOLDER if path.is_dir() else FILE)


def readable_by_others(folder: Path) -> list[Path]:
    """What in ``folder`` someone other than its owner may read or write: nothing, if no one else may enter it."""
    if not folder.stat().st_mode & 0o077:
        return []
    return [path for path in (folder, *folder.rglob("*")) if not path.is_symlink() and path.stat().st_mode & 0o077]


def owned(path: str, flags: int) -> int:
    """For ``open``: a file that only its owner may read, from its first byte on, also if it was there before."""
    handle = os.open(path, flags, FILE)
    if flags & (os.O_WRONLY | os.O_RDWR):
        os.fchmod(handle, FILE)
    return handle


@contextmanager
def open_private(place: Path) -> Iterator[BinaryIO]:
    """A new file that its owner alone may read, on the disk when the block ends; an error if there is one already."""
    with open(place, "xb", opener=owned) as file:
        yield file
        file.flush()
        os.fsync(file.fileno())


def flush_name(place: Path) -> None:
    """See to it that ``place`` will still have its name."""
    _flush(place.parent)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
