"""Risk thresholds: how likely an intruder is to put the right name on a row (El Emam 2013).

A *prosecutor* knows that a person is in the table, and looks for her row. A *journalist* wants to name anyone, and
knows the population. A *marketer* wants to name as many as possible, and is content with the share that is right.
"""

from __future__ import annotations

from bisect import bisect_left
from fractions import Fraction

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.exact import Number
from discreet.core.families import MODELS
from discreet.core.table import Table
from discreet.models.classes import Classes, Flags, Integers
from discreet.models.exact_compare import Floats, at_most, plain, quotient, unsure
from discreet.models.model import Model, Together


@declare(
    MODELS,
    "prosecutor risk",
    example="risk=0.2",
    spelled="[prosecutor ]risk={threshold}",
    paper="El Emam 2013",
    init=False,
)
class ProsecutorRisk(Model):
    """The risk of every row, 1 over the size of its class, is at most the threshold.

    The same as k-anonymity with k = 1 / threshold, rounded up, and monotone like it. The mean over all rows is
    ``MarketerRisk`` without a population.
    """

    several_rows = True
    threshold: Fraction = parameter("Maximum risk of a row: 1 / size of its equivalence class.", above=0, most=1)

    meaning = "highest risk"

    def __init__(self, threshold: Number) -> None:
        check_parameters(self, threshold=threshold)

    @property
    def claim_text(self) -> str:
        return f"of prosecutor risk at most {plain(self.threshold)}"

    def figures(self, classes: Classes) -> Floats:
        return quotient(np.ones_like(classes.sizes), classes.sizes)

    def breaking(self, classes: Classes) -> Flags:
        return ~at_most(np.ones_like(classes.sizes), classes.sizes, self.threshold)


@declare(
    MODELS,
    "journalist risk",
    example="risk=0.2 in population.csv",
    spelled="[journalist ]risk={threshold} in {population}",
    paper="El Emam 2013",
    init=False,
)
class JournalistRisk(Model):
    """The risk of every row, 1 over the people of the population in its class, is at most the threshold.

    The same as k-map with k = 1 / threshold, rounded up, and monotone like it.
    """

    threshold: Fraction = parameter("Maximum risk of a row: 1 / people in its equivalence class.", above=0, most=1)
    population: Table = parameter("File or table of the population that the rows were drawn from.")

    meaning = "highest risk"

    def __init__(self, threshold: Number, population: Table) -> None:
        check_parameters(self, threshold=threshold, population=population)

    @property
    def claim_text(self) -> str:
        return f"of journalist risk at most {plain(self.threshold)} in {self.population.card.name}"

    def figures(self, classes: Classes) -> Floats:
        people = classes.people()
        return quotient(np.ones_like(people), people)

    def breaking(self, classes: Classes) -> Flags:
        people = classes.people()
        return ~at_most(np.ones_like(people), people, self.threshold)


@declare(
    MODELS,
    "marketer risk",
    example="marketer risk=0.05",
    spelled="marketer risk={threshold}[ in {population}]",
    paper="El Emam 2013",
    init=False,
)
class MarketerRisk(Together):
    """The share of rows that a marketer names rightly is at most the threshold.

    It is the mean over rows of 1 over the people of the population in their class or, without a population, of 1 over
    the size of their class: the number of classes over that of rows, which is also a prosecutor's average risk.

    It bounds no one's own risk: a row may be unique. Where it is too high, the classes of most risk are named for
    suppression, as few as suffice. Monotone: merged classes have no more risk together than they had apart.
    """

    several_rows = True
    threshold: Fraction = parameter("Maximum mean risk of all rows.", above=0, most=1)
    population: Table | None = parameter("File or table of the population; none: the table itself.", default=None)

    meaning = "mean risk"

    def __init__(self, threshold: Number, population: Table | None = None) -> None:
        check_parameters(self, threshold=threshold, population=population)

    @property
    def claim_text(self) -> str:
        where = f" in {self.population.card.name}" if self.population else ""
        return f"of {self.name} at most {plain(self.threshold)}{where}"

    def figures(self, classes: Classes) -> Floats:
        """For each class the risk of its rows."""
        people = self._people(classes)
        return quotient(np.ones_like(people), people)

    def figure(self, classes: Classes) -> float:
        return self.risk(classes.sizes, self._people(classes))

    def breaking(self, classes: Classes) -> Flags:
        """As few as suffice of the classes of most risk, of those of equal risk the smaller ones first. Without them
        the mean only falls, so halving finds them."""
        sizes, people = classes.sizes, self._people(classes)
        order = np.lexsort((sizes, people))

        def enough(gone: int) -> bool:
            left = order[gone:]
            return not len(left) or self._low(sizes[left], people[left])

        found = np.zeros(len(sizes), np.bool_)
        found[order[: bisect_left(range(len(order)), True, key=enough)]] = True
        return found

    def risk(self, sizes: Integers, people: Integers) -> float:
        """The mean over rows of 1 over the people in their class; there are rows."""
        return float((sizes / people).sum() / sizes.sum())

    def risk_exactly(self, sizes: Integers, people: Integers) -> Fraction:
        """The same, as the quotient it is."""
        distinct, place = np.unique(people, return_inverse=True)
        rows = np.zeros(len(distinct), np.int64)
        np.add.at(rows, place, sizes)
        parts = [Fraction(some, many) for some, many in zip(rows.tolist(), distinct.tolist(), strict=True)]
        while len(parts) > 1:  # in pairs: the long fractions come last
            parts = [sum(parts[at : at + 2], Fraction(0)) for at in range(0, len(parts), 2)]
        return parts[0] / int(sizes.sum())

    def _low(self, sizes: Integers, people: Integers) -> bool:
        risk = self.risk(sizes, people)
        if unsure(np.array(risk), float(self.threshold)):
            return self.risk_exactly(sizes, people) <= self.threshold
        return risk <= float(self.threshold)

    def _people(self, classes: Classes) -> Integers:
        return classes.sizes if self.population is None else classes.people()


@declare(
    MODELS,
    "average risk",
    example="average risk=0.05",
    spelled="average risk={threshold}[ in {population}]",
    paper="El Emam 2013",
    init=False,
)
class AverageRisk(MarketerRisk):
    """The average risk of a row is at most the threshold, for a prosecutor or, with a population, for a journalist.

    For a prosecutor it is the number of classes over that of rows. For a journalist it is the larger of the marketer's
    risk and of the number of classes over the people in them (El Emam 2013). As the marketer's, it bounds no one's own
    risk, and is monotone.
    """

    def risk(self, sizes: Integers, people: Integers) -> float:
        """The larger of the two means; without a population they are the same."""
        return max(super().risk(sizes, people), len(people) / int(people.sum()))

    def risk_exactly(self, sizes: Integers, people: Integers) -> Fraction:
        return max(super().risk_exactly(sizes, people), Fraction(len(people), int(people.sum())))
