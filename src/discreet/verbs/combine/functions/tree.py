"""Decision tree by counts (ID3, Quinlan 1986): one secure sum for all open nodes of a level.

All parties choose the same splits, since they see the same counts and compare them in decimals, which are the same
on every machine. A node is split by the column that leaves the least entropy of the classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any, ClassVar

from discreet.core.catalogue import declare, parameter
from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import BadInput
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.fixed_point import MAX_PARTY_ROWS
from discreet.verbs.combine.functions.function import (
    CategoryColumn,
    Function,
    category_columns,
    count_categories,
    limit_figures,
    target_column,
)
from discreet.verbs.combine.result import Result
from discreet.verbs.combine.secure_sums import SecureSums
from discreet.verbs.combine.terms import Terms

_ENTROPY_DIGITS = 40
_ENTROPY_STEP = Decimal(10) ** -20


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
        """Grow the tree level by level, from the root."""
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
            found: dict[int, list[tuple[CategoryColumn, list[tuple[int, ...]]]]] = {}
            for node, choice in wanted:
                cells = [tuple(next(totals) for _ in target.values) for _ in choice.values]
                found.setdefault(id(node), []).append((choice, cells))
            root = root or level[0]
            level = [child for node in level for child in _split(node, found[id(node)], target)]
        assert root is not None  # noqa: S101  # a depth of one at least, and a column
        return secure_sums.result(_as_data(root, target), self.reveals(secure_sums.terms))

    def sums(self, terms: Terms) -> int:
        """One sum a level."""
        return self.depth

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """Every party sees the counts by which splits are chosen."""
        return (
            "Everybody learns, for every node of the tree that could be split, how many rows of each class have each "
            "category of each column that was not asked yet.",
        )

    def check(self, terms: Terms) -> None:
        """Require categories."""
        self._fields(terms)
        if self.depth < 1:
            raise BadInput("A tree has a depth of one at least.")
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
    found: Counter[tuple[str, str]] = Counter()
    for values, n in rows.items():
        if all(values[places[name]] == value for name, value in node.path.items()):
            found[values[places[choice.name]], values[0]] += n
    return [found[value, one] for value in choice.values for one in target.values]


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
    said: dict[str, Any] = {
        "says": _majority(node, target),
        "rows": dict(zip(target.values, node.classes, strict=True)),
    }
    if node.split:
        said["asks"] = node.split
        said["answers"] = {value: _as_data(child, target) for value, child in node.children.items()}
    return said
