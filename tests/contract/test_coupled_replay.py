"""What no method that goes through the door does: lose more than it charges, or show a row past its noise.

Each runs on a table, and again on neighbouring ones, of one person more or less, with the noise of the first run; see
``replay.py``. A new method is added to ``EXAMPLES``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.contract import examples
from tests.contract.examples import EXAMPLES, PEOPLE, Example, People, neighbours, through_the_door
from tests.contract.replay import Finding, recorded, replayed

import discreet
from discreet.core.card import Card
from discreet.core.document import dumps
from discreet.core.families import PRIVATE_LEARNERS
from discreet.core.loss import Pure
from discreet.core.report import Picture
from discreet.core.statement import Statement
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded_card
from discreet.engines.duckdb import DuckDB
from discreet.errors import BadInput
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask import stream as streams
from discreet.verbs.ask.bounds import Bounds
from discreet.verbs.ask.distribution import Distribution
from discreet.verbs.learn.private import meter
from discreet.verbs.learn.private.learner import PrivateLearner
from discreet.verbs.learn.private.meter import noise_for
from discreet.verbs.learn.private.noisy_tree import NoisyTree
from discreet.verbs.publish.safepub import SafePub
from discreet.verbs.synthesize import private as synthesize
from discreet.verbs.synthesize.private import Synthesize

ELSEWHERE = {
    "SqlMethod", "Thresholds", "Uncharged", "Answering", "CollectedFigures", "DrawnRows", "_PlayedSession",
    "PrivateLearner",
}  # fmt: skip
"""SQL questions and sessions of thresholds, which ``tests/ask`` replays in the same way; methods that run another one,
or release what is worked out elsewhere; the base of learners."""
WITHOUT_LOSS = {"Recode", "Masking", "NonPrivate", "_Learning", "_Tabulation", "_Hiding"}
"""Methods that promise no privacy loss. What ``_Learning`` compares its model with has one, and is for the holder
alone: ``tests/learn/test_learners.py`` replays it."""
LONG = [(name, seed) for name, one in EXAMPLES.items() for seed in range(100, 103 if one.few else 112)]


@pytest.fixture(scope="module")
def engine() -> Iterator[DuckDB]:
    found = DuckDB()
    yield found
    found.close()


def replay(example: Example, engine: DuckDB, seed: int, many: int) -> float:
    """The largest part of the charge that is lost between a table and its neighbours."""
    here, others = neighbours(example, engine, seed, many)
    first, tape = recorded(lambda: example.run(here), seed)
    return max(replayed(lambda one=one: example.run(one), first, tape, seed).share(first.loss) for one in others)


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_neighbour_changes_nothing_but_figures_under_noise_and_those_by_no_more_than_the_charge(
    name: str, engine: DuckDB
) -> None:
    seeds, many = ((2,), 3) if EXAMPLES[name].few else (range(3), 5)
    for seed in seeds:
        lost = replay(EXAMPLES[name], engine, seed, many)
        assert lost <= 1
        if lost > 1 / 2:
            return
    pytest.fail("nobody loses most of what is charged: nothing was seen")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "seed"), LONG)
def test_nor_do_many_neighbours(name: str, seed: int, engine: DuckDB) -> None:
    assert replay(EXAMPLES[name], engine, seed, 8) <= 1


def test_every_method_and_every_stream_has_an_example() -> None:
    files = (file.read_text(encoding="utf-8") for file in Path(discreet.__file__).parent.rglob("*.py"))
    found = {name for text in files for name in re.findall(r"^class (\w+)\(.*\bMethod\[", text, re.MULTILINE)}
    learners = {entry.kind for entry in PRIVATE_LEARNERS.entries()}
    assert learners <= {one.of for one in EXAMPLES.values()}
    assert found - ELSEWHERE - WITHOUT_LOSS == {one.of.__name__ for one in EXAMPLES.values() if one.of not in learners}
    assert {one.method.by for one in EXAMPLES.values() if isinstance(one.method, Synthesize)} == set(synthesize.WAYS)


LITTLE = [name for name, one in EXAMPLES.items() if hasattr(one.method, "epsilon") and one.of is not SafePub]


@pytest.mark.parametrize(("epsilon", "rows_per_unit"), [("0.015", 10**6), ("1e-8", 1), ("1e-15", 1), ("1e-18", 3)])
@pytest.mark.parametrize("name", LITTLE)
def test_however_little_is_spent_it_is_refused_before_the_charge_or_every_figure_is_finite(
    name: str, epsilon: str, rows_per_unit: int, engine: DuckDB
) -> None:
    method: Any = EXAMPLES[name].method
    changed: dict[str, Any] = {} if isinstance(method, Bounds) else {"rho": None}
    if isinstance(method, Synthesize):
        changed |= {"rows": 50, "person": ()}
    method = replace(method, epsilon=epsilon, **changed)
    card = replace(EXAMPLES[name].card, unit="who", rows_per_unit=rows_per_unit)
    try:
        method.promise(bounded_card(card))
    except BadInput:
        return
    people = neighbours(EXAMPLES[name], engine, 2, 1)[0].people
    made = method.run(People(card, people, engine).table, SYSTEM)
    if isinstance(made, dict):
        assert dumps(made)  # which knows no number that is not finite
        return
    for column in made.columns:
        numbers = [one for one in column.to_pylist() if isinstance(one, int | float) and not isinstance(one, bool)]
        assert all(math.isfinite(one) and one != -(2**63) for one in numbers)


@dataclass(frozen=True)
class HalfPaid(Distribution):
    """Charges half of what it loses, as one does who takes the sensitivity to be half of what it is."""

    def promise(self, card: Card) -> Statement:
        return replace(super().promise(card), loss=Pure("1/2"))


@dataclass(frozen=True)
class RowCount(Distribution):
    """Tells how many rows there are."""

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        rows = table.engine.fetch(table.relation).num_rows
        return super().run(table, entropy).append_column("rows", pa.array([rows] * 4))


@dataclass(frozen=True)
class ByHand(Distribution):
    """Adds its noise by itself, where no mechanism sees what it is added to."""

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        rows = table.engine.fetch(table.relation).num_rows
        made = super().run(table, entropy)
        return made.append_column("rows", pa.array([rows + DiscreteLaplace(9).draw(entropy)] * 4))


@dataclass(frozen=True)
class IfThere(Distribution):
    """Counts only where there is somebody."""

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        found = table.engine.fetch(table.relation).column("b").drop_null().value_counts()
        counts = np.array([one["counts"].as_py() for one in found], np.int64)
        return pa.table({"n": [int(DiscreteLaplace(10**6).add_all(counts, entropy).sum())]})

    def pictures(self, payload: pa.Table) -> tuple[Picture, ...]:
        return ()


@dataclass(frozen=True)
class OnceMore(Distribution):
    """Counts again where there are many rows."""

    def run(self, table: Table, entropy: Entropy = SYSTEM) -> pa.Table:
        rows = table.engine.fetch(table.relation).num_rows
        made = super().run(table, entropy)
        for _ in range(rows):
            DiscreteLaplace(10**6).add(0, entropy)
        return made


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (HalfPaid, "was charged; lost was"),
        (RowCount, "payload differs"),
        (ByHand, "payload differs"),
        (IfThere, "Draw 1 was|draw more|draw less"),
        (OnceMore, "draw more|draw less"),
    ],
)
def test_a_method_that_is_not_private_is_caught(fault: type[Distribution], told: str, engine: DuckDB) -> None:
    method = fault("b", 4, epsilon=1)
    with pytest.raises(Finding, match=told):
        _until_found(Example(fault, through_the_door(method), PEOPLE), engine)


def test_a_synthesizer_with_too_little_noise_is_caught(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthesize, "rows_per_unit", lambda card: 1)
    with pytest.raises(Finding, match="was charged; lost was"):
        _until_found(EXAMPLES["synthesize by mst"], engine)


def test_a_macro_table_with_too_little_noise_is_caught(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DiscreteLaplace, "loss", lambda noise, sensitivity=1: Pure(1 / noise.scale))
    with pytest.raises(Finding, match="was charged; lost was"):
        _until_found(EXAMPLES["macro-table"], engine)


LEARNERS = [name for name, one in EXAMPLES.items() if isinstance(one.method, PrivateLearner)]


@pytest.mark.parametrize("name", LEARNERS)
def test_a_learner_with_noise_that_is_a_fifth_too_small_is_caught(
    name: str, engine: DuckDB, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted fault of a quarter: the noise is for vectors of four fifths of the length that they may have."""
    short = Fraction(4, 5)
    monkeypatch.setattr(
        meter,
        "noise_for",
        lambda allowance, share, most, total, squares: noise_for(
            allowance, share, most, short * total, short**2 * squares
        ),
    )
    example = EXAMPLES[name]
    if isinstance(example.method, NoisyTree):  # later levels see no row in tables as small as these
        method = replace(example.method, depth=1)
        example = Example(NoisyTree, through_the_door(method), example.card, method)
    with pytest.raises(Finding, match="was charged; lost was"):
        _until_found(example, engine)


def test_rows_that_were_not_cut_are_caught(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    def uncut(table: Table) -> Table:
        return replace(table, card=bounded_card(table.card))

    monkeypatch.setattr(examples, "bounded", uncut)
    with pytest.raises(Finding, match="was charged; lost was"):
        _until_found(EXAMPLES["macro-table"], engine)


def test_a_sample_with_too_small_a_threshold_is_caught(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.verbs.publish.safepub.smallest_k", lambda *_: 2)
    with pytest.raises(Finding, match=r"was charged; lost was|payload differs"):
        _until_found(EXAMPLES["safepub"], engine)


def test_a_stream_that_is_cut_in_every_step_alone_is_caught(engine: DuckDB, monkeypatch: pytest.MonkeyPatch) -> None:
    cut = streams.count_rows
    monkeypatch.setattr(streams, "count_rows", lambda arrivals, counted, *rest: cut(arrivals, {}, *rest))
    with pytest.raises(Finding, match="was charged; lost was"):
        _until_found(EXAMPLES["stream"], engine)


def _until_found(example: Example, engine: DuckDB) -> None:
    for seed in range(6):
        replay(example, engine, seed, 6)
