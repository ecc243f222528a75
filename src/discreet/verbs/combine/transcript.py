"""Transcript entries: messages of a session as people read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.core.markup import Markup, markup, more, table
from discreet.core.text import number
from discreet.verbs.combine.bus import Message

_SHOWN_ELEMENTS = 4
"""Number of elements of a vector, or bytes, that are written out."""
_MAX_LETTERS = 48
_MAX_ROWS = 500


@dataclass(frozen=True)
class TranscriptEntry:
    """The ``number``-th message that was seen, from one party to others."""

    number: int
    of: str
    to: tuple[str, ...]
    kind: str
    what: str
    """Its contents, in words."""
    sealed: bool = False
    """Whether only its receiver can read it."""
    short: str = ""
    """Its number, if it holds one number and nothing else."""

    def __post_init__(self) -> None:
        for name in ("of", "kind", "what", "short"):  # others wrote these
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        way = "to" if self.sealed or len(self.to) == 1 else "tells"
        return f"{self.number}. {self.of} {way} {', '.join(self.to)}: {self.kind}: {self.what}"


def printable(text: str) -> str:
    """Another party's text without control characters for the terminal."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def transcript_entries(messages: Iterable[Message]) -> tuple[TranscriptEntry, ...]:
    """Entries for the messages of a session in one process."""
    return tuple(
        TranscriptEntry(
            one.number, one.of, one.to, one.kind, describe_body(one.body), one.sealed, single_number(one.body)
        )
        for one in messages
    )


def describe_body(body: Mapping[str, Any]) -> str:
    """Contents of a message in a few words."""
    parts = []
    for name, part in body.items():
        words = _part(part)
        parts.append(words if len(body) == 1 else f"{name}: {words}")
    return "; ".join(parts) or "nothing"


def single_number(body: Mapping[str, Any]) -> str:
    """Number in a body that holds one number and nothing else; otherwise empty."""
    parts = list(body.values())
    if len(parts) == 1 and _elements(parts[0]) is not None and len(parts[0]) == 1:
        return f"{int(parts[0][0]):,}"
    return ""


def entries_table(lines: Iterable[TranscriptEntry]) -> Markup:
    """Entries as an HTML table, in their order."""
    every = list(lines)
    rows = (
        (one.number, one.of, f"{', '.join(one.to)}{' (sealed)' if one.sealed else ''}", one.kind, one.what)
        for one in every[:_MAX_ROWS]
    )
    return markup(table(("", "from", "to", "kind", "contents"), rows, class_="dcl"), more(len(every), _MAX_ROWS))


def _part(part: Any) -> str:
    if isinstance(part, bytes):
        return f"{number(len(part), 'byte')} {part[:_SHOWN_ELEMENTS].hex()}{'…' if len(part) > _SHOWN_ELEMENTS else ''}"
    if isinstance(part, str):
        shown = printable(part[: _MAX_LETTERS + 1])
        return shown if len(part) <= _MAX_LETTERS else shown[: _MAX_LETTERS - 1] + "…"
    elements = _elements(part)
    if elements is not None:
        some = ", ".join(f"{int(one):,}" for one in elements[:_SHOWN_ELEMENTS])
        return some if len(elements) <= _SHOWN_ELEMENTS else f"{len(elements):,} numbers: {some}, …"
    if isinstance(part, tuple | list):
        return ", ".join(_part(one) for one in part) or "no one"
    return str(part)


def _elements(part: Any) -> Any:
    """Elements of a vector; None for anything else."""
    return part if hasattr(part, "dtype") and getattr(part, "ndim", 0) == 1 else None
