"""Rows under differential privacy: a random sample, generalised as was fixed beforehand, without small classes.

Why this is private. Every row is kept with probability β by a coin of its own. What is kept is generalised by levels
that were fixed before anyone looked, and leaves in classes of equal rows; a class of fewer than k is dropped. Let two
tables differ in one row, and m be the number of rows in that row's class where it is present. Nothing else that
leaves depends on it, and of its own class nothing but the number j that leaves: 0, or some j >= k. With
f(j; m) = C(m, j) β^j (1-β)^(m-j):

* without the row a number j is at most 1/(1-β) times as likely as with it, and β <= 1 - e^-ε makes this e^ε at most;
* with the row j is m(1-β)/(m-j) times as likely as without it. This exceeds e^ε only for j > γm, γ = 1 - (1-β)e^-ε,
  and by how much in all, Σ f(j; m) (1 - e^ε (m-j) / (m(1-β))) over j >= k with j > γm, is what δ must cover;
* to be dropped is no likelier with the row than without it.

So (ε, δ)-differential privacy holds if δ is at least that sum for every m: k is the smallest number for which it is.
(Li, Qardaji and Su 2012 bound the sum by leaving the bracket out, and Bild, Kuhn and Prasser 2018 build on that; here
it is computed as it is, rounded up, so k is never larger than theirs.) For m beyond those that are summed, Chernoff's
bound P(Bin(m, β) >= γm) <= exp(-m KL(γ, β)) is below δ and falls with m.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.exact import Number, exp_lower, exp_upper, positive, probability
from discreet.core.hierarchy.hierarchy import TOP, Hierarchy, apply
from discreet.core.kind import Kind
from discreet.core.loss import Approximate
from discreet.core.report import Picture, bars
from discreet.core.statement import Claim, Evidence, Statement
from discreet.core.table import Table, count_name
from discreet.errors import BadInput, NoPromise, NotDeclared
from discreet.noise.entropy import Entropy
from discreet.releases.method import Method

_BITS = 32
"""A sampling rate must be a multiple of 2**-32."""
_POINT = 256
"""Sums are whole multiples of 2**-256, rounded up."""
_BLOCK = 1 << 20


@dataclass(frozen=True, init=False)
class SafePub(Method[pa.Table]):
    """(ε, δ)-differentially private rows: sampled, at fixed levels, in classes of at least ``k``.

    ``levels`` names every column that leaves and its level, chosen without looking at the data; other columns stay
    behind. A value its hierarchy does not know becomes NULL. ``k`` and ``sample`` are known beforehand: print the
    method to see how many people a combination of values needs to come through. With many columns few have that many.

    Why this is private: the argument is at the head of this module.
    """

    epsilon: Fraction
    delta: Fraction
    levels: Mapping[str, int]
    sample: Fraction
    """The probability with which a person is kept, β."""
    hierarchies: Mapping[str, Hierarchy]
    """For columns whose card declares none."""

    name: ClassVar[str] = "safepub"

    def __init__(
        self,
        epsilon: Number,
        delta: Number,
        levels: Mapping[str, int],
        *,
        sample: Number | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
    ) -> None:
        """``sample`` may be up to 1 - e^-ε; the default is half of that, where fewest people are needed."""
        chosen = positive(epsilon, "epsilon")
        largest = _largest_rate(chosen)
        rate = _rate(largest / 2 if sample is None else probability(sample, "sample"))
        if not 0 < rate <= largest:
            raise BadInput(
                f"A sample of {sample} is too large, or too small, for epsilon = {epsilon}.",
                hint=f"At most 1 - e^-epsilon of the people may be sampled: {float(largest):.4f}.",
            )
        if not levels:
            raise BadInput("No column to release.", hint="Give the level of each column to release.")
        object.__setattr__(self, "epsilon", chosen)
        object.__setattr__(self, "delta", probability(delta, "delta"))
        object.__setattr__(self, "levels", dict(levels))
        object.__setattr__(self, "sample", rate)
        object.__setattr__(self, "hierarchies", dict(hierarchies or {}))

    @property
    def k(self) -> int:
        """The smallest class that leaves: the least for which δ covers what it must."""
        return smallest_k(self.epsilon, self.delta, self.sample)

    @property
    def people(self) -> int:
        """Number of people who must share a combination for it to be released about every other time."""
        return math.ceil(self.k / self.sample)

    def __str__(self) -> str:
        return (
            f"SafePub at {Approximate(self.epsilon, self.delta)}: every person is sampled with probability "
            f"{float(self.sample):.4f}, and classes of fewer than {self.k} sampled people are dropped. A combination "
            f"of {', '.join(self.levels)} is released about half of the time if {self.people} people share it."
        )

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All parameters that determine the result, except rows, noise and loss."""
        return {
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "levels": dict(self.levels),
            "sample": str(self.sample),
            "k": self.k,
            "hierarchies": {
                name: {"type": one.type, "other": one.other, **one.fields()}
                for name, one in sorted(self.hierarchies.items())
            },
        }

    def steps(self, card: Card) -> tuple[str, ...]:
        """The steps, in words."""
        return (
            f"every row was sampled with probability {float(self.sample):.6f}",
            "the columns were generalised by levels fixed beforehand; other columns were left out",
            f"classes of fewer than {self.k} equal rows were dropped",
        )

    def promise(self, card: Card) -> Statement:
        """The loss, and k-anonymity on all that leaves; an error if the levels do not fit the card."""
        for name in self.levels:
            self._at_level(card[name], card)
        if card.unit is not None and card.rows_per_unit is None:
            raise NotDeclared(
                f"The card of {card.name} does not say how many rows one {card.unit} may have.",
                hint="Declare rows_per_unit = 1, if that is so.",
            )
        if card.unit is not None and card.rows_per_unit != 1:
            raise NoPromise(
                f"A {card.unit} may have {card.rows_per_unit} rows, but this method protects one row of each.",
                hint=f"Reduce the table to one row per {card.unit} first.",
            )
        return Statement(
            card.unit or "person",
            Approximate(self.epsilon, self.delta),
            (self._claim,),
            evidence=Evidence.PROVED,
            assumes=("The levels and the hierarchies were chosen independently of the data.", card.whose),
        )

    def run(self, table: Table, entropy: Entropy) -> pa.Table:
        """The rows, in the order of their content."""
        names = list(self.levels)
        at_levels = [sql.named(self._at_level(table.card[name], table.card), name) for name in names]
        columns = tuple(
            Column(name, Kind.TEXT if level else table.card[name].kind) for name, level in self.levels.items()
        )
        coarse = Table(Card(table.card.name, columns), table.engine, table.query(*at_levels))
        found = coarse.histogram(*names)
        counts = np.asarray(found.column(count_name(names)).to_numpy(), dtype=np.int64)
        large = np.flatnonzero(counts >= self.k)  # a smaller class has no sample of k: its coins need not be flipped
        drawn = np.array([_heads(self.sample, int(n), entropy) for n in counts[large]], dtype=np.int64)
        places = np.repeat(large[drawn >= self.k], drawn[drawn >= self.k])
        return found.select(names).take(pa.array(places, pa.int64())).sort_by([(name, "ascending") for name in names])

    def holds(self, claim: Claim, payload: pa.Table) -> bool:
        """Whether every class has k rows: counted again."""
        sizes = _class_sizes(payload)
        return claim == self._claim and all(size >= self.k for size in sizes)

    def pictures(self, payload: pa.Table) -> tuple[Picture, ...]:
        """The largest classes."""
        sizes = sorted(_class_sizes(payload), reverse=True)[:12]
        if not sizes:
            return ()
        labels = [f"{place}. largest" for place in range(1, len(sizes) + 1)]
        return (bars("The largest classes", labels, [int(size) for size in sizes], caption=str(self)),)

    @property
    def _claim(self) -> Claim:
        text = f"{self.k}-anonymous on {', '.join(self.levels)}"
        return Claim("k-anonymity", text, {"k": self.k, "on": list(self.levels)})

    def _at_level(self, column: Column, card: Card) -> exp.Expr:
        """The column at its level. What its hierarchy does not know is NULL: an error would tell of someone's row."""
        level = self.levels[column.name]
        if column.role is Role.IDENTIFIER or column.name == card.unit:
            raise BadInput(f"{column.name} is an identifier and cannot be released.", hint="Remove it from levels.")
        hierarchy = column.hierarchy or self.hierarchies.get(column.name)
        height = 1 if hierarchy is None else hierarchy.height
        if isinstance(level, bool) or not isinstance(level, int) or not 0 <= level <= height:
            raise BadInput(f"The level of {column.name} is a whole number from 0 to {height}, not {level!r}.")
        value = sql.column(column.name)
        if level == height:
            return exp.cast(exp.Literal.string(TOP), exp.DType.TEXT)
        return value if hierarchy is None else apply(hierarchy, value, level, column.kind)


@lru_cache(maxsize=256)
def smallest_k(epsilon: Fraction, delta: Fraction, beta: Fraction) -> int:
    """The least k for which dropping classes of fewer than k sampled rows is (ε, δ)-differentially private."""
    low, high = 0, 1
    while not covers(epsilon, delta, beta, high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        if covers(epsilon, delta, beta, middle):
            high = middle
        else:
            low = middle
    return high


def covers(epsilon: Fraction, delta: Fraction, beta: Fraction, k: int) -> bool:
    """Whether δ is at least the excess for every class size m. Numbers are rounded so that a yes is true."""
    if beta != _rate(beta):
        raise BadInput(f"A sampling rate must be a multiple of 2**-{_BITS}, got {beta}.")
    room = (delta.numerator << _POINT) // delta.denominator
    factor = exp_lower(epsilon)
    scaled = int(factor * 2**_POINT)
    rest = (1 - beta) / factor  # not below 1 - gamma
    enough = _logarithm(1 / delta) * (1 + 1e-9) + 1e-9
    last = max(enough / _divergence(rest, beta), k / float(1 - rest)) + 1
    for m in range(k, math.ceil(last)):
        likely = m * _divergence(min(Fraction(m - k, m), rest), beta) < enough
        if likely and _excess(m, k, beta, scaled) > room:
            return False
    return True


def _excess(m: int, k: int, beta: Fraction, factor: int) -> int:
    """Σ f(j; m) (1 - e^ε (m-j) / (m(1-β))) over j >= k, as far as it is above zero, rounded up.

    It begins at the least j that counts, which lies above the mean: from there on f falls, and so do rounding errors.
    """
    heads = int(beta * 2**_BITS)
    tails = 2**_BITS - heads
    whole = 1 << _POINT
    # e^ε (m-j) / (m(1-β)) < 1 from this j on
    first = max(k, m - (m * tails * whole) // (factor << _BITS))
    f = _up(math.comb(m, first) * heads**first * tails ** (m - first) << _POINT, 1 << _BITS * m)
    total = 0
    for j in range(first, m + 1):
        bracket = whole - (factor * (m - j) << _BITS) // (m * tails)
        total += _up(f * max(bracket, 0), whole)
        if f <= 1 << 20:  # what follows is no larger
            return total + f * (m - j)
        f = _up(f * (m - j) * heads, (j + 1) * tails)
    return total


def _divergence(rest: Fraction, beta: Fraction) -> float:
    """KL(1 - rest, beta) of two coins."""
    share = 1 - rest
    found = float(share) * math.log(share / beta)
    return found if rest == 0 else found + float(rest) * math.log1p(rest / (1 - beta) - 1)


def _logarithm(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


def _up(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def _largest_rate(epsilon: Fraction) -> Fraction:
    """A sampling rate not above 1 - e^-ε."""
    return _rate(1 - exp_upper(-epsilon))


def _rate(share: Fraction) -> Fraction:
    """``share`` rounded down to what a coin of a few bits can do."""
    return Fraction(int(share * 2**_BITS), 2**_BITS)


def _heads(p: Fraction, coins: int, entropy: Entropy) -> int:
    """Number of heads of independent coins."""
    return sum(int(entropy.flips(p, min(_BLOCK, coins - done)).sum()) for done in range(0, coins, _BLOCK))


def _class_sizes(rows: pa.Table) -> list[int]:
    counted = rows.group_by(rows.column_names).aggregate([([], "count_all")])
    return counted.column("count_all").to_numpy().tolist()  # type: ignore[no-any-return]
