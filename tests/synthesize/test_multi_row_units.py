"""People with several rows: people are people, rows are theirs, and a unit counts once where it is one row."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sqlglot import exp

from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.loss import Concentrated, sequential
from discreet.core.table import Table
from discreet.engines.bounded_table import bounded
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.noise.masking import generator
from discreet.verbs.synthesize.distances import distances
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.private import Synthesize
from discreet.verbs.synthesize.spending import Counts
from discreet.verbs.synthesize.streaming import card_of_units, units_of

CARD = Card(
    "visits",
    (
        Column("who", Kind.INTEGER, Role.IDENTIFIER),
        Column("sex", Kind.TEXT, categories=("F", "M")),
        Column("member", Kind.BOOLEAN),
        Column("kind", Kind.TEXT, categories=("a", "b"), required=True),
    ),
    unit="who",
    rows_per_unit=4,
)


def visits(people=1_500):
    rng = generator(4)
    who = np.repeat(np.arange(people), rng.integers(1, 5, people))
    sex, member = rng.integers(0, 2, people), rng.random(people) < 0.3
    kind = np.where(rng.random(len(who)) < np.where(sex[who] == 0, 0.9, 0.1), "a", "b")
    return pa.table({"who": who, "sex": np.array(["F", "M"])[sex[who]], "member": member[who], "kind": kind})


def test_rows_are_a_persons_and_like_those_of_people():
    table = bounded(read(visits(), CARD))
    rows = Synthesize(rho=2, by="mst", person=["sex", "member"]).run(table)
    assert rows.column_names == ["who", "sex", "member", "kind"]
    of = {}
    for row in rows.to_pylist():
        of.setdefault(row["who"], []).append(row)
    assert all(len({(one["sex"], one["member"]) for one in some}) == 1 for some in of.values())
    assert abs(len(of) - 1_500) < 60
    sizes = Counter(map(len, of.values()))
    assert set(sizes) <= {1, 2, 3, 4}
    assert all(abs(sizes[many] - 375) < 80 for many in range(1, 5))
    women = [row["kind"] for row in rows.to_pylist() if row["sex"] == "F"]
    assert women.count("a") / len(women) == pytest.approx(0.9, abs=0.05)
    assert distances(rows).columns == ("sex", "member", "kind")


def test_people_are_drawn_in_blocks(monkeypatch):
    monkeypatch.setattr("discreet.verbs.synthesize.streaming._BLOCK", 100)
    rows = Synthesize(rho=5, by="independent", person=["sex"]).run(read(visits(450), CARD))
    many = Counter(rows.column("who").to_pylist())
    assert abs(len(many) - 450) < 30
    assert set(many) == set(range(1, len(many) + 1))
    assert max(many.values()) <= 4


def test_a_unit_is_one_row_on_every_engine(engine, fresh):
    name = fresh()
    engine.load(name, visits(60))
    shown = exp.select(*(sql.column(column.name) for column in CARD.columns)).from_(sql.table(name))
    units = units_of(Table(CARD, engine, shown), ["sex", "member"])
    domain = Domain.of(units.card)
    counts = Counts(units, domain).over((0, 1, 2))
    one = {row["who"]: row for row in visits(60).to_pylist()}
    many = Counter(visits(60).column("who").to_pylist())
    expected = Counter((row["sex"], row["member"], many[who]) for who, row in one.items())
    assert counts.sum() == 60
    for (sex, member, rows), n in expected.items():
        assert counts["FM".index(sex), int(member), rows - 1] == n


def test_it_loses_no_more_than_it_promises():
    trail = []
    method = Synthesize(rho=1, by="mst", person=["sex", "member"])
    ours = visits(30)
    more = pa.table({"who": [999] * 4, "sex": ["F"] * 4, "member": [True] * 4, "kind": ["a"] * 4})
    tables = [read(one, CARD) for one in (ours, pa.concat_tables([ours, more]))]
    method.run(tables[0], trail=trail)
    rows = [Counts(one, method.domain(CARD)) for one in tables]
    units = Domain.of(card_of_units(CARD, ["sex", "member"]))
    people = [Counts(units_of(one, ["sex", "member"]), units) for one in tables]
    losses = [
        step.lost(*(people if len(step.domain.names) == 3 and "rows" in step.domain.names else rows)) for step in trail
    ]
    found = sequential(losses)
    assert Concentrated("0.3").rho < found.rho <= 1


def test_what_makes_no_sense_is_said():
    with pytest.raises(BadInput, match="Leave rows out"):
        Synthesize(epsilon=1, person=["sex"], rows=5)
    with pytest.raises(BadInput, match="Without a unit"):
        Synthesize(epsilon=1, person=["sex"]).promise(replace(CARD, unit=None, rows_per_unit=None))
    with pytest.raises(BadInput, match="not a released column"):
        Synthesize(epsilon=1, person=["who"]).promise(CARD)
    with pytest.raises(BadInput, match="not a released column"):
        Synthesize(epsilon=1, columns=["kind"], person=["sex"]).run(read(visits(5), CARD))
    assert "in common" in str(Synthesize(epsilon=1, person=["sex"]).promise(CARD))
