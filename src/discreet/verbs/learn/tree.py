"""Decision trees on a public grid, and how they are grown.

A missing value passes no test. Leaves hold an answer and no counts. A tree grows where a test brings the Gini impurity
down most. Ties go to the column that comes first and the lowest test, so the rows decide and nothing else does.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from math import ceil
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.core.catalogue import declare, parameter
from discreet.core.document import fields
from discreet.core.families import LEARNERS
from discreet.core.kind import Scalar
from discreet.core.markup import drawing, tag
from discreet.core.report import Picture
from discreet.core.table import Table
from discreet.errors import BadInput
from discreet.verbs.learn.frame import (
    CategoryFeature,
    Figures,
    Frame,
    NumberFeature,
    Rows,
    as_arrow,
    cells_of,
    features_of,
    figure_of,
    target_of,
)
from discreet.verbs.learn.learner import Learner, Tell, Trainer
from discreet.verbs.publish.mask.values import numbers

_SCALAR = bool | int | float | Decimal | str | dt.date


@dataclass(frozen=True)
class Leaf:
    """An answer."""

    answer: Scalar


@dataclass(frozen=True)
class Branch:
    """A test: whether ``column`` is below ``value``, or is ``value``; what it leads to."""

    column: str
    test: str
    """``<`` or ``=``."""
    value: Scalar
    yes: Node
    no: Node


Node: TypeAlias = Leaf | Branch
Passes: TypeAlias = Callable[[Branch], NDArray[np.bool_]]


@dataclass(frozen=True)
class Tree:
    """A decision tree, as plain data."""

    kind: ClassVar[str] = "tree"
    target: str
    root: Node

    def predict(self, rows: Any) -> pa.Array[Any]:
        """The answer for each row; rows as Arrow or a data frame."""
        table = as_arrow(rows)
        places, answers = leaf_answers(self.root, table.num_rows, lambda branch: _passes(branch, table))
        told: pa.Array[Any] = pa.array([answers[place] for place in places.tolist()])
        return told

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that it predicts from."""
        return tuple(dict.fromkeys(_columns(self.root)))

    def score(self, rows: Any) -> float:
        """Share of rows whose target it predicts; rows without the target are left out."""
        table = as_arrow(rows)
        truth = cells_of(table, self.target).to_pylist()
        right = [
            told == one for told, one in zip(self.predict(table).to_pylist(), truth, strict=True) if one is not None
        ]
        if not right:
            raise BadInput(f"No row has a value of {self.target!r}.", hint="Give other rows.")
        return float(sum(right) / len(right))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "target": self.target, "tree": _node_to_dict(self.root)}

    @classmethod
    def from_dict(cls, data: object) -> Tree:
        read = fields(data, "a tree", kind=str, target=str, tree=dict)
        return cls(read["target"], _node_from_dict(read["tree"]))

    def picture(self) -> Picture:
        """The tests from the top down, what passes first."""
        return draw_lines(f"A tree for {self.target}", list(_lines(self.root)), "What passes a test goes on above.")

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * depth}{text}" for depth, text in _lines(self.root))


def leaf_answers(root: Node, rows: int, passes: Passes) -> tuple[NDArray[np.int64], list[Scalar]]:
    """For each row the place of its answer among all leaves' answers."""
    places = np.zeros(rows, np.int64)
    answers: list[Scalar] = []
    waiting = [(root, np.ones(rows, np.bool_))]
    while waiting:
        node, here = waiting.pop()
        if isinstance(node, Leaf):
            places[here] = len(answers)
            answers.append(node.answer)
        else:
            passed = passes(node)
            waiting += [(node.yes, here & passed), (node.no, here & ~passed)]
    return places, answers


def _passes(branch: Branch, rows: pa.Table) -> NDArray[np.bool_]:
    cells: Any = cells_of(rows, branch.column)
    if pa.types.is_null(cells.type):
        return np.zeros(len(cells), np.bool_)
    if branch.test == "=":
        same: Any = pc.fill_null(pc.equal(cells, pa.scalar(branch.value, cells.type)), False)
        return np.asarray(same.to_numpy(zero_copy_only=False), np.bool_)
    held = numbers(cells)
    found = np.zeros(len(held.there), np.bool_)
    found[held.there] = held.values < figure_of(branch.value)
    return found


def _columns(node: Node) -> Iterator[str]:
    if isinstance(node, Branch):
        yield node.column
        yield from _columns(node.yes)
        yield from _columns(node.no)


def _node_to_dict(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {"answer": node.answer}
    test = {"column": node.column, "test": node.test, "value": node.value}
    return test | {"yes": _node_to_dict(node.yes), "no": _node_to_dict(node.no)}


def _node_from_dict(data: Mapping[str, Any]) -> Node:
    if "answer" in data:
        return Leaf(fields(data, "a leaf", answer=_SCALAR)["answer"])
    read = fields(data, "a test", column=str, test=str, value=_SCALAR, yes=dict, no=dict)
    if read["test"] not in ("<", "="):
        raise BadInput(f"A test is < or =, not {read['test']!r}.")
    return Branch(
        read["column"], read["test"], read["value"], _node_from_dict(read["yes"]), _node_from_dict(read["no"])
    )


def _lines(node: Node, depth: int = 0, before: str = "") -> Iterator[tuple[int, str]]:
    if isinstance(node, Leaf):
        yield depth, f"{before}{node.answer}"
        return
    yield depth, f"{before}{node.column} {node.test} {node.value}?"
    yield from _lines(node.yes, depth + 1, "yes: ")
    yield from _lines(node.no, depth + 1, "no: ")


_WIDTH, _ROW, _STEP = 640, 24, 28
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#243040}path{stroke:#8a97a6;fill:none}"
    "@media(prefers-color-scheme:dark){text{fill:#dde4ec}path{stroke:#7b8896}}"
)


def draw_lines(title: str, lines: Sequence[tuple[int, str]], caption: str) -> Picture:
    """Each line is moved in by its depth, and joined to the last one before it that is less deep."""
    drawn = []
    last: dict[int, int] = {}
    for row, (depth, text) in enumerate(lines):
        middle = row * _ROW + 14
        if depth:
            x = (depth - 1) * _STEP + 8
            drawn.append(tag("path", d=f"M{x},{last[depth - 1] + 8}V{middle}h{_STEP - 12}"))
        last[depth] = middle
        drawn.append(tag("text", text, x=depth * _STEP + 4, y=middle + 4))
    said = "; ".join(text for _, text in lines)
    return Picture(title, caption, drawing(_WIDTH, len(lines) * _ROW + 8, title, drawn, said=said, sheet=_STYLE))


_LEAST = 0.01
"""Fewest rows on each side of a test, as a share of all."""
_DEEPEST = 8
MOST_CLASSES = 64
"""Largest number of values of a target."""


@declare(LEARNERS, "tree", rank=0, example="learn tree target=COLUMN integral=20")
class DecisionTree(Learner):
    """Learn a tree that tells ``target``, a column with declared values, from the others.

    Numbers are compared with the borders of ``grid`` equal intervals between their bounds. A test is made only if it
    brings the impurity of all rows down by ``gain``: tests that hardly matter would be different in every sample.
    """

    name: ClassVar[str]
    measure: ClassVar[str] = "accuracy"
    model = Tree
    target: str = parameter("Column to predict.", column="any")
    columns: tuple[str, ...] = parameter("Columns to learn from; by default all others.", default=(), clause="on")
    depth: int = parameter(
        "Maximum number of tests per path; deep trees rarely recur.", default=3, least=1, most=_DEEPEST
    )
    grid: int = parameter("Number of intervals between the bounds of a number.", default=10, least=2, most=1000)
    gain: float = parameter("Minimum decrease of impurity by a test.", default=0.005, least=0, below=1)

    @property
    def queries(self) -> int:
        """Counts are asked for once a level."""
        return self.depth

    def frame(self, table: Table) -> Frame:
        """The target is the last column."""
        target = target_of(table, self.target)
        if not isinstance(target, CategoryFeature):
            raise BadInput(f"A tree predicts declared values, and {self.target!r} is a number.", hint="Use linear.")
        if not 2 <= len(target.values) <= MOST_CLASSES:
            raise BadInput(f"{self.target!r} must have 2 to {MOST_CLASSES} values, and has {len(target.values)}.")
        features = features_of(table.card, self.columns, but=self.target)
        return Frame.of(table, (*features, target), (self.target,))

    def trainer(self, frame: Frame) -> TreeTrainer:
        return TreeTrainer(self, frame)

    def steps(self) -> tuple[str, ...]:
        return (
            f"Thresholds are the borders of {self.grid} equal intervals between the declared bounds.",
            f"Trees have up to {self.depth} tests per path, each of which reduces the Gini impurity by at least "
            f"{self.gain:g}; leaves hold an answer and no counts.",
        )


class TreeTrainer(Trainer):
    """A frame as codes, and all tests there can be."""

    @cached_property
    def _target(self) -> CategoryFeature:
        target = self.frame.features[-1]
        assert isinstance(target, CategoryFeature)  # noqa: S101  # DecisionTree.frame has looked
        return target

    @cached_property
    def _edges(self) -> list[Figures]:
        """Thresholds of each feature; none for categories."""
        return [
            one.edges(self.learner.grid) if isinstance(one, NumberFeature) else np.empty(0)
            for one in self.frame.features[:-1]
        ]

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """Rows × features: the interval or value; the last code stands for a missing one."""
        found = []
        for place, (one, edges) in enumerate(zip(self.frame.features[:-1], self._edges, strict=True)):
            figures = self.frame.figures[:, place]
            codes = np.searchsorted(edges, figures, side="right") if isinstance(one, NumberFeature) else figures
            found.append(np.where(np.isnan(figures), _size(one, edges) - 1, codes).astype(np.int64))
        return np.stack(found, axis=1)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        """First code of each feature in one numbering; at the end, the number of codes."""
        sizes = [_size(one, edges) for one, edges in zip(self.frame.features[:-1], self._edges, strict=True)]
        return np.cumsum([0, *sizes])

    @cached_property
    def _cells(self) -> NDArray[np.int64]:
        """Rows × features: which count a row adds one to."""
        classes = self.frame.figures[:, -1].astype(np.int64)
        return (self._codes + self._starts[:-1]) * len(self._target.values) + classes[:, None]

    @cached_property
    def _tests(self) -> list[tuple[int, int]]:
        """A feature and a code: below it, or the very same."""
        found = []
        for place, (one, edges) in enumerate(zip(self.frame.features[:-1], self._edges, strict=True)):
            if isinstance(one, NumberFeature):
                found += [(place, code) for code in range(1, len(edges) + 1)]
            else:
                found += [(place, code) for code in range(len(one.values))]
        return found

    @cached_property
    def _test_matrix(self) -> Figures:
        """Tests × codes: one, where a code passes a test."""
        made = np.zeros((len(self._tests), int(self._starts[-1])))
        for row, (place, code) in enumerate(self._tests):
            start = self._starts[place]
            first = start if isinstance(self.frame.features[place], NumberFeature) else start + code
            last = start + code if isinstance(self.frame.features[place], NumberFeature) else start + code + 1
            made[row, first:last] = 1.0
        return made

    def train(self, rows: Rows, tell: Tell) -> Tree:
        """Level by level: the counts of all rows first, then a test or an answer for each node."""
        found: dict[int, Branch | Leaf] = {}
        tests: dict[int, int] = {}
        node = np.ones(len(rows), np.int64)  # the root is 1, and 2i and 2i + 1 are below i
        open_ = [1]
        answers: dict[int, int] = {}
        total = 0.0
        for _ in range(self.learner.depth):
            if not open_:
                break
            counts = tell(self._count_codes(rows, node, open_), float(len(self.frame.features) - 1))
            total = total or float(np.maximum(counts[0, : self._starts[1]], 0).sum())
            below = []
            for place, one in enumerate(open_):
                best, yes, no, all_ = self._best(counts[place], total)
                answers.setdefault(one, int(np.argmax(all_)))
                if best is None:
                    continue
                tests[one] = best
                answers |= {2 * one: int(np.argmax(yes)), 2 * one + 1: int(np.argmax(no))}
                below += [2 * one, 2 * one + 1]
            node, rows = self._move_rows(rows, node, tests, open_)
            open_ = below
        for one in sorted(answers, reverse=True):
            found[one] = self._make_node(one, tests, found, answers)
        return Tree(self._target.name, found[1])

    def score(self, model: Tree, rows: Rows) -> float:
        """The share of rows for which the answer is right."""
        figures = self.frame.figures[rows]
        at = {one.name: place for place, one in enumerate(self.frame.features)}

        def passes(branch: Branch) -> NDArray[np.bool_]:
            one = self.frame.features[at[branch.column]]
            if isinstance(one, CategoryFeature):
                return np.asarray(figures[:, at[branch.column]] == one.values.index(branch.value))
            return np.asarray(figures[:, at[branch.column]] < figure_of(branch.value))

        places, said = leaf_answers(model.root, len(rows), passes)
        told = np.array([self._target.values.index(one) for one in said])[places]
        return float(np.mean(told == figures[:, -1])) if len(rows) else 0.0

    def _count_codes(self, rows: Rows, node: NDArray[np.int64], open_: list[int]) -> Figures:
        """Nodes × codes × answers."""
        classes = len(self._target.values)
        width = int(self._starts[-1]) * classes
        place = np.searchsorted(open_, node)
        at = self._cells[rows] + (place * width)[:, None]
        counts = np.bincount(at.ravel(), minlength=len(open_) * width)
        return counts.reshape(len(open_), -1, classes).astype(np.float64)

    def _best(self, counts: Figures, rows: float) -> tuple[int | None, Figures, Figures, Figures]:
        """The test that brings the impurity down most, if any does by enough, with the answers on both sides."""
        all_ = np.maximum(counts, 0)[: self._starts[1]].sum(axis=0)
        if not self._tests:
            return None, all_, all_, all_
        yes = self._test_matrix @ np.maximum(counts, 0)
        no = np.maximum(all_ - yes, 0)
        many, few = yes.sum(axis=1), no.sum(axis=1)
        least = max(1, ceil(_LEAST * rows))
        pure = _purity(yes, many) + _purity(no, few)
        pure[(many < least) | (few < least)] = -1.0
        best = int(np.argmax(pure))
        whole_ = float(_purity(all_[None, :], all_.sum(keepdims=True))[0])
        enough = pure[best] - whole_ > max(self.learner.gain, 1e-9) * rows
        return (best if enough else None), yes[best], no[best], all_

    def _move_rows(
        self, rows: Rows, node: NDArray[np.int64], tests: Mapping[int, int], open_: list[int]
    ) -> tuple[NDArray[np.int64], Rows]:
        """Rows go on to where their test leads; those at a leaf are done."""
        chosen = np.array([tests.get(one, -1) for one in open_])[np.searchsorted(open_, node)]
        on = chosen >= 0
        rows, node, chosen = rows[on], node[on], chosen[on]
        places, codes = (np.array(self._tests, np.int64).reshape(-1, 2)[chosen]).T
        graded = np.array([isinstance(one, NumberFeature) for one in self.frame.features])[places]
        held = self._codes[rows, places]
        passed = np.where(graded, held < codes, held == codes)
        return 2 * node + ~passed, rows

    def _make_node(
        self, one: int, tests: Mapping[int, int], found: Mapping[int, Node], answers: Mapping[int, int]
    ) -> Node:
        if one not in tests:
            return Leaf(self._target.values[answers[one]])
        yes, no = found[2 * one], found[2 * one + 1]
        if yes == no:
            return yes  # a test that changes nothing is none
        place, code = self._tests[tests[one]]
        feature = self.frame.features[place]
        if isinstance(feature, CategoryFeature):
            return Branch(feature.name, "=", feature.values[code], yes, no)
        return Branch(feature.name, "<", feature.shown(float(self._edges[place][code - 1])), yes, no)


def _size(one: NumberFeature | CategoryFeature, edges: Figures) -> int:
    """Number of codes, that of missing values among them."""
    return (len(edges) + 1 if isinstance(one, NumberFeature) else len(one.values)) + 1


def _purity(counts: Figures, sizes: Figures) -> Figures:
    """Rows less their Gini impurity: the squares of the counts over their sum."""
    return np.asarray((counts * counts).sum(axis=1) / np.maximum(sizes, 1.0))
