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
import numpy.typing as npt

from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.finding import SHOWN_VICTIMS, Finding, Outcome
from discreet.verbs.attack.program import Program

Array = npt.NDArray[Any]
Person = tuple[Any, ...]

KINDS = 50_000
"""So many kinds of people at most."""


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
    """What the tables tell."""

    columns: tuple[str, ...]
    people: tuple[Person, ...]
    """A file that agrees with all tables; the one, if there is a single one."""
    determined: tuple[Person, ...]
    """The people who are in every such file: the attacker is certain of them."""
    solutions: int
    """How many files agree with the tables; at least so many, unless ``complete``."""
    complete: bool
    finding: Finding

    @property
    def unique(self) -> bool:
        """Whether the tables leave a single file."""
        return len(self.determined) == len(self.people)


def rebuild(
    columns: Mapping[str, Sequence[Any]],
    published: Sequence[Published],
    *,
    known: Table | None = None,
    most: int = 100,
) -> Rebuilt:
    """Find the files that agree with ``published``, where each column has one of the values in ``columns``.

    A line without conditions must give the number of people. At most ``most`` files are counted; who is determined is
    exact all the same. ``known`` is the original, from which victims are named for the steward.
    """
    kinds, people = _kinds(columns), _people(published)
    program = Program(len(kinds), people)
    for line in published:
        _constrain(program, line, tuple(columns), kinds)
    first = program.solve()
    if first is None:
        raise DataError(
            "No file agrees with all of the tables.", hint="Look for a line that was rounded or changed, or mistyped."
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
    if not 1 <= size <= KINDS:
        raise BadInput(f"The columns allow {size:,} kinds of people; 1 to {KINDS:,} can be looked at.")
    return list(itertools.product(*columns.values()))


def _people(published: Sequence[Published]) -> int:
    for line in published:
        if not line.where and isinstance(line.count, int):
            return line.count
    raise BadInput("No line says how many people there are.", hint="Give one without conditions and with a count.")


def _constrain(program: Program, line: Published, names: tuple[str, ...], kinds: list[Person]) -> None:
    """What a line says of how many people there are of each kind."""
    if unknown := (set(line.where) | set(line.means) | set(line.medians)) - set(names):
        raise BadInput(f"A table speaks of {', '.join(sorted(unknown))}, which is no column.")
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
            raise BadInput(f"Means and medians are of columns of whole numbers; {name} is not one.")
        if name in line.means:
            low, high = _rounded(line.means[name], line.count)
            program.require(np.where(inside, values, 0).astype(float), low, high)
        if name in line.medians:
            _middle(program, inside, values, line.count, _exactly(line.medians[name]))


def _middle(program: Program, inside: Array, values: Array, count: int, median: Fraction) -> None:
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
    """The least and greatest whole sum of ``count`` numbers whose mean is printed so."""
    mean, half = _exactly(printed), Fraction(1, 2 * 10 ** _decimals(printed))
    return -((-(mean - half) * count) // 1), ((mean + half) * count) // 1


def _exactly(printed: str) -> Fraction:
    _decimals(printed)
    return Fraction(printed)


def _decimals(printed: str) -> int:
    try:
        exponent = Decimal(printed).as_tuple().exponent
    except (InvalidOperation, TypeError):
        raise BadInput(f"{printed!r} is not a number as it is printed.") from None
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
        "The share of people whose every value follows from the tables (by computation, not by sampling); 0 is best, "
        "1 means that the tables say as much as the file.",
        victims,
        {"people": people, "files that agree": "more than were counted" if solutions is None else solutions},
    )
