"""Decision trees: which side of a threshold, or which value, leads to which answer.

A missing value passes no test. Leaves hold an answer and no counts.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.core.document import fields
from discreet.core.kind import Scalar
from discreet.core.report import Picture
from discreet.errors import BadInput
from discreet.verbs.learn.drawing import lines_drawn
from discreet.verbs.learn.frame import cells_of, figure_of
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

    def predict(self, rows: pa.Table) -> pa.Array[Any]:
        """The answer for each row."""
        places, answers = answered(self.root, rows.num_rows, lambda branch: _passes(branch, rows))
        told: pa.Array[Any] = pa.array([answers[place] for place in places.tolist()])
        return told

    def to_dict(self) -> dict[str, Any]:
        """This as plain data."""
        return {"kind": self.kind, "target": self.target, "tree": _written(self.root)}

    @classmethod
    def from_dict(cls, data: object) -> Tree:
        """What ``to_dict`` gave, read back strictly."""
        read = fields(data, "a tree", kind=str, target=str, tree=dict)
        return cls(read["target"], _node(read["tree"]))

    def picture(self) -> Picture:
        """The tests from the top down, what passes first."""
        return lines_drawn(f"A tree for {self.target}", list(_lines(self.root)), "What passes a test goes on above.")

    def __str__(self) -> str:
        return "\n".join(f"{'  ' * depth}{text}" for depth, text in _lines(self.root))


def answered(root: Node, rows: int, passes: Passes) -> tuple[NDArray[np.int64], list[Scalar]]:
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


def _written(node: Node) -> dict[str, Any]:
    if isinstance(node, Leaf):
        return {"answer": node.answer}
    test = {"column": node.column, "test": node.test, "value": node.value}
    return test | {"yes": _written(node.yes), "no": _written(node.no)}


def _node(data: Mapping[str, Any]) -> Node:
    if "answer" in data:
        return Leaf(fields(data, "a leaf", answer=_SCALAR)["answer"])
    read = fields(data, "a test", column=str, test=str, value=_SCALAR, yes=dict, no=dict)
    if read["test"] not in ("<", "="):
        raise BadInput(f"A test is < or =, not {read['test']!r}.")
    return Branch(read["column"], read["test"], read["value"], _node(read["yes"]), _node(read["no"]))


def _lines(node: Node, depth: int = 0, before: str = "") -> Iterator[tuple[int, str]]:
    if isinstance(node, Leaf):
        yield depth, f"{before}{node.answer}"
        return
    yield depth, f"{before}{node.column} {node.test} {node.value}?"
    yield from _lines(node.yes, depth + 1, "yes: ")
    yield from _lines(node.no, depth + 1, "no: ")
