"""Recodings that give each distinct tuple labels of its own: how classes get theirs, and how models see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from discreet.errors import BadInput, NoPromise
from discreet.models.classes import Classes, Integers
from discreet.models.model import Model, parts_of
from discreet.verbs.publish.recoding import Names
from discreet.verbs.publish.tuples import Tuples

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
            texts = [as_text(labels) for labels in column.labels]
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
        """For each column the new cells of all tuples: text, unless nothing was changed; NULL where suppressed."""
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
    """What says which classes break a model, given the class of each tuple; ``alike``: what becomes of them when only
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
                f"“{model.claim.text}” compares with a population, which has no labels when each class has its own.",
                hint="Use Generalize (--method generalize), whose levels a population has, too.",
            )
    return models


def require_beside(models: Sequence[Model], quasi: Sequence[str]) -> None:
    """An error if a model looks at a quasi-identifier as if it were a secret."""
    for model in models:
        known = [name for name in model.sensitive if name in quasi]
        if known:
            raise BadInput(
                f"“{model.claim.text}” is about {known[0]!r}, a quasi-identifier: all of a class show the same.",
                hint='Give that column role = "sensitive".',
            )


def refusal(
    tuples: Tuples,
    models: Sequence[Model],
    missed: str = "No classes were found in which all models hold.",
    hint: str = "Ask for less, or try another method.",
) -> NoPromise:
    """Why there is no recoding: what not even all rows as one class are; or, if they are, what was ``missed``."""
    one = tuples.classes(np.zeros(len(tuples.counts), dtype=np.int64))
    never = [model.claim.text for model in models if model.breaking(one).any()]
    if not never:
        return NoPromise(missed, hint=hint)
    return NoPromise(
        f"The table cannot be {' and '.join(never)}: not even all rows as one class are.",
        hint="Ask for less, or for another model; or add rows: there may be fewer than one class must have.",
    )


def as_text(values: pa.Array[Any]) -> pa.Array[Any]:
    """Values as text, different for different values; NULL stays NULL."""
    if pa.types.is_boolean(values.type):
        named: pa.Array[Any] = pc.if_else(values, "true", "false")
        return named
    return values if pa.types.is_string(values.type) else values.cast(pa.string())
