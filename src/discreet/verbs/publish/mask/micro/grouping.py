"""Groups of records: by pattern of missing values, gathered, improved, and repaired until they are diverse enough.

What is missing stays missing, and must not single anyone out: only rows that lack the same values can look alike.
Where too few lack the same, more is left out until enough do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column
from discreet.errors import BadInput, NoPromise
from discreet.models.classes import Classes, Spread, domain_of
from discreet.models.diversity import EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.model import Model
from discreet.noise.masking import Generator
from discreet.verbs.publish.mask.masker import require_released
from discreet.verbs.publish.mask.values import Array

if TYPE_CHECKING:
    from discreet.verbs.publish.mask.micro.diverse import Rule


MOST_IMPROVED = 128
"""Groups of a larger k are not bettered: it would take too long."""
_NEIGHBOURS = 32
_SEARCH = 8000
"""More tries than these for each group are shared out among several searches, of which the best counts: where one ends
is chance, and taking longer over it helps less and less."""


@dataclass(frozen=True)
class Grouping:
    """Parameters of a grouping."""

    k: int
    algorithm: str
    gamma: float
    improve: int
    at_once: int
    rule: Rule
    broken: Callable[[Array, Array], Array] | None
    """Exact check which groups of some rows are not diverse enough; ``None``: all are."""


def form_groups(points: Array, rows: Array, codes: Array, way: Grouping, rng: Generator) -> Array:
    """For each of some ``rows``, whose ``points`` these are, its group, from 0; at least k rows, diverse enough as one.

    ``codes``: the confidential value of each of them, or nothing.
    """
    of, groups = np.empty(len(points), np.int64), 0
    for part in divide(points, len(points) if way.algorithm == "optimal" else way.at_once):
        found = _gather_part(points[part], codes[part] if len(codes) else codes, way, rng)
        of[part] = found + groups
        groups += int(found.max(initial=-1)) + 1
    return of if way.broken is None else _repair_groups(points, rows, of, way.broken)


def divide(points: Array, most: int) -> Iterator[Array]:
    """The points, halved at the median of the widest column until no part has more than ``most``."""
    waiting = [np.arange(len(points))]
    while waiting:
        part = waiting.pop()
        if len(part) <= most or not points.shape[1]:
            yield np.sort(part)
            continue
        widest = int(np.argmax(points[part].std(axis=0)))
        half = len(part) // 2
        order = np.argpartition(points[part, widest], half)
        waiting += [part[order[half:]], part[order[:half]]]


def neighbours(points: Array, count: int) -> Array:
    """For each point the ``count`` others nearest to it, nearest first; there must be at least ``count`` others."""
    from discreet.verbs.publish.mask.micro import gather

    found = gather.nearest_points(points, points, count + 1)
    own = found == np.arange(len(points))[:, None]
    own[~own.any(axis=1), count] = True  # more than ``count`` are at the same point: drop the last
    return np.asarray(found[~own].reshape(len(points), count))


def _gather_part(points: Array, codes: Array, way: Grouping, rng: Generator) -> Array:
    from discreet.verbs.publish.mask.micro import gather

    k = way.k
    if not points.shape[1] or len(points) < 2 * k:
        return np.zeros(len(points), np.int64)
    if way.algorithm == "optimal":
        return gather.optimal(points[:, 0], k)
    if way.algorithm == "v-mdav":
        away = points - points.sum(axis=0) / len(points)
        order = np.argsort(-(away**2).sum(axis=1), kind="stable")
        of, groups = gather.v_mdav(points, order, k, way.gamma, codes, way.rule)
    else:
        of, groups = gather.mdav(points, k, way.algorithm == "mdav", codes, way.rule)
    if not groups:
        return np.zeros(len(points), np.int64)
    of = _join_rest(points, of)
    return _improve_groups(points, of, codes, way, rng) if way.improve and groups > 1 else of


def _join_rest(points: Array, of: Array) -> Array:
    """Put every record without a group into the one with the nearest centre."""
    from discreet.verbs.publish.mask.micro import gather

    found = of != gather.LEFT
    near = gather.nearest_points(_centres(points[found], of[found]), points[~found], 1)
    joined = of.copy()
    joined[~found] = near[:, 0]
    return joined


def _improve_groups(points: Array, of: Array, codes: Array, way: Grouping, rng: Generator) -> Array:
    """The best groups found in ``way.improve`` tries for each of them; as they were, if none helped."""
    from discreet.verbs.publish.mask.micro import improve

    near = neighbours(points, min(len(points) - 1, max(_NEIGHBOURS, 2 * way.k)))
    searches = -(-way.improve // _SEARCH)
    tries = way.improve * (int(of.max()) + 1) // searches
    most, best = 0.0, of
    for seed in rng.integers(2**63, size=searches):
        groups = improve.link_groups(of, len(points) // way.k)
        gained = improve.search(points, groups, near, way.k, tries, int(seed), codes, way.rule)
        if gained > most:
            most, best = gained, np.unique(groups.of, return_inverse=True)[1]
    return best


def _repair_groups(points: Array, rows: Array, of: Array, broken: Callable[[Array, Array], Array]) -> Array:
    """Groups that are not diverse enough, each with the group of the nearest centre, until all are.

    That ends: every round leaves fewer groups, and all rows together are diverse enough.
    """
    while (bad := broken(rows, of)).any():
        centres = _centres(points, of)
        into = np.arange(len(centres))
        free = np.ones(len(centres), np.bool_)
        for one in np.flatnonzero(bad):
            away = ((centres - centres[one]) ** 2).sum(axis=1)
            away[one] = np.inf
            two = int(np.argmin(away))
            if free[one] and free[two]:
                free[one] = free[two] = False
                into[one] = two
        of = np.unique(into[of], return_inverse=True)[1]
    return of


def _centres(points: Array, of: Array) -> Array:
    return np.asarray(np.stack([np.bincount(of, column) for column in points.T], axis=1) / np.bincount(of)[:, None])


Diversity: TypeAlias = LDiversity | EntropyLDiversity | RecursiveLDiversity | PSensitivity


@dataclass(frozen=True)
class Confidential:
    """A column as codes, and what a group must hold of it. NULL is a value like others, as it is to the models."""

    model: Diversity
    column: Column
    domain: pa.Array[Any]
    codes: Array

    @property
    def rule(self) -> Rule:
        """The model, for the kernels to steer by."""
        from discreet.verbs.publish.mask.micro import diverse

        model, values = self.model, len(self.domain)
        if isinstance(model, EntropyLDiversity):
            return diverse.Rule(diverse.ENTROPY, float(model.l), 1.0, values)
        if isinstance(model, RecursiveLDiversity):
            return diverse.Rule(diverse.RECURSIVE, float(model.l), float(model.c), values)
        least = model.p if isinstance(model, PSensitivity) else model.l
        return diverse.Rule(diverse.DISTINCT, float(least), 1.0, values)

    def broken(self, rows: Array, of: Array) -> Array:
        """Which groups of some rows are not diverse enough: the model's own verdict, which is exact."""
        codes = self.codes[rows]
        lines, counts = np.unique(of * len(self.domain) + codes, return_counts=True)
        spread = Spread(self.column, self.domain, lines // len(self.domain), lines % len(self.domain), counts)
        return self.model.breaking(Classes(np.bincount(of).astype(np.int64), {self.column.name: spread}))


def confidential(card: Card, rows: pa.Table, model: Model | None, masked: tuple[str, ...]) -> Confidential | None:
    """The confidential column of a diversity model; an error if the table has none."""
    if model is None:
        return None
    if not isinstance(model, Diversity):
        raise BadInput(
            f"Groups cannot be formed with {model!r}.",
            hint="Use l-diversity or p-sensitivity; publish(require=…) checks others.",
        )
    column = card[model.on]
    require_released(card, column)
    if column.name in masked:
        raise BadInput(f"{column.name!r} cannot be masked and confidential at once.", hint="Mask other columns.")
    cells = rows.column(column.name).combine_chunks()
    domain = domain_of(column, cells)
    codes = np.asarray(pc.index_in(cells, domain).to_numpy(zero_copy_only=False), dtype=np.int64)
    return Confidential(model, column, domain, codes)


Enough = Callable[[Array], bool]
"""Whether some rows, by number, can be grouped among themselves."""


def missing_patterns(there: Array, enough: Enough) -> list[tuple[Array, Array]]:
    """Rows that have the same columns, such that each set of rows is enough: which columns they have in the end, and
    which rows they are. ``there`` has shape (rows, columns).

    The smallest set that is not enough is put together with the one with which fewest values are left out.
    """
    of = np.zeros(len(there), np.int64)
    for column in there.T:
        of = np.unique(2 * of + column, return_inverse=True)[1]
    members = [np.flatnonzero(of == number) for number in range(of.max(initial=-1) + 1)]
    found = [(there[rows[0]], rows) for rows in members]
    while True:
        short = [one for one in found if not enough(one[1])]
        if not short:
            return found
        if len(found) == 1:
            raise NoPromise(
                "There are too few rows, or too few different values, for these groups.",
                hint="Choose a smaller k or less diversity.",
            )
        one = min(short, key=lambda some: len(some[1]))
        others = [some for some in found if some is not one]
        two = min(others, key=lambda some: _values_left_out(one, some))
        both = (one[0] & two[0], np.sort(np.concatenate([one[1], two[1]])))
        rest = [some for some in others if some is not two]
        same = [some for some in rest if (some[0] == both[0]).all()]
        for some in same:
            both = (both[0], np.sort(np.concatenate([both[1], some[1]])))
        found = [both, *(some for some in rest if not any(some is other for other in same))]


def _values_left_out(one: tuple[Array, Array], two: tuple[Array, Array]) -> int:
    """Number of values left out when two sets are put together."""
    kept = (one[0] & two[0]).sum()
    return int((one[0].sum() - kept) * len(one[1]) + (two[0].sum() - kept) * len(two[1]))
