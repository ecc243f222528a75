"""Reconstruction from published tables: which people must exist, if all printed counts, means and medians are true.

The attack of Garfinkel, Abowd and Martindale (2018), "Understanding database reconstruction attacks on public data", as
integer programs. Unknown is how many people there are of each kind (a value for every column), so that the order of
people does not matter and solutions are counted once.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import programs
from discreet.core.programs import Matrix
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.finding import SHOWN_VICTIMS, Array, Finding, Outcome

Person = tuple[Any, ...]

MAX_KINDS = 50_000
"""Most kinds of people: combinations of a value for every column."""
Row = tuple[dict[int, float], float, float]


@dataclass(frozen=True)
class Published:
    """A line of a published table, about the people who have one of the values in ``where`` (all, if it is empty)."""

    where: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    count: int | tuple[int, int] | None = None
    """How many they are; a range, where a small count was left out: ``(0, 2)``."""
    means: Mapping[str, str] = field(default_factory=dict)
    """Of columns of whole numbers, as printed: "36.7" is anything that rounds to it. They need the count."""
    medians: Mapping[str, str] = field(default_factory=dict)
    """As printed, and exact (the mean of the middle two, if the count is even). They need the count."""


@dataclass(frozen=True)
class Rebuilt:
    """Microdata reconstructed from published tables."""

    columns: tuple[str, ...]
    people: tuple[Person, ...]
    """Microdata that agree with all tables; the only ones, if ``unique``."""
    determined: tuple[Person, ...]
    """People who are in all such microdata: the attacker is certain of them."""
    solutions: int
    """Number of consistent files with the tables; a lower bound, unless ``complete``."""
    complete: bool
    finding: Finding

    @property
    def unique(self) -> bool:
        """Whether the tables leave a single file."""
        return len(self.determined) == len(self.people)


def rebuild(
    columns: Mapping[str, Sequence[Any]], published: Sequence[Published], *, known: Table | None = None, most: int = 100
) -> Rebuilt:
    """Find the files that are consistent with ``published``, where each column has one of the values in ``columns``.

    A line without conditions must give the number of people. At most ``most`` files are counted; who is determined is
    exact all the same. ``known`` is the original, from which victims are named for the steward.
    """
    kinds, people = _kinds(columns), _people(published)
    program = ReconstructionProgram(len(kinds), people)
    for line in published:
        _constrain(program, line, tuple(columns), kinds)
    first = program.solve()
    if first is None:
        raise DataError(
            "No microdata is consistent with all of the tables.",
            hint="Check for lines that were rounded, changed or mistyped.",
        )
    sure = program.common(first)
    solutions, complete = program.count(first, most) if sure.sum() < people else (1, True)
    certain = _listed(kinds, sure)
    names = tuple(columns)
    finding = _finding(
        len(certain), people, len(published), solutions if complete else None, _victims(known, names, certain)
    )
    return Rebuilt(names, _listed(kinds, first), certain, solutions, complete, finding)


def _kinds(columns: Mapping[str, Sequence[Any]]) -> list[Person]:
    size = int(np.prod([len(values) for values in columns.values()], dtype=float)) if columns else 0
    if not 1 <= size <= MAX_KINDS:
        raise BadInput(f"The columns allow {size:,} kinds of people; supported are 1 to {MAX_KINDS:,} kinds.")
    return list(itertools.product(*columns.values()))


def _people(published: Sequence[Published]) -> int:
    for line in published:
        if not line.where and isinstance(line.count, int):
            return line.count
    raise BadInput("No line has the total number of people.", hint="Add a line without conditions and with a count.")


def _constrain(program: ReconstructionProgram, line: Published, names: tuple[str, ...], kinds: list[Person]) -> None:
    """Constrain the number of people of each kind by a published line."""
    if unknown := (set(line.where) | set(line.means) | set(line.medians)) - set(names):
        raise BadInput(f"A table names {', '.join(sorted(unknown))}, which is not a column.")
    allowed = {names.index(name): set(values) for name, values in line.where.items()}
    inside = np.array([all(kind[at] in values for at, values in allowed.items()) for kind in kinds])
    if line.count is not None:
        low, high = line.count if isinstance(line.count, tuple) else (line.count, line.count)
        program.require(inside.astype(float), low, high)
    for name, printed in (*line.means.items(), *line.medians.items()):
        if not isinstance(line.count, int) or line.count < 1:
            raise BadInput(f"The mean or median {printed} of {name} needs the count of people, at least 1.")
        values = np.array([kind[names.index(name)] for kind in kinds])
        if values.dtype.kind not in "iu":
            raise BadInput(f"Means and medians need columns of whole numbers; {name} is not one.")
        if name in line.means:
            low, high = _rounded(line.means[name], line.count)
            program.require(np.where(inside, values, 0).astype(float), low, high)
        if name in line.medians:
            _middle(program, inside, values, line.count, _exactly(line.medians[name]))


def _middle(program: ReconstructionProgram, inside: Array, values: Array, count: int, median: Fraction) -> None:
    """The median is the middle value, or halfway between the middle two, one of the pairs that it may be."""
    held = sorted({int(value) for value in values[inside]})
    lower, upper = (count + 1) // 2, count // 2 + 1
    pairs = [(one, two) for one in held if one <= median and (two := 2 * median - one) in held]
    pairs = [pair for pair in pairs if lower < upper or pair[0] == pair[1]]
    if not pairs:
        raise DataError(f"No values of the column have the median {median}.")
    chosen = program.choose(len(pairs))
    for choice, (one, two) in zip(chosen, pairs, strict=True):
        for value, rank in ((one, lower), (int(two), upper)):
            program.require_if(choice, (inside & (values < value)).astype(float), 0, rank - 1)
            program.require_if(choice, (inside & (values <= value)).astype(float), rank, count)


def _rounded(printed: str, count: int) -> tuple[int, int]:
    """Least and greatest whole sum of ``count`` numbers whose mean is printed as ``printed``."""
    mean, half = _exactly(printed), Fraction(1, 2 * 10 ** _decimals(printed))
    return -((-(mean - half) * count) // 1), ((mean + half) * count) // 1


def _exactly(printed: str) -> Fraction:
    _decimals(printed)
    return Fraction(printed)


def _decimals(printed: str) -> int:
    try:
        exponent = Decimal(printed).as_tuple().exponent
    except (InvalidOperation, TypeError):
        raise BadInput(f"{printed!r} is not a printed number.") from None
    if not isinstance(exponent, int):
        raise BadInput(f"{printed!r} is not a finite number.")
    return max(-exponent, 0)


def _listed(kinds: list[Person], counts: Array) -> tuple[Person, ...]:
    return tuple(kind for kind, count in zip(kinds, counts, strict=True) for _ in range(int(count)))


def _victims(known: Table | None, names: tuple[str, ...], certain: tuple[Person, ...]) -> tuple[int, ...]:
    """Rows of the original that the attacker is certain of."""
    if known is None:
        return ()
    left, found = Counter(certain), []
    rows = known.fetch().select(list(names)).to_pylist()
    for place, row in enumerate(rows):
        person = tuple(row[name] for name in names)
        if left[person] > 0:
            left[person] -= 1
            found.append(place)
    return tuple(found[:SHOWN_VICTIMS])


def _finding(certain: int, people: int, lines: int, solutions: int | None, victims: tuple[int, ...]) -> Finding:
    share = certain / people if people else 0.0
    return Finding(
        "reconstruction from tables",
        f"The attacker knows {lines} published lines of tables, and which values each column can have.",
        Outcome.BROKE if certain else Outcome.NOTHING,
        share,
        (share, share),
        0.0,
        "Share of people whose every value follows from the tables (computed exactly); 0 is best, 1 means "
        "that the tables reveal the whole file.",
        victims,
        {"people": people, "consistent files": "more than were counted" if solutions is None else solutions},
    )


@dataclass
class ReconstructionProgram:
    """Integer program over the number of people of each kind; every solution is verified exactly.

    Variables are the counts of ``kinds`` (whole, together ``people``), then switches that are 0 or 1.
    """

    kinds: int
    people: int
    _rows: list[Row] = field(default_factory=list)
    _switches: int = 0
    _reached: dict[tuple[int, int], int] = field(default_factory=dict)
    """Switch for each kind and number of people: whether at least that number are of that kind."""

    def __post_init__(self) -> None:
        self.require(np.ones(self.kinds), self.people, self.people)

    def require(self, weights: Array, low: float, high: float) -> None:
        """The weighted sum of the counts lies between ``low`` and ``high``. Weights and limits are whole."""
        self._rows.append(({int(at): float(weights[at]) for at in np.flatnonzero(weights)}, float(low), float(high)))

    def choose(self, options: int) -> list[int]:
        """Switches of which exactly one is on."""
        made = [self._switch() for _ in range(options)]
        self._rows.append((dict.fromkeys(made, 1.0), 1.0, 1.0))
        return made

    def require_if(self, switch: int, weights: Array, low: float, high: float) -> None:
        """As ``require``, for weights of 0 and 1, only if ``switch`` is on."""
        some = {int(at): 1.0 for at in np.flatnonzero(weights)}
        if low > 0:
            self._rows.append((some | {switch: -float(low)}, 0.0, float(self.people)))
        if high < self.people:
            self._rows.append((some | {switch: float(self.people - high)}, 0.0, float(self.people)))

    def solve(self, cost: dict[int, float] | None = None, also: list[Row] | None = None) -> Array | None:
        """Counts that fulfil everything, of least cost; None if there are none."""
        rows = self._rows + (also or [])
        size = self.kinds + self._switches
        objective = np.zeros(size)
        for at, price in (cost or {}).items():
            objective[at] = price
        matrix = Matrix.of_rows((list(weights), list(weights.values())) for weights, *_ in rows)
        ends = [np.array([row[end] for row in rows]) for end in (1, 2)]
        most = np.repeat([self.people, 1], [self.kinds, self._switches])
        solved = programs.Program(objective, matrix, ends[0], ends[1], 0.0, most, integral=True).solve()
        if solved.infeasible:
            return None
        if solved.x is None:
            raise DataError(f"The integer program was not solved: {solved.status.value}.")
        whole = np.rint(solved.x).astype(np.int64)
        for weights, low, high in rows:
            if not low <= sum(int(weight) * int(whole[at]) for at, weight in weights.items()) <= high:
                raise DataError("The integer program was solved too inexactly to use.")
        return np.asarray(whole[: self.kinds])

    def common(self, found: Array) -> Array:
        """Number of people of each kind that every solution has: those of ``found`` that no other can do without.

        Look for the solution that keeps fewest of them, drop what it does not keep, and again until all are kept.
        """
        kept = found.copy()
        while kept.any():
            other = self.solve(cost=dict.fromkeys(self._copies(kept), 1.0))
            if other is None or (np.minimum(kept, other) == kept).all():
                return kept
            kept = np.minimum(kept, other)
        return kept

    def count(self, first: Array, most: int) -> tuple[int, bool]:
        """Number of solutions, and whether these are all: each found one is ruled out, then the next sought."""
        also: list[Row] = []
        found: Array | None = first
        number = 0
        while found is not None and number < most:
            number += 1
            copies = self._copies(found)
            also.append((dict.fromkeys(copies, 1.0), 0.0, float(len(copies) - 1)))
            found = self.solve(also=also)
        return number, found is None

    def _copies(self, counts: Array) -> list[int]:
        """A switch for each person: the first, second … of a kind. Another solution has not all of them."""
        return [
            self._at_least(int(at), rank) for at in np.flatnonzero(counts) for rank in range(1, int(counts[at]) + 1)
        ]

    def _at_least(self, kind: int, rank: int) -> int:
        """The switch that is on if and only if there are ``rank`` people of ``kind`` or more."""
        if (kind, rank) not in self._reached:
            switch = self._reached[kind, rank] = self._switch()
            self._rows.append(({kind: 1.0, switch: -float(rank)}, 0.0, float(self.people)))
            most = float(self.people - rank + 1)
            self._rows.append(({kind: 1.0, switch: -most}, -most, float(rank - 1)))
        return self._reached[kind, rank]

    def _switch(self) -> int:
        self._switches += 1
        return self.kinds + self._switches - 1
