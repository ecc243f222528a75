"""Dummy rows: equivalence classes that break a model are filled up with made-up rows instead of being generalised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Role
from discreet.core.catalogue import Checked, declare, parameter
from discreet.core.exact import Number, exact
from discreet.core.families import RECODERS
from discreet.core.table import Table
from discreet.errors import NoPromise
from discreet.models.classes import Classes, Integers, Spread
from discreet.models.model import Model
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.releases.method import Progress
from discreet.utility.quality import figures
from discreet.verbs.publish.recoding import Recoding, published_columns, require_levels, require_quasi
from discreet.verbs.publish.tuples import PruningRules, Tuples, breaking, local_models, merge_spread, tuples_of


@declare(RECODERS, "dummies", rank=4)
class AddDummies(Checked):
    """Add dummy rows to equivalence classes until all models hold, with columns at chosen ``levels`` (default 0).

    A dummy has the labels of its class; all other columns it has from a row of the table drawn at random, so that
    values, and those that go together, are as frequent among dummies as among people. Every row of the table is
    released. At most ``most`` dummies are added for each row (1: as many as there are rows).

    The release says how many rows are dummies, and not which. Counts of small classes are too large by the dummies in
    them, and there what is true of a class is diluted by what is true of the table.

    Why this is private: the models hold for the rows that are released, dummies included; nothing else is promised.
    A class of k rows may have a single person in it: who can tell dummies from people (by knowing the class, or by a
    combination that no one has) finds the person.
    """

    own_labels: ClassVar[bool] = False
    levels: Mapping[str, int] = parameter("Level of a column, such as age:1.", default_factory=dict)
    most: Number = parameter("Maximum number of dummies per row.", default=1, least=0)
    entropy: Entropy = field(default=SYSTEM, repr=False, compare=False)

    def recode(self, table: Table, require: Sequence[Model], progress: Progress | None = None) -> Recoding:
        """Recoding with the dummies that make all models hold; an error if that takes too many."""
        models = local_models(require, table.quasi())
        tuples = tuples_of(table, sorted({name for model in models for name in model.sensitive}))
        levels = self._levels(tuples)
        groups = tuples.groups(levels)
        kept = np.ones(int(groups.max(initial=-1)) + 1, dtype=np.bool_)
        rest = _Rest(table, self.entropy)
        places = self._fill_classes(tuples.classes(groups), rest, models)
        first = np.unique(groups, return_index=True)[1]
        labels = tuples.labels(first[places], levels)
        added = _dummy_rows(table, labels, rest.drawn)
        small = len(np.unique(places))
        share = added.num_rows / max(tuples.rows + added.num_rows, 1)
        return Recoding(
            levels=dict(zip(tuples.names, levels, strict=True)),
            loss=share,
            quality={"dummies": float(added.num_rows), **figures(tuples, np.asarray(levels), groups, kept)},
            parameters={"most": exact(self.most, "most")},
            steps=(
                f"{added.num_rows:,} of {tuples.rows + added.num_rows:,} rows are dummies ({share:.1%}), in "
                f"{small:,} "
                f"of {len(kept):,} classes. Dummies are not marked.",
                "A dummy has the labels of its class; its other columns are those of a row drawn at random from the "
                "whole table.",
                "Counts include the dummies: the total is too large by their number, and small classes by "
                "the rows they lacked. Estimates for small classes are biased towards the whole table.",
            ),
            added=added,
            caveats=(
                f"{added.num_rows:,} of {tuples.rows + added.num_rows:,} rows are dummies, and an "
                "equivalence class may have a single real person: the models hold for rows, and protect "
                "people only from intruders who cannot distinguish dummies. A value that occurs once belongs "
                "to a person.",
            ),
        )

    def _levels(self, tuples: Tuples) -> list[int]:
        heights = dict(zip(tuples.names, tuples.heights, strict=True))
        require_quasi(self.levels, tuples.names)
        for name, level in self.levels.items():
            one = isinstance(level, int) and not isinstance(level, bool)
            require_levels(name, level, range(level, level + 1) if one else None, heights[name])
        return [self.levels.get(name, 0) for name in tuples.names]

    def _fill_classes(self, classes: Classes, rest: _Rest, models: Sequence[Model]) -> Integers:
        """Class of each dummy: first up to the minimum class size, then one by one while a model is broken."""
        most = int(exact(self.most, "most") * classes.rows)
        lack = np.maximum(PruningRules(models, 0).smallest - classes.sizes, 0)
        places = np.repeat(np.arange(len(lack)), lack)
        found = np.zeros(0, dtype=np.int64)
        while True:
            found = np.concatenate([found, places])
            if len(found) > most:
                raise NoPromise(
                    f"More than {self.most} {'dummy' if self.most == 1 else 'dummies'} for each row would be needed.",
                    hint="Choose coarser levels (--level) or weaker models; AddDummies(most=…) in Python allows more.",
                )
            classes = rest.joined(classes, places)
            places = np.flatnonzero(breaking(classes, models))
            if not len(places):
                return found


class _Rest:
    """Released columns other than quasi-identifiers, and draws from their joint distribution."""

    def __init__(self, table: Table, entropy: Entropy) -> None:
        names = [c.name for c in published_columns(table.card) if c.role is not Role.QUASI]
        self._entropy = entropy
        counted = table.histogram(*names) if names else pa.table({"n": [table.count()]})
        counted = counted.sort_by([(name, "ascending") for name in names]) if names else counted
        self._values = counted.select(names)
        self._ends = np.cumsum(np.asarray(counted.column(counted.num_columns - 1).to_numpy(), dtype=np.int64))
        self.drawn = self._values.slice(0, 0)
        """The columns of all dummies so far."""

    def joined(self, classes: Classes, places: Integers) -> Classes:
        """The classes with one new dummy in each of ``places``."""
        if not len(places):
            return classes
        draws = self._entropy.many_below(int(self._ends[-1]), len(places))
        rows = self._values.take(np.searchsorted(self._ends, draws, side="right"))
        self.drawn = pa.concat_tables([self.drawn, rows])
        sizes = classes.sizes + np.bincount(places, minlength=len(classes.sizes))
        spreads = {name: _with(spread, places, rows, len(sizes)) for name, spread in classes.spreads.items()}
        return replace(classes, sizes=sizes, spreads=spreads)


def _with(spread: Spread, places: Integers, rows: pa.Table, count: int) -> Spread:
    """A sensitive attribute's distribution over ``count`` classes, with dummies added to the classes ``places``."""
    codes = pc.index_in(rows.column(spread.column.name).combine_chunks(), spread.domain)
    more = Spread(
        spread.column,
        spread.domain,
        np.concatenate([spread.classes, places]),
        np.concatenate([spread.codes, codes.to_numpy(zero_copy_only=False).astype(np.int64)]),
        np.concatenate([spread.counts, np.ones(len(places), dtype=np.int64)]),
    )
    return merge_spread(more, np.arange(count), count)


def _dummy_rows(table: Table, labels: pa.Table, rest: pa.Table) -> pa.Table:
    """The dummies, with all released columns in their order."""
    columns: dict[str, Any] = {name: labels.column(name) for name in labels.column_names}
    columns |= {name: rest.column(name) for name in rest.column_names}
    return pa.table({c.name: columns[c.name] for c in published_columns(table.card)})
