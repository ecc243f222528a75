"""Composition attack: several releases about the same people, intersected.

Privacy models do not compose: each release may hide a person among k, and together they may leave one (Ganta,
Kasiviswanathan and Smith 2008, "Composition attacks and auxiliary information in data privacy"). Rows of two releases
can be the same person's only if both may be, and if they agree in the columns that neither release changed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from discreet.core.card import Role
from discreet.core.catalogue import declare
from discreet.core.families import ATTACKS
from discreet.core.optional import extra
from discreet.core.release import Release
from discreet.core.table import Table
from discreet.errors import BadInput, DataError
from discreet.verbs.attack.finding import Array, Finding, Outcome, failed_finding, reason_not_composable
from discreet.verbs.attack.homogeneity import Homogeneity
from discreet.verbs.attack.labels import is_unchanged
from discreet.verbs.attack.linkage import released_rows
from discreet.verbs.attack.matching import (
    Candidates,
    chance_finding,
    encode,
    find_candidates,
    first_victims,
    number_rows,
)

_MAX_PAIRS = 40_000_000
"""Most pairs of a key and a part of a class that are compared."""


@declare(ATTACKS, "composition", rank=35)
class Composition:
    """Match people with every release, and keep the candidate rows that may be theirs in all of them."""

    others: tuple[Release[Any], ...]
    columns: tuple[str, ...] = ()
    """What the attacker knows about people (default: the quasi-identifiers)."""

    name: ClassVar[str]

    def applies(self, release: Release[Any]) -> str | None:
        """For tables of rows, beside others."""
        if not self.others:
            return "No other release about the same people was given."
        return next((why for one in (release, *self.others) if (why := reason_not_composable(one))), None)

    def run(self, release: Release[Any], known: Table, links: Array | None = None) -> Finding:
        """What all releases tell together, beside what the most telling of them tells alone."""
        held = "another release" if len(self.others) == 1 else f"{len(self.others)} other releases"
        knows = f"The attacker holds {held} about the same people, and knows everyone's quasi-identifiers."
        try:
            alone = [find_candidates(release, known, links, self.columns)]
            alone += [find_candidates(other, known, None, self.columns) for other in self.others]
            together = _narrow_candidates(alone, (release, *self.others))
            return replace(self._evaluate(together, alone, known, release), knows=knows)
        except BadInput as problem:
            return failed_finding(self.name, knows, str(problem))

    def _evaluate(self, together: Candidates, alone: list[Candidates], known: Table, release: Release[Any]) -> Finding:
        success = together.success
        singles = [one.success[np.searchsorted(one.people, together.people)] for one in alone]
        baseline = float(max(map(np.mean, singles)))
        sure = together.certain & together.right
        fresh = sure & ~np.any([single > 1 - 1e-9 for single in singles], axis=0)
        meaning = (
            "Share of people whose row is found from all releases together; the baseline is the most "
            "revealing single release. 0 is best; more than the baseline means that the releases must not "
            "reach the same recipient."
        )
        details = {
            "people": len(together.people),
            "releases": 1 + len(self.others),
            "alone": [float(single.mean()) for single in singles],
            "highest probability of success": float(success.max()),
            "singled out by all together": int(sure.sum()),
            "of these by no single release": int(fresh.sum()),
        }
        if known.card.having(Role.SENSITIVE):
            details |= _certain_values(together, alone[0], known, release)
        finding = chance_finding(self.name, success, baseline, meaning=meaning, found=together, details=details)
        if fresh.any():  # one person whom only all together single out is a breach
            return replace(finding, outcome=Outcome.BROKE, victims=first_victims(together, fresh))
        return replace(finding, victims=first_victims(together, sure))


def _certain_values(together: Candidates, alone: Candidates, known: Table, release: Release[Any]) -> dict[str, float]:
    """Share of people whose sensitive value is certain, by all releases and by the first alone."""
    try:
        shares = [Homogeneity().evaluate(one, known, release).figure for one in (together, alone)]
    except DataError:
        return {}
    return {
        "sensitive value certain from all together": shares[0],
        "sensitive value certain from the first alone": shares[1],
    }


def _narrow_candidates(candidates: list[Candidates], releases: tuple[Release[Any], ...]) -> Candidates:
    """Candidates of the first release, narrowed by all others: classes are split, pairs get new weights.

    A row of the first release is a person's as likely as, among the rows of another release that agree with it, those
    are that may be the person's.
    """
    first, rows = candidates[0], released_rows(releases[0])
    people = first.people
    for other in candidates[1:]:
        people = np.intersect1d(people, other.people)
    keys = [one.key_of[np.searchsorted(one.people, people)] for one in candidates]
    joint = number_rows(keys)
    _, start = np.unique(joint, return_index=True)
    shared = [_agreement(rows, releases[0], other, first) for other in releases[1:]]
    class_of = number_rows([first.class_of, *(mine for mine, _ in shared)])
    _, example = np.unique(class_of, return_index=True)
    key, group, weight = _split_pairs(first, first.class_of[example], keys[0][start])
    for other, own_key, (mine, theirs) in zip(candidates[1:], keys[1:], shared, strict=True):
        kinds = int(max(mine.max(initial=0), theirs.max(initial=0))) + 1
        agree = other.code_weights(theirs)
        agree.resize((agree.shape[0], kinds))
        total = np.maximum(np.bincount(theirs, minlength=kinds), 1)
        column = mine[example][group]
        weight = weight * np.asarray(agree[own_key[start][key], column]).ravel() / total[column]
    stays = weight > 0
    return replace(
        first,
        people=people,
        key_of=joint,
        key_counts=np.bincount(joint),
        scale=first.scale * len(first.people) / len(people),
        class_of=class_of,
        class_sizes=np.bincount(class_of),
        pair_key=key[stays],
        pair_class=group[stays],
        pair_weight=weight[stays],
        truth=None if first.truth is None else first.truth[np.searchsorted(first.people, people)],
    )


def _agreement(rows: pa.Table, release: Release[Any], other: Release[Any], found: Candidates) -> tuple[Array, Array]:
    """A number for each row of both releases, equal where all columns agree that neither release changed."""
    theirs = released_rows(other)
    shared = [
        name
        for name in rows.column_names
        if name in theirs.column_names
        and name not in found.columns
        and rows.schema.field(name).type == theirs.schema.field(name).type
        and name not in release.recipe.parameters.get("quasi_identifiers", ())
        and is_unchanged(release.recipe, name)
        and is_unchanged(other.recipe, name)
    ]
    both = (encode(pa.chunked_array([*rows[name].chunks, *theirs[name].chunks]))[0] for name in shared)
    number = number_rows([np.zeros(rows.num_rows + theirs.num_rows, np.int64), *both])
    return number[: rows.num_rows], number[rows.num_rows :]


def _split_pairs(found: Candidates, parent: Array, keys: Array) -> tuple[Array, Array, Array]:
    """Pairs of ``keys`` (by place) and the parts of classes, whose ``parent`` is the class, with their weights."""
    with extra("attack"):
        from scipy.sparse import csr_array

    shape = len(found.class_sizes), len(parent)
    parts = csr_array((np.ones(len(parent)), (parent, np.arange(len(parent)))), shape=shape)
    part_counts = np.diff(parts.indptr)[found.pair_class]
    if np.bincount(found.pair_key, part_counts, minlength=len(found.key_counts))[keys].sum() > _MAX_PAIRS:
        raise DataError("There are too many candidate rows per person to combine the releases.")
    joined = (found.pair_matrix(found.pair_weight) @ parts)[keys].tocoo()
    return joined.row.astype(np.int64), joined.col.astype(np.int64), joined.data
