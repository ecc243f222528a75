"""A decision tree by counts (ID3, Quinlan 1986): all open nodes of a level are counted in one sum.

All parties choose the same splits, since they see the same counts and compare them in decimals, which are the same
on every machine. A node is split by the column that leaves the least entropy of the classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any, ClassVar

from discreet.errors import BadInput
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.effects import Play
from discreet.verbs.combine.functions.fields import Choice, choices, counted
from discreet.verbs.combine.functions.function import Answer, Function, require_few
from discreet.verbs.combine.numbers import MOST_ROWS
from discreet.verbs.combine.summing import Summer
from discreet.verbs.combine.terms import Terms

_DIGITS = 40
_SAME = Decimal(10) ** -20


@dataclass
class _Node:
    """A place in the tree: who comes here, and what is asked of them."""

    path: Mapping[str, str]
    classes: tuple[int, ...]
    before: str
    """What the node above would say."""
    split: str = ""
    children: dict[str, _Node] = field(default_factory=dict)


@dataclass(frozen=True)
class Tree(Function):
    """A tree of questions that tells one of some classes."""

    y: str
    x: str
    depth: int = 3
    name: ClassVar[str] = "tree"
    title: ClassVar[str] = "a decision tree by counts, level by level"
    example: ClassVar[str] = "tree y=play:no|yes x=outlook:sunny|overcast|rain,windy:no|yes depth=3"

    def play(self, summer: Summer, data: Data) -> Play[Answer]:
        """Level by level, from the root."""
        target, inputs = self._fields(summer.terms)
        rows = counted(data, (target, *inputs))
        root: _Node | None = None
        level = [_Node({}, (), "")]
        for _ in range(self.depth):
            level = [node for node in level if len(node.path) < len(inputs)]
            if not level:
                break
            wanted = [(node, choice) for node in level for choice in inputs if choice.name not in node.path]
            require_few(sum(len(choice.values) for _, choice in wanted) * len(target.values))
            own = [n for node, choice in wanted for n in _cells(rows, node, choice, target, inputs)]
            totals = iter((yield from summer.total(own, 0, MOST_ROWS)).values)
            found: dict[int, list[tuple[Choice, list[tuple[int, ...]]]]] = {}
            for node, choice in wanted:
                cells = [tuple(next(totals) for _ in target.values) for _ in choice.values]
                found.setdefault(id(node), []).append((choice, cells))
            root = root or level[0]
            level = [child for node in level for child in _split(node, found[id(node)], target)]
        assert root is not None  # noqa: S101  # a depth of one at least, and a column
        return Answer(_told(root, target), self.reveals(summer.terms))

    def sums(self, terms: Terms) -> int:
        """One a level."""
        return self.depth

    def reveals(self, terms: Terms) -> tuple[str, ...]:
        """The counts that splits are chosen by."""
        return (
            "Everybody learns, for every node of the tree that could be split, how many rows of each class have each "
            "category of each column that was not asked yet.",
        )

    def check(self, terms: Terms) -> None:
        """Categories are needed."""
        self._fields(terms)
        if self.depth < 1:
            raise BadInput("A tree has a depth of one at least.")
        super().check(terms)

    def _fields(self, terms: Terms) -> tuple[Choice, tuple[Choice, ...]]:
        [target, *more] = choices(self.y, terms)
        inputs = choices(self.x, terms)
        if more or target.name in {choice.name for choice in inputs}:
            raise BadInput("y is one column, and none of x.", hint=f"Write: {self.example}")
        return target, inputs


def _cells(
    rows: Counter[tuple[str, ...]], node: _Node, choice: Choice, target: Choice, inputs: tuple[Choice, ...]
) -> list[int]:
    """Of the rows that come to a node: how many have each category of a column and each class."""
    places = {one.name: place for place, one in enumerate(inputs, 1)}
    found: Counter[tuple[str, str]] = Counter()
    for values, n in rows.items():
        if all(values[places[name]] == value for name, value in node.path.items()):
            found[values[places[choice.name]], values[0]] += n
    return [found[value, one] for value in choice.values for one in target.values]


def _split(node: _Node, options: list[tuple[Choice, list[tuple[int, ...]]]], target: Choice) -> list[_Node]:
    """Split a node by the column that leaves the least entropy, if any leaves less; gives the nodes still open."""
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
    """The entropy of the classes left in these cells, times the number of rows; rounded, so that equals are equal."""
    with localcontext() as context:
        context.prec = _DIGITS
        left = Decimal(0)
        for classes in cells:
            left += sum(((n * Decimal(n).ln()) for n in (sum(classes),) if n), Decimal(0))
            left -= sum((n * Decimal(n).ln() for n in classes if n), Decimal(0))
        return left.quantize(_SAME)


def _majority(node: _Node, target: Choice) -> str:
    if not any(node.classes):
        return node.before
    return target.values[node.classes.index(max(node.classes))]


def _told(node: _Node, target: Choice) -> dict[str, Any]:
    said: dict[str, Any] = {
        "says": _majority(node, target),
        "rows": dict(zip(target.values, node.classes, strict=True)),
    }
    if node.split:
        said["asks"] = node.split
        said["answers"] = {value: _told(child, target) for value, child in node.children.items()}
    return said
