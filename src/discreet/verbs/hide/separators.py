"""Detection of the separator between the items of a text file; a file in which it is ambiguous is refused.

The name of a file says what is usual: commas in ``.csv``, tabs in ``.tsv``, blanks in any other. What is in it counts:
an item that is read in another way than it was written would not be hidden.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from discreet.errors import DataError

USUAL = {".csv": ",", ".tsv": "\t"}
_SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_QUOTED = re.compile(r'"[^"]*"')


def baskets_in(path: Path, between: str | None) -> Iterator[list[str]]:
    """The items of each transaction of a text, as it is read; ``between`` them is a separator, or blanks."""
    with _text(path) as file:
        lines: Iterable[list[str]]
        lines = (line.split() for line in file) if between is None else _split(file, between)
        for line in lines:
            yield [item for part in line if (item := part.strip())]


def _split(lines: Iterable[str], between: str) -> Iterator[list[str]]:
    """The parts of each line. A blank may stand before a part in quotes: bread, "wine, red"."""
    return csv.reader(lines, delimiter=between, skipinitialspace=True)


@contextmanager
def _text(path: Path) -> Iterator[TextIO]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            yield file
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path.name} is not text with a transaction a line: {error}.") from error


@dataclass
class _Written:
    """What stands in a text outside of quotes."""

    separators: set[str] = field(default_factory=set)
    quotes: bool = False
    blanks: bool = False
    """Whether there are blanks within a line, but for those beside a separator."""
    tight: bool = False
    """Whether there is a separator without a blank beside it."""

    @classmethod
    def of(cls, lines: Iterable[str]) -> _Written:
        seen = cls()
        for line in lines:
            bare = _QUOTED.sub("x", line).strip(" \r\n")
            seen.quotes |= '"' in line
            seen.separators.update(one for one in _SEPARATORS if one in bare)
            if not seen.blanks and " " in bare:
                seen.blanks = bool(re.search(r"[^,;|\t ] +[^,;|\t ]", bare))
            if not seen.tight:
                seen.tight = bool(re.search(r"(?<! )[,;|](?! |$)", bare))
        return seen


def separator_of(path: Path) -> str | None:
    """What stands between the items of a text; ``None``: blanks. An error where it cannot be told."""
    with _text(path) as file:
        seen = _Written.of(file)
    own = USUAL.get(path.suffix.lower())
    if own in seen.separators and not (own == "," and ";" in seen.separators):
        return own
    if len(seen.separators) > 1:
        listed = " and ".join(name for one, name in _SEPARATORS.items() if one in seen.separators)
        raise _unclear(path, f"has {listed}, and any of them may stand between items")
    if own is not None:
        if not seen.separators and seen.blanks:
            raise _unclear(path, "has blanks and nothing else between words, so a line may be one item or several")
        return next(iter(seen.separators), own)
    if seen.blanks and (seen.tight or "\t" in seen.separators):
        listed = next(name for one, name in _SEPARATORS.items() if one in seen.separators)
        raise _unclear(path, f"has {listed} and blanks, and either may stand between items")
    if seen.quotes and not seen.separators:
        raise _unclear(path, "has quotes and blanks")
    return next(iter(seen.separators - {"\t"}), None)


def _unclear(path: Path, why: str) -> DataError:
    return DataError(
        f"Which items are in {path.name} cannot be told: it {why}.",
        hint="Write it as .csv, with commas between items and items that hold anything else in double quotes.",
    )


def several(item: str) -> bool:
    """Whether an item could be taken for several, or for none, in a text without quotes."""
    return len(item.split()) != 1 or '"' in item or any(one in item for one in _SEPARATORS)
