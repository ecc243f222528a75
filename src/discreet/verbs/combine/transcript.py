"""Messages as people read them: who said what to whom, in words, whether they went over a wire or through memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.core.markup import Markup, markup, more, table
from discreet.core.text import number
from discreet.verbs.combine.bus import Message

_SHOWN = 4
"""So many elements of a vector, and so many bytes of a text of bytes, are written out."""
_LONGEST = 48
_LISTED = 500


@dataclass(frozen=True)
class Said:
    """A message: the ``number``-th that was seen, of one party to some."""

    number: int
    of: str
    to: tuple[str, ...]
    kind: str
    what: str
    """What it holds, in words."""
    sealed: bool = False
    """Whether nobody but the one it is for can read it."""
    short: str = ""
    """The one number it holds, if it holds one and nothing else."""

    def __post_init__(self) -> None:
        for name in ("of", "kind", "what", "short"):  # others wrote these
            object.__setattr__(self, name, printable(getattr(self, name)))

    def __str__(self) -> str:
        way = "to" if self.sealed or len(self.to) == 1 else "tells"
        return f"{self.number}. {self.of} {way} {', '.join(self.to)}: {self.kind}: {self.what}"


def printable(text: str) -> str:
    """A text of somebody else's, with nothing in it that a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def said(messages: Iterable[Message]) -> tuple[Said, ...]:
    """Messages of a session in one process, in words."""
    return tuple(
        Said(one.number, one.of, one.to, one.kind, held(one.body), one.sealed, single(one.body)) for one in messages
    )


def held(body: Mapping[str, Any]) -> str:
    """What a message's body holds, in words and not too long."""
    parts = []
    for name, part in body.items():
        found = _part(part)
        parts.append(found if len(body) == 1 else f"{name}: {found}")
    return "; ".join(parts) or "nothing"


def single(body: Mapping[str, Any]) -> str:
    """The number that a body holds, if it holds one number and nothing else; else nothing."""
    parts = list(body.values())
    if len(parts) == 1 and _elements(parts[0]) is not None and len(parts[0]) == 1:
        return f"{int(parts[0][0]):,}"
    return ""


def listed(lines: Iterable[Said]) -> Markup:
    """Messages as an HTML table, in their order."""
    every = list(lines)
    rows = (
        (one.number, one.of, f"{', '.join(one.to)}{' (sealed)' if one.sealed else ''}", one.kind, one.what)
        for one in every[:_LISTED]
    )
    return markup(table(("", "from", "to", "kind", "what it holds"), rows, class_="dcl"), more(len(every), _LISTED))


def _part(part: Any) -> str:
    if isinstance(part, bytes):
        return f"{number(len(part), 'byte')} {part[:_SHOWN].hex()}{'…' if len(part) > _SHOWN else ''}"
    if isinstance(part, str):
        shown = printable(part[: _LONGEST + 1])
        return shown if len(part) <= _LONGEST else shown[: _LONGEST - 1] + "…"
    elements = _elements(part)
    if elements is not None:
        some = ", ".join(f"{int(one):,}" for one in elements[:_SHOWN])
        return some if len(elements) <= _SHOWN else f"{len(elements):,} numbers: {some}, …"
    if isinstance(part, tuple | list):
        return ", ".join(_part(one) for one in part) or "nobody"
    return str(part)


def _elements(part: Any) -> Any:
    """The elements of a vector; nothing if it is none."""
    return part if hasattr(part, "dtype") and getattr(part, "ndim", 0) == 1 else None
