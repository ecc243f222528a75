"""A declared parameter: its type and range, how its values are written, checked and described."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, dataclass, replace
from enum import Enum
from fractions import Fraction
from functools import cached_property
from numbers import Integral, Real
from sys import float_info
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, Union, get_args, get_origin

from discreet.core.exact import exact
from discreet.core.text import meant
from discreet.errors import BadInput

if TYPE_CHECKING:
    from discreet.core.card import Card

Readers = Mapping[Any, Callable[[str], Any]]
"""How texts of types are read that the catalogue does not know, such as the file of a population."""
_NUMBERS = (int, float, Fraction)
_THOUSANDS = re.compile(r"\d{1,3}(,\d{3})+")


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method, as its class declares it."""

    name: str
    sentence: str
    """What it means."""
    type: Any
    default: Any = MISSING
    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None
    choices: Sequence[str] = ()
    """The words that it may be, if its type does not say so."""
    clause: str = ""
    """The word it stands behind, such as ``on`` in ``on age, income``."""
    column: str = ""
    """``any``: it names columns of the card; ``sensitive``: the only sensitive one, if nothing is said."""
    percent: bool = False
    """Whether its number is per cent: 10 and 10% are the same."""
    family: Any = None
    """The family that its text names a member of."""
    python: bool = False
    """Whether it can be given in Python only."""
    spoken: bool = False
    """Whether a text must give it although Python has a default."""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is MISSING

    @property
    def word(self) -> str:
        """Its name as people write it."""
        return self.clause or self.name.replace("_", "-")

    @property
    def words(self) -> tuple[str, ...]:
        """The words it may be; none: it is something else."""
        found = [str(one) for kind in self._kinds if get_origin(kind) is Literal for one in get_args(kind)]
        for kind in self._kinds:
            if isinstance(kind, type) and issubclass(kind, Enum):
                found += [str(one.value) for one in kind]
        return tuple(self.choices) or tuple(found)

    @property
    def is_flag(self) -> bool:
        """Whether its name alone sets it."""
        return bool in self._kinds

    @property
    def is_long(self) -> bool:
        """Whether its text may have spaces."""
        return bool(self.clause or self.column) or not ({*self._kinds} & {*_NUMBERS, str} or self.words)

    @property
    def names_columns(self) -> bool:
        """Whether its value is a column, or several."""
        return bool(self.clause or self.column)

    @property
    def names_several(self) -> bool:
        """Whether its value may be several columns."""
        return self.names_columns and self._listed

    @property
    def placeholder(self) -> str:
        """What stands for its value where usage is explained."""
        if self.is_flag:
            return "true" if self.default is True else self.word
        if self.words:
            return " or ".join(self.words)
        if self.names_columns:
            return "COLUMNS" if self._listed else "COLUMN"
        if self.family is not None:
            return " or ".join(self.family.names())
        if self._each is not None and not _direct(self.type):
            return "COLUMN:NUMBER"
        if self.is_long:
            return "FILE"
        return "NUMBER" if {*self._kinds} & {*_NUMBERS} else "TEXT"

    @property
    def usage(self) -> str:
        """How it is written; empty if it can be given in Python only."""
        if self.python:
            return ""
        if self.clause:
            return f"{self.clause} {self.placeholder}"
        if self.is_flag and self.default is not True:
            return self.word
        shown = self.default if isinstance(self.default, int | float | Fraction) and not self.words else None
        value = str(shown).lower() if shown is not None else self.placeholder
        return f"{self.word}={value}"

    @property
    def described(self) -> str:
        """Which values it takes, in words."""
        if self.words:
            return _either(self.words)
        if self.names_columns:
            return "columns, with commas between them" if self._listed else "a column"
        if self.is_flag:
            return "yes or no (true or false)"
        if self.family is not None:
            return f"a {self.family.noun}"
        if not {*self._kinds} & {*_NUMBERS}:
            return "a word" if str in self._kinds else "a list" if self._listed else "a file"
        found = ("a whole number" if int in self._kinds and not self._broken else "a number") + self._range
        return f"{found}, or one for each column" if self._each else found

    def check(self, value: Any) -> Any:
        """The value as its type; an error if it is of another one, or out of range."""
        if value is None and NoneType in self._kinds:
            return value
        if self.words:
            return self._chosen(value)
        kinds = {*self._kinds}
        if self.family is not None or range in kinds:
            return value
        if isinstance(value, Mapping) and self._each:
            each = {name: replace(self, name=f"{self.name} of {name}", type=self._each) for name in value}
            return {name: each[name].check(one) for name, one in value.items()}
        if Fraction in kinds:
            found = exact(value, self.name)
            self._within(found, value)
            return found
        if kinds & {int, float}:
            if len(kinds - {int, float, NoneType}) and not isinstance(value, Real):
                return value
            number = Real if float in kinds else Integral
            if isinstance(value, bool) or not isinstance(value, number) or not _is_finite(value):
                raise self._wrong(value)
            self._within(value, value)
            return int(value) if isinstance(value, Integral) else value
        wanted = bool if bool in kinds else str if kinds == {str} else object
        if not isinstance(value, wanted):
            raise self._wrong(value)
        return value

    def read(self, text: str | None, card: Card | None, readers: Readers) -> Any:
        """The value that a text says; ``ValueError`` if it says none."""
        if self.is_flag and (text is None or text.lower() in ("true", "false")):
            return text is None or text.lower() == "true"
        if text is None or self.is_flag:
            raise ValueError(text)
        if self.family is not None:
            return self.family.parse(text, card)
        for kind in self._kinds:
            if kind in readers:
                return readers[kind](text)
        if self.words:
            return next((one for one in self.words if one.lower() == text.lower()), text)
        if self.clause or self.column:
            names = tuple(_column(one, card) for one in text.split(","))
            return names if self._listed else _column(text, card)
        numbers = [kind for kind in _NUMBERS if kind in self._kinds]
        text = text.removesuffix("%") if self.percent else text
        if numbers and ":" not in text:
            if self._listed and "," in text:
                return tuple(_number(one, numbers) for one in text.split(","))
            if str not in self._kinds or Fraction in numbers:
                return _number(text, numbers)
        if self._each is not None and ":" in text:
            pairs = [one.rpartition(":") for one in text.split(",")]
            return {_column(name, card): _level(value, _members(self._each)) for name, _, value in pairs}
        if str not in self._kinds:
            raise ValueError(text)
        return text.strip("\"'")

    def schema(self) -> dict[str, Any]:
        """JSON schema of its values."""
        about: dict[str, Any] = {"description": f"{self.sentence} {self.described.capitalize()}."}
        kinds = {*self._kinds}
        if self.words:
            about["enum"] = [*self.words, *([None] if NoneType in kinds else [])]
        elif self.clause or self.column:
            about |= {"type": "array", "items": {"type": "string"}} if self._listed else {"type": "string"}
        elif bool in kinds:
            about["type"] = "boolean"
        elif kinds & {*_NUMBERS}:
            about["type"] = "integer" if int in kinds and not self._broken else "number"
            limits = {"minimum": self.least, "maximum": self.most}
            limits |= {"exclusiveMinimum": self.above, "exclusiveMaximum": self.below}
            about |= {name: limit for name, limit in limits.items() if limit is not None}
            if self._each:
                about = {"description": about.pop("description"), "anyOf": [about, {"type": "object"}]}
        else:
            about["type"] = "string"
        if isinstance(self.default, str | int | float | bool):
            about["default"] = self.default
        return about

    @cached_property
    def _kinds(self) -> tuple[Any, ...]:
        """The types that its value may have; where it may have one for each column, those of one for all, too."""
        kinds = _members(self.type)
        return tuple(kinds + [one for kind in kinds if _is(kind, Mapping) for one in _members(get_args(kind)[1])])

    @property
    def _broken(self) -> bool:
        return bool({*self._kinds} & {float, Fraction})

    @property
    def _listed(self) -> bool:
        return any(_is(kind, Sequence) for kind in self._kinds)

    @property
    def _each(self) -> Any:
        """The type of each column's value, where it may have one for each."""
        return next((get_args(kind)[1] for kind in self._kinds if _is(kind, Mapping)), None)

    @property
    def _range(self) -> str:
        low, high = self.least, self.most
        if self.above is not None:
            end = "" if high is None else f" and at most {high:,}"
            return f" above {self.above:,}{end if self.below is None else f' and below {self.below:,}'}"
        if low is not None and self.below is not None:
            return f" from {low:,} to below {self.below:,}"
        if low is not None and high is not None:
            return f" between {low:,} and {high:,}"
        return f", at least {low:,}" if low is not None else f", at most {high:,}" if high is not None else ""

    def _within(self, found: Any, value: Any) -> None:
        low = (self.least is None or found >= self.least) and (self.above is None or found > self.above)
        if not (low and (self.most is None or found <= self.most) and (self.below is None or found < self.below)):
            raise self._wrong(value)

    def _chosen(self, value: Any) -> Any:
        for kind in self._kinds:
            is_enum = isinstance(kind, type) and issubclass(kind, Enum)
            if is_enum and (isinstance(value, kind) or value in [one.value for one in kind]):
                return kind(value)
        if not isinstance(value, str) or value not in self.words:
            raise self._wrong(value)
        return value

    def _wrong(self, value: Any) -> BadInput:
        shown = value if isinstance(value, Fraction) else repr(value)
        near = meant(value, self.words) if isinstance(value, str) else ""
        return BadInput(f"{self.name if self.clause else self.word} must be {self.described}, got {shown}{near}.")


def _members(kind: Any) -> list[Any]:
    if get_origin(kind) in (Union, UnionType):
        return [member for one in get_args(kind) for member in _members(one)]
    return [kind]


def _is_finite(number: Any) -> bool:
    return bool(abs(number) <= float_info.max)  # no float() of it: it may be too long


def _direct(kind: Any) -> bool:
    """Whether a number may be one for all columns."""
    return any(member in _NUMBERS for member in _members(kind))


def _is(kind: Any, family: Any) -> bool:
    origin = get_origin(kind)
    return isinstance(origin, type) and issubclass(origin, family)


def _column(text: str, card: Card | None) -> str:
    name = text.strip().strip("\"'")
    return name if card is None else card[name].name


def _number(text: str, kinds: Sequence[Any]) -> int | float | Fraction:
    """A number as people write it: 5, 1,000, 0.05, 5% or 1/20; exact, if it may be."""
    if Fraction in kinds:
        try:
            return exact(text.removesuffix("%"), "it") / (100 if text.endswith("%") else 1)
        except BadInput:
            raise ValueError(text) from None
    try:
        return int(text.replace(",", "") if _THOUSANDS.fullmatch(text) else text)
    except ValueError:
        pass
    value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    if not math.isfinite(value):
        raise ValueError(text)
    if float not in kinds:
        if not value.is_integer():
            raise ValueError(text)
        return int(value)
    return value


def _level(text: str, kinds: Sequence[Any]) -> Any:
    """A number, or two with ``..`` between them, where that may be."""
    low, dots, high = text.partition("..")
    return (int(low), int(high)) if dots and tuple[int, int] in kinds else _number(text, kinds)


def _either(words: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
