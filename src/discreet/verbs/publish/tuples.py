"""Distinct quasi-identifier tuples of a table as integer codes, the labels that classes of them get,
and the models as searches use them.

This is all that a search sees of the rows: two tables with the same tuples and counts are the same to it, be it ten
rows or ten billion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isnan, nan
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Column
from discreet.core.hierarchy import hierarchy
from discreet.core.hierarchy.hierarchy import TOP, LevelCodes
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.errors import BadInput, NoPromise
from discreet.models.classes import Classes, Integers, Spread, classes_of
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import Model, parts_of, settled
from discreet.models.risk import JournalistRisk, ProsecutorRisk
from discreet.verbs.publish.recoding import Names

_WIDEST = 10_000
"""Declared bounds of whole numbers up to this far apart are a domain to count leaves in."""


@dataclass(frozen=True)
class Tuples:
    """Distinct tuples in the order of their values, how many rows have each, and the levels of each column."""

    names: tuple[str, ...]
    """The quasi-identifiers."""
    values: tuple[pa.Array[Any], ...]
    """For each column its distinct values, sorted; NULL, if it occurs, last."""
    codes: npt.NDArray[np.int32]
    """Shape (columns, tuples): places in ``values``."""
    counts: Integers
    """Number of rows of each tuple."""
    levels: tuple[LevelCodes, ...]
    """For each column the labels of ``values`` on each level; without a hierarchy: itself, and ``*``."""
    shares: tuple[npt.NDArray[np.float64], ...]
    """For each column, shape (levels, values): how much of the column's domain the label of a value covers,
    (leaves − 1) / (domain − 1): 0 for a value that stays itself, 1 for ``*``."""
    spreads: Mapping[str, Spread] = field(default_factory=dict)
    """Sensitive columns over tuples: the classes of these spreads are places of tuples."""
    population: Integers | None = None
    """Number of people of the population with each tuple; tuples without rows are those of others only."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def heights(self) -> tuple[int, ...]:
        """The top level of each column."""
        return tuple(len(one.codes) - 1 for one in self.levels)

    def groups(self, levels: Sequence[int]) -> Integers:
        """For each tuple the number of its class when each column is at its level, without gaps, in the order of
        labels."""
        numbers = np.zeros(len(self.counts), dtype=np.int64)
        for place, level in enumerate(levels):
            labels = self.levels[place].codes[level][self.codes[place]]
            numbers = numbers * (int(labels.max(initial=0)) + 1) + labels
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
        return numbers

    def classes(self, groups: Integers) -> Classes:
        """The classes that tuples form by their group numbers, which leave none out; without labels."""
        count = int(groups.max(initial=-1)) + 1
        sizes = np.zeros(count, dtype=np.int64)
        np.add.at(sizes, groups, self.counts)
        spreads = {name: merge_spread(spread, groups, count) for name, spread in self.spreads.items()}
        if self.population is None:
            return Classes(sizes, spreads)
        people = np.zeros(count, dtype=np.int64)
        np.add.at(people, groups, self.population)
        return Classes(sizes, spreads, None, people)

    def labels(self, places: npt.NDArray[np.integer[Any]], levels: Sequence[int]) -> pa.Table:
        """Labels of the tuples at ``places`` when each column is at its level: a column for each name."""
        found = {}
        for column, (name, level) in enumerate(zip(self.names, levels, strict=True)):
            codes = self.levels[column].codes[level][self.codes[column][places]]
            found[name] = self.levels[column].labels[level].take(pa.array(codes))
        return pa.table(found)


def tuples_of(table: Table, sensitive: Sequence[str] = (), population: Table | None = None) -> Tuples:
    """The tuples of a table: one GROUP BY on its engine, and one more for each sensitive column.

    Someone with several rows is an error, and so is a value its hierarchy does not know. Tuples that only others of
    the ``population`` have come last; they have no rows.
    """
    found = classes_of(table, sensitive=sensitive, population=population)
    labels, counts, people = found.labels, found.sizes, found.population
    if labels is None:
        raise BadInput(f"The classes of {table.card.name} have no labels.")
    if population is not None and people is not None:
        others = _others(population, labels)
        labels = pa.concat_tables([labels, others.select(labels.column_names)])
        counts = np.concatenate([counts, np.zeros(others.num_rows, dtype=np.int64)])
        people = np.concatenate([people, others.column(others.num_columns - 1).to_numpy().astype(np.int64)])
    return coded_tuples(table, labels, counts, found.spreads, people)


def coded_tuples(
    table: Table,
    labels: pa.Table,
    counts: Integers,
    spreads: Mapping[str, Spread] | None = None,
    population: Integers | None = None,
) -> Tuples:
    """Distinct tuples with their counts, as codes."""
    values, places, levels, shares = [], [], [], []
    for name in labels.column_names:
        cells: Any = labels.column(name).combine_chunks()
        distinct = pc.unique(cells)
        distinct = distinct.take(pc.array_sort_indices(distinct, null_placement="at_end"))
        values.append(distinct)
        places.append(pc.index_in(cells, distinct).to_numpy(zero_copy_only=False).astype(np.int32))
        coded, share = _levels(table.card[name], distinct)
        levels.append(coded)
        shares.append(share)
    names = tuple(labels.column_names)
    return Tuples(
        names, tuple(values), np.stack(places), counts, tuple(levels), tuple(shares), spreads or {}, population
    )


def merge_spread(spread: Spread, groups: Integers, count: int) -> Spread:
    """A spread over ``count`` classes that are unions of its own: ``groups`` says into which each goes."""
    width = max(len(spread.domain), 1)
    keys = groups[spread.classes] * width + spread.codes
    if count * width <= 16 * len(keys) + 1024:  # a dense table of counts is faster than sorting, while it is small
        counts = np.zeros(count * width, dtype=np.int64)
        np.add.at(counts, keys, spread.counts)
        lines = np.flatnonzero(counts)
        counts = counts[lines]
    else:
        lines, inverse = np.unique(keys, return_inverse=True)
        counts = np.zeros(len(lines), dtype=np.int64)
        np.add.at(counts, inverse, spread.counts)
    return Spread(spread.column, spread.domain, lines // width, lines % width, counts)


def keys_of(rows: pa.Table, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """The values of each row; those of alike rows are equal, also where they are NaN."""
    columns = (rows.column(name).to_pylist() for name in names)
    alike = ([nan if isinstance(value, float) and isnan(value) else value for value in column] for column in columns)
    return list(zip(*alike, strict=True))


def _others(population: Table, labels: pa.Table) -> pa.Table:
    """The tuples of a population that are not among ``labels``, with their counts in the last column."""
    counted = population.histogram(*labels.column_names)
    keys = counted.select(labels.column_names).cast(labels.schema)
    known = set(keys_of(labels, labels.column_names))
    fresh = [key not in known for key in keys_of(keys, labels.column_names)]
    return keys.append_column("people", counted.column(counted.num_columns - 1)).filter(pa.array(fresh, pa.bool_()))


def _levels(column: Column, values: pa.Array[Any]) -> tuple[LevelCodes, npt.NDArray[np.float64]]:
    """The levels of the values that occur, and the share of the domain that each of their labels covers."""
    domain = _domain(column, values)
    if column.hierarchy is None:
        whole = np.stack([np.arange(len(domain), dtype=np.int32), np.zeros(len(domain), dtype=np.int32)])
        labels: tuple[pa.Array[Any], ...] = (domain, pa.array([TOP] if len(domain) else [], pa.string()))
    else:
        found = hierarchy.codes(column.hierarchy, column.kind, domain)
        whole, labels = found.codes, found.labels
    widest = max(len(domain) - 1, 1)
    shares = [(np.bincount(level)[level] - 1) / widest for level in whole]
    count = len(values)
    kept = [label[: int(level[:count].max(initial=-1)) + 1] for label, level in zip(labels, whole, strict=True)]
    return LevelCodes(whole[:, :count], tuple(kept)), np.stack(shares)[:, :count]


def _domain(column: Column, values: pa.Array[Any]) -> pa.Array[Any]:
    """The values that occur, and after them those that are declared and do not."""
    declared: Sequence[Any] = ()
    if column.categories is not None:
        declared = column.categories
    elif isinstance(column.hierarchy, Taxonomy | Ordered):
        listed = column.hierarchy.leaves if isinstance(column.hierarchy, Taxonomy) else column.hierarchy.order
        declared = [_read(text, column.kind) for text in map(str, listed)]
    elif column.kind is Kind.INTEGER and column.bounds is not None:
        low, high = (int(end) for end in column.bounds)  # type: ignore[arg-type]  # a whole number, by its kind
        declared = range(low, high + 1) if high - low < _WIDEST else ()
    seen = set(values.to_pylist())
    missing = [value for value in dict.fromkeys(declared) if value is not None and value not in seen]
    return pa.concat_arrays([values, pa.array(missing, values.type)])


def _read(text: str, kind: Kind) -> Any:
    """A listed value as the column has it; ``None`` if it cannot have it."""
    if kind is Kind.BOOLEAN:
        return {"true": True, "false": False}.get(text)
    if kind is Kind.INTEGER:
        try:
            return int(text) if str(int(text)) == text else None
        except ValueError:
            return None
    return text


Flags = npt.NDArray[np.bool_]
Levels = npt.NDArray[np.int64]
"""Shape (columns, tuples): the level of each label."""

GONE = 0
"""The class number of tuples that are suppressed."""


class Labels:
    """The labels of hierarchies as they are printed: two cells look alike if their texts do, whatever their levels."""

    def __init__(self, tuples: Tuples) -> None:
        self._tuples = tuples
        self._texts: list[pa.Array[Any]] = []
        self._numbers: list[Integers] = []
        """For each column, shape (levels, values): the place of the text of a label."""
        for column in tuples.levels:
            texts = [text_labels(labels) for labels in column.labels]
            encoded = pa.concat_arrays(texts).dictionary_encode(null_encoding="encode")
            places = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
            starts = np.cumsum([0, *(len(text) for text in texts)])
            self._texts.append(encoded.dictionary)
            self._numbers.append(
                np.stack([places[start + codes] for start, codes in zip(starts, column.codes, strict=False)])
            )

    def levels(self, of: Integers) -> Levels:
        """The finest level of each column at which all tuples of a class have one label; 0 where suppressed."""
        order = np.argsort(of, kind="stable")
        numbers, starts = np.unique(of[order], return_index=True)
        place = np.searchsorted(numbers, of)
        found = np.zeros(self._tuples.codes.shape, dtype=np.int64)
        for column, (codes, levels) in enumerate(zip(self._tuples.codes, self._tuples.levels, strict=True)):
            lowest = np.full(len(numbers), len(levels.codes) - 1, dtype=np.int64)
            for level in range(len(levels.codes) - 2, -1, -1):
                labels = levels.codes[level][codes][order]
                same = np.minimum.reduceat(labels, starts) == np.maximum.reduceat(labels, starts)
                lowest[same] = level
            found[column] = np.where(of == GONE, 0, lowest[place])
        return found

    def alike(self, of: Integers, levels: Levels) -> Integers:
        """For each tuple the number of its class in what is released, where labels are all that tells classes apart.

        Numbers have no gaps; that of what is suppressed, if anything is, comes first.
        """
        found: Integers = (of != GONE).astype(np.int64)
        for column, numbers in enumerate(self._numbers):
            text = np.where(of == GONE, 0, numbers[levels[column], self._tuples.codes[column]])
            found = np.unique(found * len(self._texts[column]) + text, return_inverse=True)[1].astype(np.int64)
        return found

    def cells(self, of: Integers, levels: Levels) -> list[pa.Array[Any]]:
        """New cells of all tuples, for each column: text, unless nothing was changed; NULL where suppressed."""
        found = []
        for column, codes in enumerate(self._tuples.codes):
            places = pa.array(codes, mask=of == GONE)
            if levels[column].any():
                numbers = self._numbers[column][levels[column], codes]
                found.append(self._texts[column].take(pa.array(numbers, mask=of == GONE)))
            else:
                found.append(self._tuples.values[column].take(places))
        return found


def check_of(tuples: Tuples, models: Sequence[Model], alike: Callable[[Integers], Integers]) -> Callable[[Any], Flags]:
    """A check which classes break a model, given the class of each tuple; ``alike``: the classes when only
    labels tell classes apart."""

    def check(of: Integers) -> Flags:
        groups = alike(of)
        kept = np.zeros(int(groups.max(initial=-1)) + 1, dtype=np.bool_)
        kept[groups[of != GONE]] = True
        broken = np.zeros(len(kept), dtype=np.bool_)
        broken[kept] = breaking(tuples.classes(groups).keeping(kept), models)
        found = np.zeros(int(of.max(initial=0)) + 1, dtype=np.bool_)
        found[of[broken[groups]]] = True
        return found

    return check


def breaking(classes: Classes, models: Sequence[Model]) -> Flags:
    """The classes that break a model."""
    found = np.zeros(len(classes.sizes), dtype=np.bool_)
    for model in models:
        found |= model.breaking(classes)
    return found


def mapping(tuples: Tuples, cells: Sequence[pa.Array[Any]], kept: Flags) -> pa.Table:
    """Each tuple, its new cells, and whether it is kept."""
    columns: dict[str, pa.Array[Any]] = {}
    called = Names.of(tuples.names)
    for name, values, codes in zip(tuples.names, tuples.values, tuples.codes, strict=True):
        columns[name] = values.take(pa.array(codes))
    for name, new in zip(tuples.names, cells, strict=True):
        columns[called.new[name]] = new
    return pa.table(columns | {called.kept: pa.array(kept)})


def local_models(require: Sequence[Model], quasi: Sequence[str]) -> tuple[Model, ...]:
    """The models, one by one; an error if one of them cannot be judged when each class has labels of its own."""
    models = parts_of(require)
    require_beside(models, quasi)
    for model in models:
        if model.reference is not None:
            raise BadInput(
                f"“{model.claim.text}” needs a population, which cannot be matched when each class has its own labels.",
                hint="Use Generalize (--method generalize), whose levels also apply to a population.",
            )
    return models


def require_beside(models: Sequence[Model], quasi: Sequence[str]) -> None:
    """An error if a model looks at a quasi-identifier as if it were a secret."""
    for model in models:
        known = [name for name in model.sensitive if name in quasi]
        if known:
            raise BadInput(
                f"“{model.claim.text}” is about {known[0]!r}, a quasi-identifier, which is constant in an "
                "equivalence class.",
                hint='Declare role = "sensitive" for that column.',
            )


def refusal(
    tuples: Tuples,
    models: Sequence[Model],
    missed: str = "No equivalence classes were found in which all models hold.",
    hint: str = "Use weaker models, or another method.",
) -> NoPromise:
    """Why there is no recoding: what not even all rows as one class are; or, if they are, what was ``missed``."""
    one = tuples.classes(np.zeros(len(tuples.counts), dtype=np.int64))
    never = [model.claim.text for model in models if model.breaking(one).any()]
    if not never:
        return NoPromise(missed, hint=hint)
    return NoPromise(
        f"The table cannot be {' and '.join(never)}: not even all rows together are.",
        hint="Use weaker or other models, or add rows.",
    )


def text_labels(values: pa.Array[Any]) -> pa.Array[Any]:
    """Values as text, different for different values; NULL stays NULL."""
    if pa.types.is_boolean(values.type):
        named: pa.Array[Any] = pc.if_else(values, "true", "false")
        return named
    return values if pa.types.is_string(values.type) else values.cast(pa.string())


class PruningRules:
    """The models that must hold, sorted by how a search uses them: what they suppress, what they rule out untried.

    A model *absorbs* if a class that satisfies it still does when any rows are added to it. What such a model
    suppresses at some levels it suppresses at all finer ones, where classes are parts of those. Being monotone is less:
    merging classes which all satisfy a model may never break it, while a class merged with one that does not may well
    (entropy diversity, t-closeness). So monotone models prune a search only where nothing may be suppressed.
    """

    def __init__(
        self, models: Iterable[Model], limit: int, quality: Sequence[str] = (), *, several: bool = False
    ) -> None:
        """``limit``: how many rows may be suppressed; ``quality``: the columns the quality measure looks at.

        Where people have ``several`` rows, and so several values, models of values do not absorb: someone who has two
        of the values of a class makes both more frequent.
        """
        self.models = parts_of(models)
        self.smallest = max((_smallest(model) for model in self.models), default=1)
        absorbing = LDiversity | KMap | PSensitivity | JournalistRisk
        self.absorbing = tuple(model for model in self.models if isinstance(model, absorbing) and not several)
        counting = KAnonymity | ProsecutorRisk  # these look at the size of a class alone, and absorb
        self.others = tuple(m for m in self.models if not isinstance(m, counting) and m not in self.absorbing)
        self.pruning = tuple(m for m in self.others if m.monotone) if limit == 0 else ()
        """Models that hold nowhere in a box if they do not hold at its coarser end."""
        watched = self.models if limit == 0 else self.absorbing
        self.watched = tuple(sorted({*quality, *(name for model in watched for name in model.sensitive)}))
        """The columns whose spread is needed all the way, and not only to judge a node."""
        self.sensitive = tuple(sorted({*quality, *(name for model in self.models for name in model.sensitive)}))

    def absorbed(self, classes: Classes) -> Flags:
        """Which classes stay for all absorbing models; none of them depends on another class."""
        kept: Flags = classes.sizes >= self.smallest
        for model in self.absorbing:
            kept &= ~model.breaking(classes)
        return kept

    def settled(self, classes: Classes) -> Flags:
        """Which classes stay for all models. Classes without rows (of a population) are none."""
        if classes.population is None:
            return settled(classes, self.models)
        real = classes.sizes > 0
        kept = np.zeros(len(real), dtype=np.bool_)
        kept[real] = settled(classes.keeping(real), self.models)
        return kept

    def hopeless(self, classes: Classes, kept: Flags) -> bool:
        """Whether a model is broken that cannot hold at finer levels then, when nothing may be suppressed.

        What is not ``kept`` has no rows (it is of a population).
        """
        if not self.pruning:
            return False
        classes = classes if kept.all() else classes.keeping(kept)
        return any(model.breaking(classes).any() for model in self.pruning)


def _smallest(model: Model) -> int:
    """The number of rows below which a class breaks the model, as far as that is known."""
    match model:
        case KAnonymity(k=k):
            return k
        case ProsecutorRisk(threshold=threshold):
            return ceil(1 / threshold)
        case AlphaK(k=k):
            return k
        case PSensitivity(k=k, p=p):
            return max(k, p)
        case LDiversity(l=l):
            return l
        case EntropyLDiversity(l=l):
            return ceil(l)
        case RecursiveLDiversity(l=l):
            return l
    return 1
