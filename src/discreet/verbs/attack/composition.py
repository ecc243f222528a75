"""Several releases about the same people, held side by side.

Privacy models do not compose: each release may hide a person among k, and together they may leave one (Ganta,
Kasiviswanathan and Smith 2008, "Composition attacks and auxiliary information in data privacy"). Rows of two releases
can be the same person's only if both may be, and if they agree in the columns that neither release changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from discreet.core.card import Role
from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.candidates import Cover, cover, numbered, table_of
from discreet.verbs.attack.finding import Finding, Outcome, failed
from discreet.verbs.attack.homogeneity import Homogeneity
from discreet.verbs.attack.labels import untouched
from discreet.verbs.attack.matching import few, likely
from discreet.verbs.attack.scope import not_matched

Array = npt.NDArray[Any]

_MOST = 40_000_000


@declare(ATTACKS, "composition", rank=35)
class Composition:
    """Match people with every release, and keep the rows that may be theirs in all of them."""

    others: tuple[Release[Any], ...]
    columns: tuple[str, ...] = ()
    """What the attacker knows about people (default: the quasi-identifiers)."""

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        """For tables of rows, beside others."""
        if not self.others:
            return "No other release about the same people was given."
        return next((why for one in (release, *self.others) if (why := not_matched(one))), None)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """What all releases tell together, beside what the most telling of them tells alone."""
        held = "another release" if len(self.others) == 1 else f"{len(self.others)} other releases"
        knows = f"The attacker has {held} about the same people, and knows the quasi-identifiers of everybody."
        try:
            alone = [cover(release, known, links, self.columns)]
            alone += [cover(other, known, None, self.columns) for other in self.others]
            together = _together(alone, (release, *self.others))
            return replace(self._judge(together, alone, known, release), knows=knows)
        except BadInput as problem:
            return failed(self.name, knows, str(problem))

    def _judge(self, together: Cover, alone: list[Cover], known: Table, release: Release[Any]) -> Finding:
        credits = together.credits
        singles = [one.credits[np.searchsorted(one.people, together.people)] for one in alone]
        baseline = float(max(map(np.mean, singles)))
        sure = together.alone & together.right
        fresh = sure & ~np.any([single > 1 - 1e-9 for single in singles], axis=0)
        meaning = (
            "The share of people whose row is found when all releases are laid side by side; guessing is what the "
            "most telling of them gives alone. 0 is best; more than guessing means that the releases must not meet."
        )
        details = {
            "people": len(together.people),
            "releases": 1 + len(self.others),
            "alone": [float(single.mean()) for single in singles],
            "highest chance to be right": float(credits.max()),
            "singled out by all together": int(sure.sum()),
            "of these by none alone": int(fresh.sum()),
        }
        if known.card.having(Role.SENSITIVE):
            details |= _certain_values(together, alone[0], known, release)
        judged = likely(self.name, credits, baseline, meaning=meaning, found=together, details=details)
        if fresh.any():  # one person whom only all together single out is a breach
            return replace(judged, outcome=Outcome.BROKE, victims=few(together, fresh))
        return replace(judged, victims=few(together, sure))


def _certain_values(together: Cover, alone: Cover, known: Table, release: Release[Any]) -> dict[str, float]:
    """The share of people whose sensitive value is sure, with all releases and with the first."""
    try:
        judged = [Homogeneity().judge(one, release.payload, known, release).figure for one in (together, alone)]
    except DataError:
        return {}
    return {"sensitive value sure by all together": judged[0], "sensitive value sure by the first alone": judged[1]}


def _together(covers: list[Cover], releases: tuple[Release[Any], ...]) -> Cover:
    """The first cover, its classes parted by what other releases show too, its pairs weighed by all of them.

    A row of the first release is a person's as likely as, among the rows of another release that agree with it, those
    are that may be the person's.
    """
    first, rows = covers[0], table_of(releases[0])
    people = first.people
    for other in covers[1:]:
        people = np.intersect1d(people, other.people)
    combinations = [one.of[np.searchsorted(one.people, people)] for one in covers]
    joint = numbered(combinations)
    _, start = np.unique(joint, return_index=True)
    signs = [_signs(rows, releases[0], other, first) for other in releases[1:]]
    where = numbered([first.where, *(mine for mine, _ in signs)])
    _, example = np.unique(where, return_index=True)
    one, group = _parted(first, first.where[example], combinations[0][start])
    weight = _weights(first, combinations[0][start][one], first.where[example][group])
    for other, combination, (mine, theirs) in zip(covers[1:], combinations[1:], signs, strict=True):
        kinds = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        agree = other.spread(theirs)
        agree.resize((agree.shape[0], kinds))
        total = np.maximum(np.bincount(theirs, minlength=kinds), 1)
        column = mine[example][group]
        weight = weight * np.asarray(agree[combination[start][one], column]).ravel() / total[column]
    stays = weight > 0
    truth = None if first.truth is None else first.truth[np.searchsorted(first.people, people)]
    return Cover(
        first.columns,
        people,
        joint,
        np.bincount(joint),
        first.scale * len(first.people) / len(people),
        where,
        np.bincount(where),
        one[stays],
        group[stays],
        weight[stays],
        truth,
    )


def _signs(rows: pa.Table, release: Release[Any], other: Release[Any], found: Cover) -> tuple[Array, Array]:
    """A number for each row of both releases, equal where all columns agree that neither release changed."""
    theirs = table_of(other)
    shared = [
        name
        for name in rows.column_names
        if name in theirs.column_names
        and name not in found.columns
        and rows.schema.field(name).type == theirs.schema.field(name).type
        and name not in release.recipe.parameters.get("quasi_identifiers", ())
        and untouched(release.recipe, name)
        and untouched(other.recipe, name)
    ]
    codes = [np.zeros(rows.num_rows + theirs.num_rows, np.int64)]
    for name in shared:
        both: Any = pa.chunked_array([*rows[name].chunks, *theirs[name].chunks]).combine_chunks()
        encoded = both.dictionary_encode(null_encoding="encode")
        codes.append(np.asarray(encoded.indices.to_numpy(zero_copy_only=False), dtype=np.int64))
    number = numbered(codes)
    return number[: rows.num_rows], number[rows.num_rows :]


def _parted(found: Cover, parent: Array, combination: Array) -> tuple[Array, Array]:
    """The pairs of ``combination`` (by place) and the parts of classes, whose ``parent`` is the class."""
    with extra("attack"):
        from scipy.sparse import csr_array

    ones = np.ones(len(parent))
    pairs = csr_array((np.ones(len(found.group)), (found.combination, found.group)), shape=_shape(found))
    parts = csr_array((ones, (parent, np.arange(len(parent)))), shape=(len(found.sizes), len(parent)))
    per_pair = np.diff(parts.indptr)
    each = np.bincount(found.combination, per_pair[found.group], minlength=len(found.counts))[combination]
    if each.sum() > _MOST:
        raise DataError("There are too many rows that may be each person's for releases to be laid side by side.")
    joined = (pairs @ parts)[combination].tocoo()
    return joined.row.astype(np.int64), joined.col.astype(np.int64)


def _weights(found: Cover, combination: Array, group: Array) -> Array:
    with extra("attack"):
        from scipy.sparse import csr_array

    pairs = csr_array((found.weight, (found.combination, found.group)), shape=_shape(found))
    return np.asarray(pairs[combination, group]).ravel()


def _shape(found: Cover) -> tuple[int, int]:
    return len(found.counts), len(found.sizes)
