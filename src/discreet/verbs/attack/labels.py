"""Labels of released cells: the values that a label may stand for, and its likelihood for each.

Everything comes from the recipe, the card and the labels themselves (Kerckhoffs): levels and hierarchies where the
recipe names them, else any label a hierarchy has, a range ``[20-29]``, a set ``{cold, flu}`` or ``*``.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.core.card import Card, Column, Role
from discreet.core.cardfile import from_fields
from discreet.core.hierarchy.hierarchy import TOP, Hierarchy, apply
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.report import is_number
from discreet.core.sql import column as named_column
from discreet.core.sql import named
from discreet.core.statement import Recipe
from discreet.engines.read import read
from discreet.verbs.attack.finding import Array

Cells: TypeAlias = "pa.Array[Any]"

_CELLWISE_METHODS = ("publish", "safepub", "suppress-uniques", "round", "code", "pram")
"""Methods whose recipes say what every cell may stand for; others change the columns they name beyond that."""
_RANGE = re.compile(r"\[(.+) to (.+)\]|\[([^-]+)-([^-]+)\]")


def is_informative(recipe: Recipe, name: str) -> bool:
    """Whether the cells of a column still tell something of the true values."""
    return recipe.method in _CELLWISE_METHODS or name not in _masked_columns(recipe)


def likelihoods(column: Column, values: Cells, labels: Cells, recipe: Recipe) -> Array:
    """Likelihood of each of the distinct ``labels`` (a column) for each of the distinct ``values`` (a row).

    For labels that are true it is 1 or 0; for a column that was changed at random, what its recipe says.
    """
    said = recipe.parameters
    if column.name in said.get("matrices", {}):
        return _matrix_likelihoods(values, labels, said["matrices"][column.name])
    if recipe.method == "round" and column.name in said.get("base", {}):
        base = float(said["base"][column.name]) * (1.0 if said.get("at_random") else 0.5)
        return _compare_numbers(values, labels, lambda true, text: np.abs(true - text) <= base * (1 + 1e-9))
    if recipe.method == "code" and column.name in said.get("columns", ()):
        return _compare_numbers(values, labels, lambda true, text: _fits_coding(true, text, said, column.name))
    fits = _compatible(column, values, labels, recipe)
    if recipe.method == "suppress-uniques" and column.name in said.get("columns", ()):
        fits |= np.asarray(labels.is_null())[None, :]
    return fits.astype(np.float64)


def is_unchanged(recipe: Recipe, name: str) -> bool:
    """Whether the recipe names no change of a column that is not generalised."""
    return name not in _masked_columns(recipe)


def is_exact(column: Column, values: Cells, labels: Cells, recipe: Recipe) -> bool:
    """Whether each label stands for nothing but itself, so that two columns can be joined instead of compared."""
    if values.type != labels.type:
        return False
    if (level := _level(recipe, column.name)) is not None:
        return level == 0
    if changed := _masked_columns(recipe):
        return column.name not in changed
    return not pa.types.is_string(labels.type)


def as_text(values: Cells) -> Cells:
    """Values as text, as labels write them; NULL stays NULL."""
    if pa.types.is_boolean(values.type):
        spelled: Cells = pc.if_else(values, "true", "false")
        return spelled
    return values if pa.types.is_string(values.type) else values.cast(pa.string())


def at_level(column: Column, values: Cells, level: int) -> Cells:
    """The values as text on a level of the column's hierarchy."""
    return _at_levels(column, column.hierarchy, values, [level])[0]


def _masked_columns(recipe: Recipe) -> Sequence[str]:
    """The columns that a masking method says it changed."""
    columns = recipe.parameters.get("columns")
    return columns if isinstance(columns, list | tuple) else ()


def _compatible(column: Column, values: Cells, labels: Cells, recipe: Recipe) -> Array:
    """Whether each label may stand for each value: as its own text, a label of its hierarchy, a range, a set, ``*``."""
    hierarchy = column.hierarchy or _recipe_hierarchy(recipe, column.name)
    level = _level(recipe, column.name)
    if level is not None:
        return _equal(_at_levels(column, hierarchy, values, [level])[0], as_text(labels))
    own, texts = as_text(values), as_text(labels)
    fits = _equal(own, texts)
    if not pa.types.is_string(labels.type):
        return fits if not is_number(labels.type) else fits | _compare_numbers(values, labels, np.equal).astype(bool)
    if hierarchy is not None:
        for shown in _at_levels(column, hierarchy, values, range(1, hierarchy.height)):
            fits |= _equal(shown, texts)
    spelled = own.to_pylist()
    for place, text in enumerate(texts.to_pylist()):
        if text == TOP:
            fits[:, place] = True
        elif text is not None:
            if text.startswith("{"):
                fits[:, place] |= np.array([one is not None and _in_set(one, text) for one in spelled], dtype=bool)
            elif found := _RANGE.fullmatch(text):
                fits[:, place] |= _in_range(column, values, spelled, *filter(None, found.groups()))
    return fits


def _level(recipe: Recipe, name: str) -> int | None:
    levels = recipe.parameters.get("levels")
    level = levels.get(name) if isinstance(levels, Mapping) else None
    return level if isinstance(level, int) and recipe.method in ("publish", "safepub") else None


def _recipe_hierarchy(recipe: Recipe, name: str) -> Hierarchy | None:
    """The hierarchy of a column in the recipe itself."""
    found = recipe.parameters.get("hierarchies")
    told_of = found.get(name) if isinstance(found, Mapping) else None
    if not isinstance(told_of, Mapping):
        return None
    return from_fields({key: value for key, value in told_of.items() if value is not None}, folder=None)


def _at_levels(column: Column, hierarchy: Hierarchy | None, values: Cells, levels: Sequence[int]) -> list[Cells]:
    """The values as text on each level, by the very expression that engines run; what is unknown is NULL."""
    top = 1 if hierarchy is None else hierarchy.height
    found: dict[int, Cells] = {0: as_text(values)}
    found |= dict.fromkeys((level for level in levels if level >= top), pa.array([TOP] * len(values), pa.string()))
    between = [level for level in levels if 0 < level < top]
    if hierarchy is not None and between:
        plain = replace(column, name="value", role=Role.OTHER, hierarchy=None, bounds=None, categories=None)
        plain = replace(plain, from_data=(), required=False)
        table = read(pa.table({"value": values}), Card("values", (plain,)))
        shown = [named(apply(hierarchy, named_column("value"), level, column.kind), f"l{level}") for level in between]
        fetched = table.engine.fetch(table.query(*shown))
        found |= {level: fetched.column(f"l{level}").combine_chunks() for level in between}
    return [found[level] for level in levels]


def _equal(values: Cells, labels: Cells) -> Array:
    """Equal texts; NULL equals NULL."""
    both: Any = pa.concat_arrays([values.cast(pa.string()), labels]).dictionary_encode(null_encoding="encode")
    codes = both.indices.to_numpy(zero_copy_only=False)
    return np.asarray(codes[: len(values), None] == codes[None, len(values) :])


def _in_set(text: str, among: str) -> bool:
    return among.startswith((f"{{{text},", f"{{{text}}}")) or f", {text}," in among or among.endswith(f", {text}}}")


def _in_range(column: Column, values: Cells, spelled: list[str | None], low: str, high: str) -> Array:
    """Whether each value lies in a range written by its ends; no value does if the ends cannot be read."""
    order = column.hierarchy.order if isinstance(column.hierarchy, Ordered) else column.categories
    place = {str(item): rank for rank, item in enumerate(order or ())}
    if low in place and high in place:
        inside = range(place[low], place[high] + 1)
        return np.array([one is not None and place.get(one) in inside for one in spelled], dtype=bool)
    try:
        ends = [_range_end(text, values.type) for text in (low, high)]
        return np.array([v is not None and ends[0] <= v <= ends[1] for v in values.to_pylist()], dtype=bool)
    except (ValueError, InvalidOperation, TypeError):
        return np.zeros(len(values), dtype=bool)


def _range_end(text: str, kind: pa.DataType) -> Any:
    if pa.types.is_date(kind):
        return dt.date.fromisoformat(text)
    if pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(text)
    return float(text) if pa.types.is_floating(kind) else text if pa.types.is_string(kind) else Decimal(text)


def _matrix_likelihoods(values: Cells, labels: Cells, said: Mapping[str, Any]) -> Array:
    """The published probabilities; a category that has none was not changed."""
    place = {str(one): at for at, one in enumerate(said["categories"])}
    matrix = np.array(said["matrix"], dtype=float)
    rows, columns = (
        np.array([place.get("" if one is None else str(one), -1) for one in side.to_pylist()], dtype=np.int64)
        for side in (values, labels)
    )
    same = _equal(as_text(values), as_text(labels)).astype(np.float64)
    drawn = matrix[rows[:, None], columns[None, :]]
    return np.where((rows >= 0)[:, None] & (columns >= 0)[None, :], drawn, same)


def _compare_numbers(values: Cells, labels: Cells, near: Callable[[Array, Array], Array]) -> Array:
    """Whether each pair of numbers satisfies ``near``; NULL goes with NULL."""
    if not is_number(values.type):
        return np.zeros((len(values), len(labels)))
    mine, theirs = (
        np.asarray(side.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)
        for side in (values, labels)
    )
    both = np.isnan(mine)[:, None] & np.isnan(theirs)[None, :]
    with np.errstate(invalid="ignore"):
        return np.asarray(near(mine[:, None], theirs[None, :]) | both, dtype=np.float64)


def _fits_coding(values: Array, labels: Array, said: Mapping[str, Any], name: str) -> Array:
    """Values beyond a border are what is written there, up to a grain of the column; others stay."""
    expected, loose = values, np.zeros(values.shape, dtype=bool)
    for side, beyond in (("top", np.greater), ("bottom", np.less)):
        if name in said.get(side, {}):
            out = beyond(values, float(said[side][name]))
            expected = np.where(out, float(said["written"][side][name]), expected)
            loose |= out
    apart = np.abs(labels - expected)
    return np.asarray(np.where(loose, apart < 1, apart <= 1e-9 * np.maximum(np.abs(expected), 1)))
