"""The data card: what the curator knows about a table without looking at it.

Everything a privacy guarantee leans on (bounds, categories, whose row it is, how many rows a person may
have) is declared here by a person. Nothing in it is taken from the data, unless it says so: a column whose
``from_data`` names a field makes the whole card not private.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal, InvalidOperation
from enum import Enum
from fractions import Fraction
from math import isfinite
from typing import Any

from discreet.core import edit_rules as conditions
from discreet.core.exact import Number, exact
from discreet.core.hierarchy.hierarchy import Hierarchy
from discreet.core.kind import ORDERED, TYPES, Kind, Scalar
from discreet.core.text import bound, meant
from discreet.core.text_format import FileLayout, TextFormat
from discreet.errors import BadInput, CardError, NotFound, Problem

_POPULATION = re.compile(r"\w([\w -]{0,38}\w)?")
_CHOICES = ("refuse", "warn")
_ROLES = ("steward", "analyst", "auditor")
MAX_LENGTH = 1_000
"""Characters of a text that count, where the card does not say how many."""


class Role(Enum):
    """What a column can do to the person a row is about."""

    IDENTIFIER = "identifier"
    """Names the person outright: never leaves."""
    QUASI = "quasi"
    """Known to outsiders; several together single a person out."""
    SENSITIVE = "sensitive"
    """What an intruder wants to learn."""
    OTHER = "other"
    """None of these."""
    UNDECIDED = "undecided"
    """No one has decided yet: nothing leaves that is not protected by a privacy loss."""


@dataclass(frozen=True)
class Column:
    """One column: its kind, its role, and what may be assumed of its values."""

    name: str
    kind: Kind
    role: Role = Role.OTHER
    bounds: tuple[Scalar, Scalar] | None = None
    """The smallest and largest value that counts; what lies outside is clamped or refused, never believed."""
    categories: tuple[Scalar, ...] | None = None
    """All values there can be, in their natural order if they have one."""
    hierarchy: Hierarchy | None = None
    from_data: tuple[str, ...] = ()
    """The fields (``bounds``, ``categories``) that were taken from the data: not private."""
    note: str = ""
    required: bool = False
    """Whether rows without a value here are left out: NULL, NaN and what is no category count as none."""
    may_leave: bool = False
    """Whether long text with many values may be in a release; without this, it is left out."""
    max_length: int | None = None
    """Number of characters of a text that count; the rest is cut off. ``None``: 1,000."""
    text: TextFormat = field(default_factory=TextFormat)
    """How its values are written in a text file, or in a text column of a database."""

    def __post_init__(self) -> None:
        """Convert names of kinds and roles, and lists of values; refuse anything else."""
        for field_, type_ in (("kind", Kind), ("role", Role)):
            try:
                object.__setattr__(self, field_, type_(getattr(self, field_)))
            except ValueError:
                known = ", ".join(one.value for one in type_)
                said = getattr(self, field_)
                raise BadInput(f"Column {self.name!r}: {said!r} is not a {field_}; choose from {known}.") from None
        for field_ in ("required", "may_leave"):
            if not isinstance(getattr(self, field_), bool):
                raise BadInput(f"Column {self.name!r}: {field_} must be true or false, not {getattr(self, field_)!r}.")
        if self.max_length is not None and (isinstance(self.max_length, bool) or not isinstance(self.max_length, int)):
            raise BadInput(f"Column {self.name!r}: max_length is a number of characters, not {self.max_length!r}.")
        for field_ in ("bounds", "categories", "from_data"):
            said = getattr(self, field_)
            if said is not None and not isinstance(said, list | tuple):
                raise BadInput(f"Column {self.name!r}: {field_} is a list of values, not {said!r}.")
            object.__setattr__(self, field_, said if said is None else tuple(map(_of_python, said)))

    @property
    def may_be_negative(self) -> bool:
        """Whether the card says that a number may be below 0."""
        ends = self.bounds or self.categories or ()
        return self.kind in (Kind.INTEGER, Kind.REAL, Kind.DECIMAL) and any(one < 0 for one in ends)  # type: ignore[operator]  # numbers

    def problems(self) -> list[Problem]:
        """Everything about this column that contradicts itself."""
        found: list[tuple[str, str]] = []
        if not self.name:
            found.append(("", "a column needs a name"))
        if self.bounds is not None:
            found += [("bounds", what) for what in self._wrong_bounds(self.bounds)]
        if self.categories is not None:
            found += [("categories", what) for what in self._wrong_categories(self.categories)]
        if self.max_length is not None:
            found += [("max_length", what) for what in self._wrong_max_length(self.max_length)]
        found += self.text.problems(self.kind)
        if self.hierarchy is not None:
            if self.kind not in self.hierarchy.kinds:
                allowed = " or ".join(kind.value for kind in Kind if kind in self.hierarchy.kinds)
                found.append(("hierarchy", f"this hierarchy is for {allowed} columns; this one is {self.kind.value}"))
            if self.role is Role.IDENTIFIER:
                found.append(("hierarchy", "an identifier is removed, not generalised: drop the hierarchy"))
        if self.may_leave and (self.kind is not Kind.TEXT or self.role is Role.IDENTIFIER):
            what = "an identifier is never released" if self.role is Role.IDENTIFIER else "only text can be withheld"
            found.append(("may_leave", what))
        for name in self.from_data:
            if name not in ("bounds", "categories"):
                found.append(("from_data", f"{name!r} is not one of bounds, categories"))
            elif getattr(self, name) is None:
                found.append(("from_data", f"lists {name}, which this column does not have"))
        return [Problem(("columns", self.name, part) if part else ("columns", self.name), what) for part, what in found]

    @property
    def declared(self) -> str:
        """The declarations about the values, in a few words."""
        said = []
        if self.bounds is not None:
            low, high = self.bounds
            said.append(f"{bound(low, dt.time.min)} to {bound(high, dt.time.max)}")
        if self.categories is not None:
            said.append(f"{len(self.categories)} categories")
        if self.max_length is not None:
            said.append(f"up to {self.max_length:,} characters")
        if self.required:
            said.append("required")
        if self.hierarchy is not None:
            said.append(f"levels 0 to {self.hierarchy.height}")
        if self.from_data:
            said.append("taken from the data")
        return ", ".join(said)

    @property
    def characters(self) -> int:
        """Maximum length of a text of this column in questions; 0 if it is not text."""
        if self.kind is not Kind.TEXT:
            return 0
        if self.categories is not None:
            return max((len(str(one)) for one in self.categories), default=0)
        return MAX_LENGTH if self.max_length is None else self.max_length

    def _wrong_max_length(self, length: int) -> Iterable[str]:
        if self.kind is not Kind.TEXT:
            yield f"a {self.kind.value} column has no length"
        elif self.categories is not None:
            yield "the categories already limit the length of a text"
        elif length < 1:
            yield f"must be at least 1, got {length}"

    def _wrong_bounds(self, bounds: tuple[Scalar, ...]) -> Iterable[str]:
        if len(bounds) != 2:
            yield f"bounds are two values, the lower and the upper; got {len(bounds)}"
            return
        low, high = bounds
        if self.kind not in ORDERED:
            yield f"a {self.kind.value} column has no bounds; declare categories instead"
        elif not (fits(low, self.kind) and fits(high, self.kind)):
            quoted = isinstance(low, str) and isinstance(high, str)
            how = f"; write them without quotes: bounds = [{low}, {high}]" if quoted else ""
            yield f"bounds must be two {self.kind.value} values, got {low!r} and {high!r}{how}"
        elif isinstance(low, dt.datetime) and isinstance(high, dt.datetime) and bool(low.tzinfo) != bool(high.tzinfo):
            yield "one bound has a time zone and the other has none"
        elif not low < high:  # type: ignore[operator]  # both fit the kind, so they compare
            yield f"the lower bound {low} is not below the upper bound {high}"

    def _wrong_categories(self, categories: tuple[Scalar, ...]) -> Iterable[str]:
        if not categories:
            yield "an empty list allows no value at all"
        for value in categories:
            if not fits(value, self.kind):
                yield f"{value!r} is not of kind {self.kind.value}"
        if len({value.tzinfo is None for value in categories if isinstance(value, dt.datetime)}) > 1:
            yield "some values have a time zone and others have none"
        counts = Counter(value for value in categories if fits(value, self.kind))
        yield from (f"{value!r} is listed twice" for value, count in counts.items() if count > 1)
        if self.bounds is not None:
            yield "declare bounds or categories, not both"


@dataclass(frozen=True)
class Card:
    """What the curator knows about one table without looking at it."""

    name: str
    columns: tuple[Column, ...]
    unit: str | None = None
    """The column that says whose row it is. ``None``: a row is a person."""
    rows_per_unit: int | None = None
    """How many rows a person may have: a bound the curator enforces, not a hope."""
    note: str = ""
    groups_per_unit: int | None = None
    """In how many groups of a question a person counts, where groups are not declared; ``None``: in all."""
    at_least: int | None = None
    """Public lower bound of the number of rows: a mean of all rows is taken over no fewer."""
    public: bool = False
    """Whether it is about no one, so that anyone may look at its rows."""
    impossible: tuple[str, ...] = ()
    """Conditions in SQL that no row can meet. A condition about a missing column has no effect."""
    rows_are_people: bool = False
    """Whether each row is a different person even if identifiers repeat: two people may share a name."""
    population: str | None = None
    """Name of the population: releases of tables that share it are checked together. ``None``: the table's name."""
    stable: tuple[str, ...] = ()
    """Columns whose value never changes for a unit, so that releases of different versions of the table can be linked.
    One that is not here says nothing."""
    text: TextFormat = field(default_factory=TextFormat)
    """How the values of all columns are written, where a column does not say otherwise."""
    file: FileLayout = field(default_factory=FileLayout)
    """Where rows and columns are in the file."""
    _index: dict[str, Column] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for field_, what in (("impossible", "conditions"), ("stable", "columns")):
            said = getattr(self, field_)
            if isinstance(said, str):
                raise BadInput(f"{field_} is a list of {what}, not {said!r}.")
            object.__setattr__(self, field_, tuple(said))
        for field_ in ("rows_per_unit", "groups_per_unit", "at_least"):
            object.__setattr__(self, field_, _of_python(getattr(self, field_)))
        object.__setattr__(self, "_index", {column.name: column for column in self.columns})
        if problems := self.problems():
            raise CardError(f"The card of {self.name}", problems)

    @property
    def people(self) -> str:
        """The name of the population."""
        return self.name if self.population is None else self.population

    @property
    def whose(self) -> str:
        """A statement's assumption about the person of each row."""
        if self.unit is not None:
            return f"The column {self.unit} identifies the person of each row."
        if self.rows_are_people:
            return "Each row is a different person, even if identifiers repeat: the card declares it (rows_are_people)."
        return "Each row is a different person."

    def without_unit(self, columns: Iterable[Column]) -> Card:
        """The card without its unit, with these columns: for rows that no longer say whose they are."""
        return replace(self, columns=tuple(columns), unit=None, rows_per_unit=None, groups_per_unit=None, stable=())

    def problems(self) -> list[Problem]:
        """Everything about this card that contradicts itself."""
        found = [problem for column in self.columns for problem in column.problems()]
        if not self.columns:
            found.append(Problem(("columns",), "a table needs at least one column"))
        folded: dict[str, str] = {}
        for column in self.columns:
            other = folded.get(column.name.casefold())
            if other is not None:
                found.append(Problem(("columns", column.name), f"same name as {other!r}; SQL ignores case"))
            folded[column.name.casefold()] = column.name
        if self.unit is not None and self.unit not in self._index:
            found.append(Problem(("unit",), f"there is no column {self.unit!r}"))
        if self.rows_per_unit is not None and self.rows_per_unit < 1:
            found.append(Problem(("rows_per_unit",), f"must be at least 1, got {self.rows_per_unit}"))
        if self.unit is None and self.rows_per_unit not in (None, 1):
            found.append(Problem(("rows_per_unit",), "without a unit each row is a different person"))
        if self.groups_per_unit is not None and not 1 <= self.groups_per_unit <= (self.rows_per_unit or 0):
            found.append(Problem(("groups_per_unit",), f"must be 1 to rows_per_unit, got {self.groups_per_unit}"))
        if self.at_least is not None and self.at_least < 1:
            found.append(Problem(("at_least",), f"must be at least 1, got {self.at_least}"))
        if self.rows_are_people and (self.unit is not None or self.public):
            other = (
                "a unit identifies the person of each row" if self.unit is not None else "a public table has no people"
            )
            found.append(Problem(("rows_are_people",), other))
        if self.public and self.unit is not None:
            found.append(Problem(("public",), "a table with a unit is about people"))
        if self.population is not None and not _POPULATION.fullmatch(str(self.population)):
            what = f"is a short name of letters, digits, spaces, - and _, not {self.population!r}"
            found.append(Problem(("population",), what))
        found += [Problem((part,), what) for part, what in self.text.problems(None)]
        found += [Problem(("file", part), what) for part, what in self.file.problems()]
        for text in self.impossible:
            try:
                conditions.condition(text)
            except BadInput as error:
                found.append(Problem(("impossible",), str(error)))
        return found

    def stable_problems(self) -> list[Problem]:
        """Problems of the stable columns, for the card of a whole table: a card of some columns may lack them."""
        found = [f"there is no column {name!r}" for name in self.stable if name not in self._index]
        if self.stable and self.unit is None:
            found.append("without a unit, values cannot be matched with the next version of the table")
        named = [one for one in self.stable if one in self._index]
        found += [f"{one!r} is the unit, which is stable anyway" for one in named if one == self.unit]
        identifiers = [one for one in named if one != self.unit and self[one].role is Role.IDENTIFIER]
        found += [f"{one!r} is an identifier, which is never released" for one in identifiers]
        return [Problem(("stable",), what) for what in found]

    def __getitem__(self, name: str) -> Column:
        try:
            return self._index[name]
        except KeyError:
            known = ", ".join(self._index)
            near = meant(str(name), self._index)
            raise NotFound(f"The card of {self.name} has no column {name!r}{near}; it has {known}.") from None

    def __contains__(self, name: object) -> bool:
        return name in self._index

    @property
    def private(self) -> bool:
        """Whether nothing in this card was taken from the data."""
        return not self.from_data

    @property
    def from_data(self) -> tuple[str, ...]:
        """The declarations that were taken from the data, such as "bounds of age", for recipes."""
        return tuple(f"{field_} of {column.name}" for column in self.columns for field_ in column.from_data)

    def open_questions(self) -> tuple[str, ...]:
        """Declarations that a guarantee may need and this card lacks, for the person to decide."""
        said = [f"role of {one.name}: undecided, so nothing can be released" for one in self.having(Role.UNDECIDED)]
        if self.unit is not None and self.rows_per_unit is None:
            said.append("rows_per_unit: the most rows per person; questions (discreet workspace) need it")
        for column in self.columns:
            if column.role is Role.IDENTIFIER or column.bounds or column.categories:
                continue
            field_ = "bounds" if column.kind in ORDERED else "categories"
            said.append(f"{field_} of {column.name}")
        if not self.having(Role.SENSITIVE):
            said.append("a sensitive column: none is declared")
        if not self.having(Role.QUASI):
            said.append("a quasi-identifier: none is declared")
        return tuple(said)

    def text_format(self, name: str) -> TextFormat:
        """How the values of a column are written, as the column or else the table declares."""
        return self[name].text.over(self.text)

    def having(self, role: Role) -> tuple[Column, ...]:
        """The columns that play ``role``."""
        return tuple(column for column in self.columns if column.role is role)


@dataclass(frozen=True)
class ExposurePolicy:
    """What releases of the same people may reveal together (``releases/exposure.py``)."""

    smallest_group: int = 3
    """Smallest group of people whose number with a value may become known. Of two, each would know the other's."""
    values: Mapping[str, Sequence[str]] = field(default_factory=dict, hash=False)
    """Sensitive values that count, by column; all values of a column that is not listed."""
    share: Number = Fraction(1, 10)
    """How close one contributor may come to another's amount: p of the p% rule, as a share."""
    undecided: str = "refuse"
    """What happens if it cannot be decided: ``refuse`` or ``warn``."""
    seconds: float = 60.0
    """Time limit of a decision, CPU seconds of its thread, so that a busy machine decides alike."""
    override: Sequence[str] = ("steward",)
    """Roles of the service whose jobs may override a refusal by giving a reason."""
    despite: str = ""
    """Reason to release something that is exposed or undecided; the statement and the register quote it."""

    def __post_init__(self) -> None:
        if isinstance(self.smallest_group, bool) or not isinstance(self.smallest_group, int) or self.smallest_group < 1:
            raise BadInput(f"smallest_group must be a number of people, at least 1, not {self.smallest_group!r}.")
        if self.undecided not in _CHOICES:
            raise BadInput(f"undecided is {' or '.join(_CHOICES)}, not {self.undecided!r}.")
        object.__setattr__(self, "share", exact(self.share, "share"))
        if not 0 < exact(self.share, "share") <= 1:
            raise BadInput(f"share is above 0 and at most 1, not {self.share}.")
        listed = list(self.values.values()) if isinstance(self.values, Mapping) else [None]
        if not all(isinstance(one, list | tuple) for one in listed):
            raise BadInput("values lists the sensitive values that count, by column.")
        if isinstance(self.seconds, bool) or not isinstance(self.seconds, int | float | Decimal) or self.seconds <= 0:
            raise BadInput(f"seconds must be above 0, not {self.seconds!r}.")
        object.__setattr__(self, "seconds", float(self.seconds))
        if not isinstance(self.override, list | tuple) or any(one not in _ROLES for one in self.override):
            raise BadInput(f"override lists roles: {', '.join(_ROLES)}.")
        object.__setattr__(self, "override", tuple(self.override))
        if not isinstance(self.despite, str) or (self.despite and not self.despite.strip()):
            raise BadInput("despite must be a reason in words.")

    def counts(self, column: str, value: object) -> bool:
        """Whether a value of a column is sensitive, in whatever way a number or a boolean is written."""
        return column not in self.values or plain(value) in set(map(plain, self.values[column]))

    @classmethod
    def from_dict(cls, data: object) -> ExposurePolicy:
        """The policy that the table ``[exposure]`` of a workspace or card file declares, with defaults for the rest."""
        known = [one.name for one in fields(cls) if one.name != "despite"]
        if not isinstance(data, Mapping):
            raise BadInput("exposure is a table.", hint=f"It may have {', '.join(known)}.")
        for name in data:
            if name not in known:
                raise BadInput(
                    f"[exposure] has no field {name!r}{meant(str(name), known)}.",
                    hint=f"It may have {', '.join(known)}.",
                )
        return cls(**data)

    def to_dict(self) -> dict[str, Any]:
        """This as plain data, for JSON."""
        return {
            "smallest_group": self.smallest_group,
            "values": {name: list(values) for name, values in self.values.items()},
            "share": str(self.share),
            "undecided": self.undecided,
            "seconds": self.seconds,
            "override": list(self.override),
        }


def _of_python(value: Any) -> Any:
    """A number, text or date of NumPy as Python's own."""
    return value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value


def fits(value: Scalar, kind: Kind) -> bool:
    """Whether ``value`` is one a column of this kind can hold (a bool is no integer, a datetime no date).

    Numbers are finite: an infinite bound would be an infinite sensitivity.
    """
    if isinstance(value, bool):
        return kind is Kind.BOOLEAN
    if isinstance(value, dt.datetime):
        return kind is Kind.TIMESTAMP
    if isinstance(value, float | Decimal) and not isfinite(value):
        return False
    return isinstance(value, TYPES[kind].python)


def plain(value: object) -> str:
    """A value as text: the same for equal numbers and booleans, and for texts that differ in case alone."""
    try:
        return str(Decimal(str(value)).normalize())
    except InvalidOperation:
        return str(value).casefold()
