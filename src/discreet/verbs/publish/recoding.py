"""What a recoder found, as data: how to rewrite the quasi-identifiers, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from discreet.core.exact import Number, exact
from discreet.core.table import Table
from discreet.core.text import meant
from discreet.errors import BadInput, NotFound
from discreet.models.model import Model

Progress: TypeAlias = Callable[[float, str], None]
"""Called now and then with the share of the work that is done and a word on what is being done."""


@dataclass(frozen=True)
class Recoding:
    """How the quasi-identifiers are rewritten. Nothing is computed on rows yet.

    Either ``levels`` (every value of a column is at one level of its hierarchy) or ``mapping`` (each tuple has
    its own labels) says what the rows become.
    """

    levels: Mapping[str, int] | None
    """The level of each quasi-identifier."""
    dropped: pa.Table | None
    """With ``levels``: the labels of the classes that are suppressed, a column for each quasi-identifier; ``None``:
    no class is."""
    mapping: pa.Table | None
    """Each distinct tuple of original values (columns named as the quasi-identifiers), its new labels (the same
    names with ``_new``) and whether it is ``kept``; see ``Names``."""
    suppressed: int
    """How many rows are left out."""
    loss: float
    """By the quality measure that was asked for."""
    quality: Mapping[str, float]
    """Figures for the report, by the name of the measure."""
    parameters: Mapping[str, Any]
    """For the recipe."""
    steps: tuple[str, ...]
    """For the recipe, as sentences."""
    optimal: bool
    """Whether it is proved that nothing better can be had of this kind."""
    gap: float | None
    """How much less the loss could be at most; ``None`` if that is not known."""
    added: pa.Table | None = None
    """Dummy rows to append, with all released columns."""
    caveats: tuple[str, ...] = ()
    """What whoever relies on the models must know of this way of reaching them, for the statement."""


@dataclass(frozen=True)
class Names:
    """What the columns of a mapping are called: nothing twice, whatever the quasi-identifiers are called."""

    new: Mapping[str, str]
    """For each quasi-identifier the column of its new labels."""
    kept: str

    @classmethod
    def of(cls, quasi: Sequence[str]) -> Names:
        """The names for some quasi-identifiers."""
        taken = list(quasi)
        new = {}
        for name in quasi:
            new[name] = free(f"{name}_new", taken)
            taken.append(new[name])
        return cls(new, free("kept", taken))


class Recoder(Protocol):
    """A way of making a table satisfy privacy models."""

    @property
    def own_labels(self) -> bool:
        """Whether each class gets labels of its own: then what became of whom is told by the ``mapping`` alone."""

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """The best recoding found for which all models hold; an error if there is none."""


def free(name: str, taken: Iterable[str]) -> str:
    """``name``, with as many underscores after it as make it one that is not taken, as SQL tells names apart."""
    known = {one.casefold() for one in taken}
    while name.casefold() in known:
        name += "_"
    return name


def require_quasi(named: Iterable[str], quasi: Sequence[str]) -> None:
    """An error if something is said of a column that is no quasi-identifier."""
    for name in named:
        if name not in quasi:
            raise NotFound(f"{name!r} is no quasi-identifier{meant(name, quasi)}; these are {', '.join(quasi)}.")


def require_levels(name: str, given: object, levels: range | None, height: int) -> range:
    """The levels that were ``given`` for a column; an error if they are not among those it has."""
    if not levels or not 0 <= levels[0] <= levels[-1] <= height:
        raise BadInput(
            f"The levels of {name!r} go from 0 to {height}, got {given!r}.",
            hint=f"Give one level, or two: the finest and the coarsest, such as (0, {height}).",
        )
    return levels


def allowed(suppress: Number, rows: int) -> int:
    """How many of ``rows`` may be suppressed when a share of them may: exact, and rounded down."""
    share = exact(suppress, "suppress")
    if share > Fraction(1):
        raise BadInput(f"suppress is a share of the rows, from 0 to 1, got {suppress}.", hint="5 % is 0.05.")
    return int(share * rows)
