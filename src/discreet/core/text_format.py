"""How a file is laid out and how its values are written, as a card declares it: marks for missing values, formats of
dates, decimal commas, codes with labels, encoding and header.

Every field is declared once, below: cards, their schema and the docs read the declaration. ``None`` is "not declared";
what a column does not declare is what its table declares, and then the default named in the sentence.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from discreet.core.kind import MOMENTS, NUMBERS, Kind

_TEXTS = {"type": "array", "items": {"type": "string"}, "minItems": 1}
_TEXT = {"type": "string"}
DIRECTIVES = {
    "%Y": "[0-9]{4}",
    "%y": "[0-9]{2}",
    "%m": "[0-9]{1,2}",
    "%d": "[0-9]{1,2}",
    "%b": "[A-Za-z]{3}",
    "%H": "[0-9]{1,2}",
    "%I": "[0-9]{1,2}",
    "%p": "[AaPp][Mm]",
    "%M": "[0-9]{2}",
    "%S": "[0-9]{2}",
    "%f": "[0-9]{1,6}",
}
"""Parts of a date format, as in C's strptime, with their patterns: %y is 1970 to 2069, %b an English month (Jan)."""
MISFITS = ("error", "missing")
"""What may happen to values that do not fit: an error that lists them, or they count as missing."""


def _declared(sentence: str, schema: dict[str, Any], *types: type) -> Any:
    return field(default=None, metadata={"sentence": sentence, "schema": schema, "types": types})


@dataclass(frozen=True)
class TextFormat:
    """How the values of a column (or, by default, of all columns of a table) are written where they are text."""

    missing: tuple[str, ...] | None = _declared(
        'Texts that mean a missing value, such as ["?", "NA"]; an empty text always is one.', _TEXTS, list
    )
    format: tuple[str, ...] | str | None = _declared(
        'Formats of dates and times, tried in order, such as ["%d.%m.%Y", "%Y-%m-%d"]; default: ISO 8601.',
        {"type": ["string", "array"]},
        str,
        list,
    )
    decimal: str | None = _declared("Decimal mark of numbers: a point (the default) or a comma.", _TEXT, str)
    thousands: str | None = _declared("Mark between groups of three digits: none by default.", _TEXT, str)
    true: tuple[str, ...] | None = _declared("Words for true; default: true, t, yes, 1.", _TEXTS, list)
    false: tuple[str, ...] | None = _declared("Words for false; default: false, f, no, 0.", _TEXTS, list)
    trim: bool | None = _declared(
        "Whether spaces around a value are ignored; default: false.", {"type": "boolean"}, bool
    )
    labels: Mapping[str, str] | None = _declared(
        'Labels of codes, such as { 1 = "male", 2 = "female" }: the column is text and holds the labels.',
        {"type": "object", "additionalProperties": _TEXT},
        dict,
    )
    misfit: str | None = _declared(
        'Treatment of invalid values: "error" (the default), or "missing": they are counted and dropped.',
        {"enum": [*MISFITS]},
        str,
    )

    def __post_init__(self) -> None:
        _freeze(self)

    @property
    def formats(self) -> tuple[str, ...]:
        """Formats of dates and times."""
        return (self.format,) if isinstance(self.format, str) else self.format or ()

    def __hash__(self) -> int:
        return hash((self.missing, self.format, self.misfit, tuple((self.labels or {}).items())))

    def over(self, table: TextFormat) -> TextFormat:
        """This format, with what it does not declare taken from the table's."""
        return replace(table, **declared(self))

    def problems(self, kind: Kind | None) -> Iterable[tuple[str, str]]:
        """What contradicts itself, as field and sentence; ``kind`` is the column's, ``None`` for a table's defaults."""
        for name in ("missing", "true", "false"):
            values = getattr(self, name) or ()
            if any(not isinstance(one, str) for one in values):
                yield name, "must be a list of texts"
        if self.misfit is not None and self.misfit not in MISFITS:
            yield "misfit", f"is one of {', '.join(MISFITS)}, not {self.misfit!r}"
        if self.decimal is not None and self.decimal not in (".", ","):
            yield "decimal", f"is a point or a comma, not {self.decimal!r}"
        if self.thousands is not None and self.thousands not in (".", ",", " ", "'", "\N{NO-BREAK SPACE}", "_"):
            yield "thousands", f"is a point, comma, space, apostrophe or underscore, not {self.thousands!r}"
        if self.thousands is not None and self.thousands == (self.decimal or "."):
            yield "thousands", "is the same as the decimal mark"
        for text in self.formats:
            if wrong := _wrong_format(text):
                yield "format", wrong
        if {one.casefold() for one in self.true or ()} & {one.casefold() for one in self.false or ()}:
            yield "true", "a word must be true or false, not both"
        if self.labels is not None and any(not isinstance(one, str) for one in self.labels.values()):
            yield "labels", "every code has a text as its label"
        if kind is None:
            if self.labels is not None:
                yield "labels", "belong to a column"
            return
        needs = {"format": MOMENTS, "decimal": NUMBERS, "thousands": NUMBERS}
        needs |= {
            "true": frozenset({Kind.BOOLEAN}),
            "false": frozenset({Kind.BOOLEAN}),
            "labels": frozenset({Kind.TEXT}),
        }
        for name, kinds in needs.items():
            if getattr(self, name) is not None and kind not in kinds:
                allowed = " or ".join(one.value for one in Kind if one in kinds)
                yield name, f"is for {allowed} columns; this one is {kind.value}"


@dataclass(frozen=True)
class FileLayout:
    """Where rows and columns are in a file."""

    encoding: str | None = _declared("Encoding of a text file, such as windows-1252; default: UTF-8.", _TEXT, str)
    delimiter: str | None = _declared("Delimiter of fields; default: detected from the header.", _TEXT, str)
    quote: str | None = _declared('Quotation mark around fields; default: ". Empty: none.', _TEXT, str)
    header: int | None = _declared(
        "Line (or row of a sheet) with the column names; lines above it are skipped. Default: 1. 0: no "
        "header; the columns are the card's, in order.",
        {"type": "integer", "minimum": 0},
        int,
    )
    skip: int | None = _declared(
        "Rows to skip below the header, such as one with units.", {"type": "integer", "minimum": 0}, int
    )
    sheet: str | None = _declared("Sheet of a workbook; default: the only one.", _TEXT, str)
    widths: tuple[int, ...] | None = _declared(
        "Characters of each column of a fixed-width file.",
        {"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1},
        list,
    )

    def __post_init__(self) -> None:
        _freeze(self)

    def problems(self) -> Iterable[tuple[str, str]]:
        """What cannot be, as field and sentence."""
        if self.encoding is not None and not _is_encoding(self.encoding):
            yield "encoding", f"{self.encoding!r} is not a known encoding"
        for name in ("delimiter", "quote"):
            text = getattr(self, name)
            if text is not None and (len(text) > 1 or text in ("\r", "\n")):
                yield name, f"is one character, not {text!r}"
        if self.delimiter == "":
            yield "delimiter", "is one character; for a fixed-width file declare widths"
        for name in ("header", "skip"):
            count = getattr(self, name)
            if count is not None and count < 0:
                yield name, f"cannot be negative, got {count}"
        if self.widths is not None and any(
            isinstance(one, bool) or not isinstance(one, int) or one < 1 for one in self.widths
        ):
            yield "widths", "are whole numbers from 1 on"
        if self.widths is not None and self.delimiter is not None:
            yield "widths", "a file has fields of fixed widths or a delimiter, not both"


_Declared = TypeVar("_Declared", TextFormat, FileLayout)


def declared(one: TextFormat | FileLayout) -> dict[str, Any]:
    """The fields that are declared."""
    return {part.name: value for part in fields(one) if (value := getattr(one, part.name)) is not None}


def toml_types(kind: type[TextFormat | FileLayout]) -> dict[str, tuple[type, ...]]:
    """The types that TOML gives for each field."""
    return {part.name: part.metadata["types"] for part in fields(kind)}


def json_schema(kind: type[TextFormat | FileLayout]) -> dict[str, dict[str, Any]]:
    """The JSON schema of each field, with its sentence."""
    return {part.name: {**part.metadata["schema"], "description": part.metadata["sentence"]} for part in fields(kind)}


def chosen(kind: type[_Declared], said: Mapping[str, Any]) -> _Declared:
    """What a table of TOML says of a format or layout; its other fields do not count."""
    return kind(**{part.name: said[part.name] for part in fields(kind) if part.name in said})


def parts_of(text: str) -> list[str]:
    """The directives and literal characters of a date format."""
    return re.findall(r"%.|[^%]|%$", text, re.DOTALL)


def _is_encoding(name: str) -> bool:
    """Whether it is one of characters. Python knows others under such names too: of programs, of hosts, packed ones."""
    try:
        found = codecs.lookup(name)
        return found._is_text_encoding and not re.search("escape|idna|punycode|undefined", found.name)
    except (LookupError, ValueError):
        return False


def _wrong_format(text: Any) -> str:
    if not isinstance(text, str):
        return f"is a text such as %d.%m.%Y, not {text!r}"
    used = [part for part in parts_of(text) if part.startswith("%")]
    unknown = [part for part in used if part not in DIRECTIVES]
    if unknown:
        return f"{text!r}: {unknown[0]!r} is not known; known are {' '.join(DIRECTIVES)}"
    if len(set(used)) < len(used):
        return f"{text!r} has a part twice"
    day = {"%m" in used or "%b" in used, "%d" in used, "%Y" in used or "%y" in used}
    if day != {True} or ("%Y" in used and "%y" in used) or ("%m" in used and "%b" in used):
        return f"{text!r} needs a year, a month and a day, each once"
    if ("%I" in used) != ("%p" in used) or ("%H" in used and "%I" in used):
        return f"{text!r}: %I goes with %p, and not with %H"
    return ""


def _freeze(one: TextFormat | FileLayout) -> None:
    for part in fields(one):
        value = getattr(one, part.name)
        if isinstance(value, list):
            object.__setattr__(one, part.name, tuple(value))
        elif isinstance(value, Mapping):
            object.__setattr__(one, part.name, {str(code): label for code, label in value.items()})
