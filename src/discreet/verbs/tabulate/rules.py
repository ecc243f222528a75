"""Sensitivity rules: which cells disclose a contributor, and the protection levels they need.

As in Hundepool et al., "Statistical Disclosure Control" (2012), chapter 4. X is the value of a cell, x1 ≥ x2 ≥ …
are the contributions to it:

- minimum frequency: fewer respondents than n, but not none;
- (n, k)-dominance: x1 + … + xn > k·X. A cell is safe above (x1 + … + xn)/k, so that is how far it must seem to reach;
- prior–posterior (p, q): q·(X - x1 - x2) < p·x1. The second largest, who knew x1 within q %, would know it within p %;
  with an X higher by p/q·x1 - (X - x1 - x2) they would not;
- p %: the same with q = 100.

Arithmetic is in whole numbers, so that a cell exactly on the edge of a rule is safe, as the rule says.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number, exact
from discreet.core.families import CELL_RULES
from discreet.core.text import meant, number
from discreet.errors import BadInput
from discreet.verbs.tabulate.tables.crosstable import MOST_KEPT, CrossTable, Numbers

_CELLS = "cells=M2,P3 | M1,P1"
_QUOTED = 'cells="5"" pipe",P1'


@dataclass(frozen=True, eq=False)
class RuleInput:
    """What rules look at: the cells of one table and the contributions to them, each array flat."""

    table: CrossTable
    values: Numbers
    counts: Numbers | None
    largest: Numbers | None
    """A row for each rank, the largest first."""
    known: Numbers | None
    """How many ranks are known; ``None`` if all are."""
    totals: Numbers
    """What ``largest`` are part of: the values or, of negative contributions, the sum of absolute ones."""
    refused: str
    """Why rules on contributions cannot be used, if they cannot: some are negative."""
    share: Fraction
    """Of its value a cell must at least be uncertain by, where a rule does not say itself."""


@dataclass(frozen=True, eq=False)
class SensitiveCells:
    """The cells a rule finds sensitive, and how far below and above its value each must seem to reach at least."""

    cells: Numbers
    below: Numbers
    above: Numbers


class Rule:
    """A sensitivity rule: which cells disclose a contributor."""

    name: ClassVar[str]
    """What it is called where its figures are not to be told."""
    ranks: ClassVar[int] = 0

    def __post_init__(self) -> None:
        check_parameters(self)

    @property
    def largest(self) -> int:
        """How many of the largest contributions to each cell it needs to know."""
        return self.ranks

    @property
    @abstractmethod
    def reason(self) -> str:
        """Why a cell is sensitive by this rule."""

    @abstractmethod
    def find(self, seen: RuleInput) -> SensitiveCells:
        """The sensitive cells of a table."""


@declare(CELL_RULES, "minimum frequency", rank=0, example="min=3", spelled="min={n}")
class MinFrequency(Rule):
    """Fewer than ``n`` respondents, but not none; in a table of counts of which no one knows who is in it, fewer rows.

    The cell must seem to reach a share of its value (see ``protect``) below and above it, which is at least a unit; in
    a table of counts at least up to ``n``, so that an intruder must hold a count possible that would be safe.
    """

    n: int = parameter("Minimum number of respondents of a safe cell.", least=2, most=1_000_000)

    @property
    def reason(self) -> str:
        return f"fewer than {self.n} respondents"

    def find(self, seen: RuleInput) -> SensitiveCells:
        counts = seen.counts
        if counts is None:
            if seen.table.what:
                raise BadInput(
                    f"The number of respondents in each cell of the table of {seen.table.what} is unknown.",
                    hint="Add a column count with their number.",
                )
            counts = seen.values
        cells = np.flatnonzero((counts > 0) & (counts < self.n))
        level = _share(seen, cells)
        if seen.table.what:
            return SensitiveCells(cells, level, level)
        return SensitiveCells(cells, level, np.maximum(level, self.n * 10**seen.table.decimals - seen.values[cells]))


@declare(CELL_RULES, "(n,k)-dominance", example="n=1,k=0.7", spelled="n={n},k={k}")
class Dominance(Rule):
    """The ``n`` largest contributions are more than ``k`` of the total: a share (0.7), or per cent if above 1 (70)."""

    n: int = parameter("Number of the largest contributions.", least=1, most=MOST_KEPT)
    k: Number = parameter("Maximum share of the total that they may have: 0.7, 70% or 70.")

    def __post_init__(self) -> None:
        check_parameters(self)
        share = exact(self.k, "k")
        share = share / 100 if share > 1 else share
        if not Fraction(1, 10**6) <= share < 1:
            raise BadInput(f"k must be a share between 0 and 1, or per cent, got {self.k}.", hint="Write: n=1,k=0.7")
        object.__setattr__(self, "k", share)

    @property
    def largest(self) -> int:
        return self.n

    @property
    def reason(self) -> str:
        who = "largest contribution is" if self.n == 1 else f"{self.n} largest contributions are"
        return f"the {who} more than {float(Fraction(self.k) * 100):g} % of the total"

    def find(self, seen: RuleInput) -> SensitiveCells:
        largest = _largest(seen, self.n, f"n={self.n}").sum(axis=0)
        over = _plus((largest, Fraction(self.k).denominator), (seen.totals, -Fraction(self.k).numerator))
        return _both(over, Fraction(self.k).numerator)


@declare(CELL_RULES, "prior-posterior", example="p=10,q=50", spelled="p={p},q={q}")
class PriorPosterior(Rule):
    """The second largest contributor, who knew the largest within ``q`` per cent, would know it within ``p``."""

    p: Number = parameter("Closest permitted estimate of the largest contribution, per cent.", above=0, percent=True)
    q: Number = parameter("Accuracy of prior knowledge about it, per cent.", above=0, percent=True)
    ranks: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_parameters(self)
        if not Fraction(self.p) < Fraction(self.q):
            raise BadInput(f"p must be above 0 and below q, got p={self.p} and q={self.q}, in per cent.")

    @property
    def reason(self) -> str:
        p, q = float(Fraction(self.p)), float(Fraction(self.q))
        return f"a contributor who knew another's figure within {q:g} % would know it within {p:g} %"

    def find(self, seen: RuleInput) -> SensitiveCells:
        return _too_close(seen, Fraction(self.p) / Fraction(self.q), "p and q")


@declare(CELL_RULES, "p%", rank=1, example="p=10", spelled="p={p}")
class PPercent(Rule):
    """The second largest contributor could estimate the largest within ``p`` per cent."""

    p: Number = parameter(
        "Closest permitted estimate of the largest contribution, per cent.", above=0, most=100, percent=True
    )
    ranks: ClassVar[int] = 2

    @property
    def reason(self) -> str:
        return f"a contributor could estimate another's figure within {float(Fraction(self.p)):g} %"

    def find(self, seen: RuleInput) -> SensitiveCells:
        return _too_close(seen, Fraction(self.p) / 100, "p")


@declare(CELL_RULES, "zero", example="zero", spelled="zero[={reach}]")
class Zero(Rule):
    """A cell of zero is sensitive: it reveals that no one who could be in it is.

    An intruder must hold figures up to ``reach`` possible.
    """

    reach: Number = parameter("Upper protection level of an empty cell.", default=1, above=0)

    @property
    def reason(self) -> str:
        return "an empty cell"

    def find(self, seen: RuleInput) -> SensitiveCells:
        cells = np.flatnonzero(seen.values == 0)
        up = ceil(Fraction(self.reach) * 10**seen.table.decimals)
        if up >= 2**53:
            raise BadInput("zero=… is the upper protection level of empty cells and must be below 2**53 units.")
        return SensitiveCells(cells, np.zeros(len(cells), np.int64), np.full(len(cells), up, np.int64))


@declare(CELL_RULES, "request", example="cells=M2,P3 | M1,P1", spelled="cells={cells}")
class Request(Rule):
    """Cells that are named, each by its codes: someone asked for it. Each must seem to reach a share of its value."""

    cells: Sequence[Sequence[str]] = parameter("Cells by their codes, separated by |.")

    @property
    def reason(self) -> str:
        return "suppressed on request"

    def find(self, seen: RuleInput) -> SensitiveCells:
        named = [codes for codes in self.cells if has(seen.table, codes)]
        cells = np.array(sorted({seen.table.cell(*codes) for codes in named}), np.int64)
        return SensitiveCells(cells, *(_share(seen, cells),) * 2)


def parse_rules(text: str) -> tuple[Rule, ...]:
    """The rules in ``text``, joined by semicolons.

    ``min=3``, ``p=10`` (per cent), ``p=10,q=50`` (per cent), ``n=1,k=0.7`` (a share, or per cent: 70 or 70%), ``zero``
    (or the figure an empty cell must seem to reach, ``zero=50``), and ``cells=`` with the codes of cells, divided by
    commas, and ``|`` between cells; a code that has one of ``, | ; "`` in it is put in quotes, its own doubled.
    """
    return tuple(_rule(part.strip()) for part in _split(text, ";") if part.strip())


def has(table: CrossTable, codes: Sequence[str]) -> bool:
    """Whether a table has a cell with these codes."""
    sides = table.dimensions
    return len(codes) == len(sides) and all(code in side.places for side, code in zip(sides, codes, strict=True))


def _too_close(seen: RuleInput, part: Fraction, what: str) -> SensitiveCells:
    """Cells where all but the two largest are together less than ``part`` of the largest."""
    first, second = _largest(seen, 2, what)
    rest = seen.totals - first - second
    return _both(_plus((first, part.numerator), (rest, -part.denominator)), part.denominator)


def _largest(seen: RuleInput, ranks: int, what: str) -> Numbers:
    """The ``ranks`` largest contributions of each cell; an error if they are not known, or not what they must be."""
    if seen.refused:
        raise BadInput(
            f"A rule with {what} needs non-negative contributions; {seen.refused}.",
            hint="Use absolute values (negative=absolute), or min=….",
        )
    known = 0 if seen.largest is None else len(seen.largest)
    if seen.largest is None or known < ranks:
        columns = ", ".join(f"largest_{rank}" for rank in range(known + 1, ranks + 1))
        told = f"{known or 'none'} {'are' if known > 1 else 'is'} known"
        raise BadInput(
            f"A rule with {what} needs the {_ranks(ranks)} to each cell; {told}.",
            hint=f"Give a table columns {columns}; building one from rows, keep_largest={ranks}.",
        )
    _require_known(seen, ranks, what)
    return seen.largest[:ranks]


def _require_known(seen: RuleInput, ranks: int, what: str) -> None:
    """Raise an error if of some cells the largest contributions are not known: no one can say that they are safe."""
    if seen.known is None or seen.counts is None:
        return
    unsure = np.flatnonzero(seen.known < np.minimum(seen.counts, ranks))
    if len(unsure):
        names = " | ".join(", ".join(seen.table.codes(cell)) for cell in unsure[:3].tolist())
        raise BadInput(
            f"A rule with {what} needs the {_ranks(ranks)} to each cell; unknown for "
            f"{number(len(unsure), 'cell')}: {names}{' | …' if len(unsure) > 3 else ''}.",
            hint=f"Fill {', '.join(f'largest_{rank}' for rank in range(1, ranks + 1))} where there are that many.",
        )


def _ranks(ranks: int) -> str:
    return "largest contribution" if ranks == 1 else f"{ranks} largest contributions"


def _plus(*terms: tuple[Numbers, int]) -> Numbers:
    """A sum of multiples, exact: in 64 bits where they are enough, else in Python's whole numbers."""
    reach = sum(int(np.abs(numbers).max(initial=0)) * abs(factor) for numbers, factor in terms)
    wide = reach >= 2**62
    total: Numbers = sum((numbers.astype(object) if wide else numbers) * factor for numbers, factor in terms)  # type: ignore[assignment]
    return total


def _both(over: Numbers, unit: int) -> SensitiveCells:
    """Cells where ``over`` is positive, with that many of its units as protection level on either side; rounded up."""
    cells = np.flatnonzero(over > 0)
    level = -(-over[cells] // unit)
    return SensitiveCells(cells, level, level)


def _share(seen: RuleInput, cells: Numbers) -> Numbers:
    """The share of their value, rounded up, and at least a unit."""
    scaled = _plus((np.abs(seen.values[cells]), seen.share.numerator))
    level: Numbers = np.maximum(-(-scaled // seen.share.denominator), 1)
    return level


def _rule(text: str) -> Rule:
    name, _, rest = text.partition("=")
    if name.strip().lower() == "cells":
        cells = [tuple(map(_unquoted, _split(cell, ","))) for cell in _split(rest, "|") if cell.strip()]
        if not cells:
            raise BadInput(f"{text!r} does not name a cell.", hint=f"Write: {_CELLS}")
        return Request(tuple(cells))
    parts = re.sub(r"\s*([=,])\s*", r"\1", text).split(",")
    letters = [part.partition("=")[0].lower() for part in parts]
    if len(set(letters)) < len(letters):
        raise BadInput(f"{text!r} has a parameter twice.", hint="Separate rules by semicolons.")
    for written in (",".join(parts), ",".join(reversed(parts))):
        for entry in CELL_RULES.entries():
            if entry.matches(written):
                made: Rule = entry.parse(written)
                return made
    known = [re.split("[=[]", entry.spelled)[0] for entry in CELL_RULES.entries()]
    near = meant(letters[0], known) if letters[0] not in known else ""
    raise BadInput(
        f"{text!r} is not a rule{near}.", hint=f"Choose from {', '.join(e.usage for e in CELL_RULES.entries())}."
    )


def _split(text: str, mark: str) -> list[str]:
    """The pieces between marks that are not in quotes."""
    quoted = text.split('"')
    if len(quoted) % 2 == 0:
        raise BadInput(
            f"{text!r} has a quote that is not closed.", hint=f"Write a quote in a code like this: {_QUOTED}"
        )
    pieces = [""]
    for place, run in enumerate(quoted):
        first, *others = run.split(mark) if place % 2 == 0 else [run]
        pieces[-1] += first if place == 0 else f'"{first}'
        pieces += others
    return pieces


def _unquoted(code: str) -> str:
    code = code.strip()
    return code[1:-1].replace('""', '"') if len(code) > 1 and code[0] == code[-1] == '"' else code
