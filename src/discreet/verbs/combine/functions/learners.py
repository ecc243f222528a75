"""Naive Bayes, decision trees and k-means on pooled rows, by secure sums.

**Naive Bayes by one secure sum: class counts, and by class the category counts or moments of each column.** What one
row can change: one count of the classes, one of each column of categories, and of each column of numbers the sum and
the sum of squares of one class. These share the loss evenly.

**Decision tree (ID3, Quinlan 1986): one secure sum for all open nodes of a level.** All parties choose the same splits,
since they see the same counts and compare them in decimals, which are the same on every machine. A node is split by the
column that leaves the least entropy of the classes.

**k-means: each round sums, for each centre, the number of nearest rows and their columns.** Distances are taken with
every column scaled by its declared bounds. The first centres are spread over the bounds (Halton's points), so that
nothing is taken from the data; rounds end when no total changes. It is Lloyd's method on the pooled rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.distributed_noise import FigureSensitivity
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS, exact_sum
from discreet.verbs.combine.functions.function import (
    CategoryColumn,
    DeclaredColumn,
    Function,
    NumberColumn,
    SingleSumFunction,
    as_rows,
    bounds_over_rows,
    category_columns,
    count_categories,
    limit_figures,
    number_columns,
    parse_columns,
    target_column,
)
from discreet.verbs.combine.functions.sums import mean_and_variance, moments
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Result, Terms

_ENTROPY_DIGITS = 40
_ENTROPY_STEP = Decimal(10) ** -20
_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)


@declare(COMBINE_FUNCTIONS, "bayes", rank=12)
class Bayes(SingleSumFunction):
    """Naive Bayes classifier: class counts, and the distribution of each column by class.

    Probabilities of categories are (count + 1) / (rows + categories), so that none is zero.
    """

    y: str = parameter("Column to explain, with categories.")
    x: str = parameter("Columns that explain it, with bounds or categories.")
    title: ClassVar[str] = "naive Bayes: counts, means and variances by class"
    example: ClassVar[str] = "bayes y=ill:no|yes x=smoker:no|yes,age:0:110"

    def bounds(self, terms: Terms) -> tuple[list[int], list[int]]:
        target, inputs = self._fields(terms)
        least, most = [0] * len(target.values), [1] * len(target.values)
        for column in inputs:
            width = column.encoding.width if isinstance(column, NumberColumn) else 0
            for low, high in [(-width, width), (0, width * width)] if isinstance(column, NumberColumn) else [(0, 1)]:
                each = len(target.values) * (len(column.values) if isinstance(column, CategoryColumn) else 1)
                least, most = [*least, *[low] * each], [*most, *[high] * each]
        return bounds_over_rows(least, most)

    def local(self, data: Data, terms: Terms) -> list[int]:
        target, inputs = self._fields(terms)
        classes = count_categories(data, (target,))
        figures = [classes[value,] for value in target.values]
        codes = target.codes(data) if any(isinstance(column, NumberColumn) for column in inputs) else None
        for column in inputs:
            if isinstance(column, CategoryColumn):
                cells = count_categories(data, (target, column))
                figures += [cells[pair] for pair in product(target.values, column.values)]
                continue
            units = column.units(data)
            assert codes is not None  # noqa: S101  # there is a measure
            parts = [units[codes == place] for place in range(len(target.values))]
            _, first, second = zip(*(moments(part, part * 0 + 1, column, 2) for part in parts), strict=True)
            figures += [*first, *second]
        return figures

    def sensitivities(self, terms: Terms) -> tuple[FigureSensitivity, ...]:
        """A row is in one class, and in one category of each column."""
        target, inputs = self._fields(terms)
        size = len(target.values)
        sensitivities = [FigureSensitivity(size, 1)]
        for column in inputs:
            if isinstance(column, CategoryColumn):
                sensitivities.append(FigureSensitivity(size * len(column.values), 1))
            else:
                width = max(column.encoding.width, 1)
                sensitivities += [FigureSensitivity(size, width), FigureSensitivity(size, width**2)]
        return tuple(sensitivities)

    def answer(self, totals: list[int], terms: Terms) -> dict[str, Any]:
        target, inputs = self._fields(terms)
        tables: dict[str, Any] = {}
        left = iter(totals)
        classes = {value: next(left) for value in target.values}
        for column in inputs:
            if isinstance(column, CategoryColumn):
                rows = []
                for one, value in product(target.values, column.values):
                    n = next(left)
                    among = max(classes[one], 0) + len(column.values)
                    rows.append((one, value, n, min((max(n, 0) + 1) / among, 1.0)))
                tables[column.name] = as_rows([target.name, column.name, "rows", "chance"], rows)
                continue
            first = [next(left) for _ in target.values]
            second = [next(left) for _ in target.values]
            noisy = terms.epsilon is not None
            summaries = (
                (one, *mean_and_variance([classes[one], a, b], column, noisy=noisy))
                for one, a, b in zip(target.values, first, second, strict=True)
            )
            tables[column.name] = as_rows([target.name, "mean", "variance"], summaries)
        return {"classes": classes, "given": tables}

    def check(self, terms: Terms) -> None:
        target, inputs = self._fields(terms)
        limit_figures(len(target.values) * sum(len(f.values) if isinstance(f, CategoryColumn) else 2 for f in inputs))
        super().check(terms)

    def _fields(self, terms: Terms) -> tuple[CategoryColumn, tuple[DeclaredColumn, ...]]:
        inputs = parse_columns(self.x, terms)
        return target_column(self.y, inputs, terms, self.example), inputs


@dataclass
class _Node:
    """A node: the path to it, its class counts, and its split."""

    path: Mapping[str, str]
    classes: tuple[int, ...]
    parent_majority: str
    """Majority class of the parent."""
    split: str = ""
    children: dict[str, _Node] = field(default_factory=dict)


@declare(COMBINE_FUNCTIONS, "tree", rank=13)
class Id3Tree(Function):
    """Decision tree over categories."""

    y: str = parameter("Column to explain, with categories.")
    x: str = parameter("Columns that explain it, with categories.")
    depth: int = parameter("Depth of the tree.", default=3)
    title: ClassVar[str] = "a decision tree by counts, level by level"
    example: ClassVar[str] = "tree y=play:no|yes x=outlook:sunny|overcast|rain,windy:no|yes depth=3"

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        target, inputs = self._fields(secure_sums.terms)
        rows = count_categories(data, (target, *inputs))
        root: _Node | None = None
        level = [_Node({}, (), "")]
        for _ in range(self.depth):
            level = [node for node in level if len(node.path) < len(inputs)]
            if not level:
                break
            wanted = [(node, choice) for node in level for choice in inputs if choice.name not in node.path]
            limit_figures(sum(len(choice.values) for _, choice in wanted) * len(target.values))
            own = [n for node, choice in wanted for n in _cells(rows, node, choice, target, inputs)]
            totals = iter((yield from secure_sums.total(own, 0, MAX_PARTY_ROWS)).values)
            options: dict[int, list[tuple[CategoryColumn, list[tuple[int, ...]]]]] = {}
            for node, choice in wanted:
                cells = [tuple(next(totals) for _ in target.values) for _ in choice.values]
                options.setdefault(id(node), []).append((choice, cells))
            root = root or level[0]
            level = [child for node in level for child in _split(node, options[id(node)], target)]
        assert root is not None  # noqa: S101  # a depth of one at least, and a column
        return secure_sums.result(_as_data(root, target), self.reveals(secure_sums.terms))

    def sums(self, terms: Terms) -> int:
        return self.depth

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        return (
            "All parties learn, for every node of the tree that could be split, the number of rows of each "
            "class and category of each unused column.",
        )

    def check(self, terms: Terms) -> None:
        self._fields(terms)
        if self.depth < 1:
            raise BadInput("A tree needs a depth of at least 1.")
        super().check(terms)

    def _fields(self, terms: Terms) -> tuple[CategoryColumn, tuple[CategoryColumn, ...]]:
        inputs = category_columns(self.x, terms)
        return target_column(self.y, inputs, terms, self.example), inputs


def _cells(
    rows: Counter[tuple[str, ...]],
    node: _Node,
    choice: CategoryColumn,
    target: CategoryColumn,
    inputs: tuple[CategoryColumn, ...],
) -> list[int]:
    """Number of a node's rows with each category of a column and each class."""
    places = {one.name: place for place, one in enumerate(inputs, 1)}
    counts: Counter[tuple[str, str]] = Counter()
    for values, n in rows.items():
        if all(values[places[name]] == value for name, value in node.path.items()):
            counts[values[places[choice.name]], values[0]] += n
    return [counts[value, one] for value in choice.values for one in target.values]


def _split(
    node: _Node, options: list[tuple[CategoryColumn, list[tuple[int, ...]]]], target: CategoryColumn
) -> list[_Node]:
    """Split a node by the column that leaves the least entropy, if any reduces it; gives the open children."""
    node.classes = node.classes or tuple(map(sum, zip(*options[0][1], strict=True)))
    if sum(map(bool, node.classes)) < 2:
        return []
    least, (choice, cells) = min(
        ((_entropy(cells), (choice, cells)) for choice, cells in options), key=lambda option: option[0]
    )
    if least >= _entropy([node.classes]):
        return []
    node.split = choice.name
    says = _majority(node, target)
    for value, classes in zip(choice.values, cells, strict=True):
        node.children[value] = _Node({**node.path, choice.name: value}, classes, says)
    return [child for child in node.children.values() if sum(map(bool, child.classes)) > 1]


def _entropy(cells: list[tuple[int, ...]]) -> Decimal:
    """Conditional entropy of the classes, times the number of rows; rounded, so that ties are exact."""
    with localcontext() as context:
        context.prec = _ENTROPY_DIGITS
        left = Decimal(0)
        for classes in cells:
            left += sum(((n * Decimal(n).ln()) for n in (sum(classes),) if n), Decimal(0))
            left -= sum((n * Decimal(n).ln() for n in classes if n), Decimal(0))
        return left.quantize(_ENTROPY_STEP)


def _majority(node: _Node, target: CategoryColumn) -> str:
    if not any(node.classes):
        return node.parent_majority
    return target.values[node.classes.index(max(node.classes))]


def _as_data(node: _Node, target: CategoryColumn) -> dict[str, Any]:
    document: dict[str, Any] = {
        "says": _majority(node, target),
        "rows": dict(zip(target.values, node.classes, strict=True)),
    }
    if node.split:
        document["asks"] = node.split
        document["answers"] = {value: _as_data(child, target) for value, child in node.children.items()}
    return document


@declare(COMBINE_FUNCTIONS, "kmeans", rank=14)
class KMeans(Function):
    """k-means: centres of clusters, and the number of rows of each."""

    x: str = parameter("Columns, with bounds.")
    k: int = parameter("Number of groups.")
    rounds: int = parameter("Rounds at most.", default=50)
    title: ClassVar[str] = "k-means, in rounds"
    example: ClassVar[str] = "kmeans x=age:0:110,income:0:100000 k=3"

    def play(self, secure_sums: SecureSums, data: Data) -> Play[Result]:
        """Iterate until no total changes. A centre without rows stays where it is."""
        of = number_columns(self.x, secure_sums.terms)
        units = [measure.units(data) for measure in of]
        places = np.column_stack([measure.scaled(column) for measure, column in zip(of, units, strict=True)])
        low, high = bounds_over_rows(
            [0, *(one.encoding.low for one in of)] * self.k, [1, *(one.encoding.high for one in of)] * self.k
        )
        centres = [
            [
                one.encoding.low + _halton(place + 1, prime) * one.encoding.width
                for one, prime in zip(of, _PRIMES, strict=False)
            ]
            for place in range(self.k)
        ]
        sizes: list[int] = []
        before: list[int] = []
        done, converged = 0, False
        while done < self.rounds and not converged:
            done += 1
            scaled = [
                [float((2 * at - one.middle) / max(one.encoding.width, 1)) for at, one in zip(centre, of, strict=True)]
                for centre in centres
            ]
            far = [((places - np.array(centre)) ** 2).sum(axis=1) for centre in scaled]
            nearest = np.argmin(far, axis=0)
            own = []
            for place in range(self.k):
                mine = nearest == place
                own += [int(mine.sum()), *(exact_sum(column[mine]) for column in units)]
            totals = (yield from secure_sums.total(own, low, high)).values
            converged, before = totals == before, totals
            groups = [totals[i : i + len(of) + 1] for i in range(0, len(totals), len(of) + 1)]
            sizes = [n for n, *_ in groups]
            centres = [
                [Fraction(total, n) for total in sums] if n else old
                for (n, *sums), old in zip(groups, centres, strict=True)
            ]
        rows = (
            (*(float(one.encoding.fraction(at)) for at, one in zip(centre, of, strict=True)), n)
            for centre, n in zip(centres, sizes, strict=True)
        )
        table = as_rows([*(one.name for one in of), "rows"], rows)
        return secure_sums.result({**table, "converged": converged, "rounds": done}, self.reveals(secure_sums.terms))

    def sums(self, terms: Terms) -> int:
        return self.rounds

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        return (
            f"All parties learn, in each of up to {self.rounds} rounds, the number of rows nearest to each "
            "centre and their column sums.",
        )

    def check(self, terms: Terms) -> None:
        of = number_columns(self.x, terms)
        if self.k < 1 or self.rounds < 1 or len(of) > len(_PRIMES):
            raise BadInput(f"k-means needs at least one centre and one round, and at most {len(_PRIMES)} columns.")
        limit_figures(self.k * (len(of) + 1))
        super().check(terms)


def _halton(place: int, base: int) -> Fraction:
    """Halton sequence: the digits of a number in some base, mirrored at the point."""
    point, part = Fraction(0), Fraction(1, base)
    while place:
        place, digit = divmod(place, base)
        point, part = point + digit * part, part / base
    return point
