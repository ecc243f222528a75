"""Reach of one cell: how far it can rise or fall, with the changes of other cells that show it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

_Numbers = np.ndarray[Any, Any]


def nothing() -> _Numbers:
    """No cells."""
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Cut:
    """Why a cell can do no more: it cannot change by more than the sum over these cells of ``rises`` times how much
    they may rise and ``falls`` times how much they may fall, whatever those are."""

    cells: _Numbers
    rises: _Numbers
    falls: _Numbers


@dataclass(frozen=True, eq=False)
class Reach:
    """How far a cell can rise (or fall) if others change too.

    The changes that let it do so are the witness: the pattern protects as long as these cells are hidden.
    """

    amount: float
    moved: _Numbers = field(default_factory=nothing)
    """The other cells that change."""
    by: _Numbers = field(default_factory=nothing)
    """By how much."""
    cuts: tuple[Cut, ...] = ()
    """None if the cell reaches enough."""
