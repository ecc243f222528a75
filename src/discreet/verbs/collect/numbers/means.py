"""All protocols for means by their names, and which of them is the most accurate."""

from __future__ import annotations

from collections.abc import Mapping

from discreet.core.exact import Number
from discreet.verbs.collect.numbers.duchi import Duchi
from discreet.verbs.collect.numbers.grid import Grid
from discreet.verbs.collect.numbers.hybrid import Hybrid
from discreet.verbs.collect.numbers.laplace import Laplace
from discreet.verbs.collect.numbers.mean import MeanProtocol
from discreet.verbs.collect.numbers.window import Piecewise, SquareWave

_ALL: tuple[type[MeanProtocol], ...] = (Laplace, Duchi, Piecewise, Hybrid, SquareWave)
MEANS: Mapping[str, type[MeanProtocol]] = {protocol.name: protocol for protocol in _ALL}


def most_accurate(grid: Grid, epsilon: Number) -> MeanProtocol:
    """The protocol whose error is least for the number that it is worst for: known before anybody answers."""
    return min((made(grid, epsilon) for made in _ALL), key=lambda protocol: float(protocol.variances.max()))
