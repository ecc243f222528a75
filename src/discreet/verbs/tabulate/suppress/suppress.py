"""Suppression: the method that hides sensitive cells and as few others as protect them."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import numpy as np

from discreet.core.catalogue import check_parameters, declare, parameter
from discreet.core.families import TABLE_METHODS
from discreet.core.statement import Claim
from discreet.errors import BadInput
from discreet.verbs.tabulate.method import Pattern, ProtectedTable, ProtectionProblem
from discreet.verbs.tabulate.suppress.fast import fast
from discreet.verbs.tabulate.suppress.modular import modular
from discreet.verbs.tabulate.suppress.optimal import optimal
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Numbers

_WEIGHTS = ("value", "cells", "log", "respondents")
_SEARCHES: dict[str, Callable[..., Pattern]] = {"optimal": optimal, "modular": modular, "fast": fast}
_EXACT_UP_TO, _PLAIN_UP_TO = 5_000, 200_000
_MODULAR_UP_TO = 200_000


@declare(TABLE_METHODS, "suppress", rank=0, paper="Fischetti and Salazar 1999", extra="tabulate")
class Suppress:
    """Suppress the sensitive cells, and as few others as possible so that they cannot be computed."""

    name: ClassVar[str]
    needs_sensitivity_rules: ClassVar[bool] = True
    how: str = parameter("Search; auto: by the table's size and shape.", default="auto", choices=("auto", *_SEARCHES))
    weight: str = parameter("Cost of suppressing a cell.", default="value", choices=tuple(_WEIGHTS))
    seconds: float = parameter("Time limit of the search, seconds.", default=60.0, above=0)
    gap: float = parameter("Relative gap to the optimum at which the search stops.", default=0.0, least=0, below=1)
    zeros: bool = parameter("Whether non-sensitive zero cells may be suppressed.", default=False)

    def __post_init__(self) -> None:
        check_parameters(self)

    def apply(self, problem: ProtectionProblem) -> ProtectedTable:
        cells, protection = problem.cells, problem.protection
        weights = problem.weights if problem.weights is not None else self._weights(cells)
        candidates = ~protection.sensitive & ((cells.values != 0) | self.zeros)
        pattern = _SEARCHES[self._chosen(cells)](
            cells, protection, weights, candidates, seconds=self.seconds, gap=self.gap, progress=problem.progress
        )
        claim = Claim(
            "protection-intervals",
            "protected by suppression: no sensitive figure can be computed more closely than its rule allows",
        )
        return ProtectedTable(
            cells.values,
            pattern.hidden,
            (claim,),
            (
                "An intruder who knows more than the published table may come closer.",
                "An intruder who knows the rules and the suppression costs may rule out figures for which "
                "other cells would have been suppressed.",
            ),
            (
                "sensitive cells were suppressed (primary), and others with them (secondary), so that no "
                "figure can be computed too closely; the computable interval of each was checked before release",
            ),
            pattern=pattern,
        )

    def _chosen(self, cells: Cells) -> str:
        if self.how != "auto":
            return self.how
        plain = len(cells.tables) == 1 and len(cells.tables[0].shape) <= 2
        plain &= not any(side.nested for table in cells.tables for side in table.dimensions)
        if len(cells) <= (_PLAIN_UP_TO if plain else _EXACT_UP_TO):
            return "optimal"
        return "modular" if len(cells) <= _MODULAR_UP_TO else "fast"

    def _weights(self, cells: Cells) -> Numbers:
        size = np.maximum(np.abs(cells.values).astype(np.float64), 1.0)
        match self.weight:
            case "value":
                return size
            case "cells":
                return np.ones(len(cells))
            case "log":
                return np.log1p(size)
        if cells.counts is None:
            raise BadInput("The number of respondents of a cell is unknown.", hint="Weigh by value, cells or log.")
        return np.maximum(cells.counts.astype(np.float64), 1.0)
