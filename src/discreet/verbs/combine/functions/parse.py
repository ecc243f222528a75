"""Functions by name and parameters: ``sum``, ``histogram of=age edges=0,18,65,110``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from types import MappingProxyType
from typing import Any, TypeVar

from discreet.core.spelled import require_options, spelled
from discreet.core.text import meant
from discreet.errors import BadInput
from discreet.verbs.combine.functions.bayes import Bayes
from discreet.verbs.combine.functions.counts import ContingencyTable, Histogram
from discreet.verbs.combine.functions.function import Function
from discreet.verbs.combine.functions.kmeans import KMeans
from discreet.verbs.combine.functions.linear import Regression
from discreet.verbs.combine.functions.logistic import Logistic
from discreet.verbs.combine.functions.moments import Mean, Variance
from discreet.verbs.combine.functions.order_statistics import Max, Median, Min, QuantileFunction
from discreet.verbs.combine.functions.sums import Count, Parity, Sum
from discreet.verbs.combine.functions.tree import Id3Tree

T = TypeVar("T")
_ALL: tuple[type[Function], ...] = (
    Sum, Count, Mean, Variance, Histogram, ContingencyTable, Min, Max, Median, QuantileFunction,
    Regression, Logistic, Bayes, Id3Tree, KMeans, Parity,
)  # fmt: skip
FUNCTIONS: Mapping[str, type[Function]] = MappingProxyType({kind.name: kind for kind in _ALL})
"""By name, the simplest first."""


@lru_cache(maxsize=64)
def parse_function(text: str) -> Function:
    """Parse a function with its parameters."""
    return parse_named(text, FUNCTIONS, "is no function")


def parse_named(text: str, known: Mapping[str, type[T]], unknown: str) -> T:
    """Parse one of the ``known`` classes with its parameters; ``unknown`` is the error for other names."""
    name, options = spelled(text)
    if name not in known:
        raise BadInput(f"{name!r} {unknown}{meant(name, known)}.", hint=f"Known: {', '.join(known)}.")
    kind: Any = known[name]
    require_options(name, kind, options, kind.example)
    texts = {field.name for field in fields(kind) if field.type == "str"}
    found: T = kind(**{option: str(value) if option in texts else value for option, value in options.items()})
    return found
