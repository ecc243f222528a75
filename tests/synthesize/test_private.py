"""Synthetic rows: what they promise, what they are like, what they say of themselves, and hardly any rows at all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from tests.noise.bits import Repeatable
from tests.synthesize.small import EVERY_KIND

import discreet as dc
from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.core.loss import Approximate, Concentrated, Pure
from discreet.core.release import Rows
from discreet.engines.bounded_table import bounded
from discreet.engines.read import read
from discreet.errors import BadInput, BudgetExceeded, NotDeclared
from discreet.noise.masking import generator
from discreet.verbs.synthesize.distances import CountBounds, distances, exact_columns, too_many
from discreet.verbs.synthesize.domain import Domain
from discreet.verbs.synthesize.private import WAYS, Synthesize
from discreet.verbs.synthesize.streaming import HELD, Tally, write_blocks

CARD = Card(
    "people",
    (
        Column("id", Kind.INTEGER, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 99)),
        Column("sex", Kind.TEXT, Role.QUASI, categories=("F", "M"), required=True),
        Column("status", Kind.TEXT, categories=("child", "single", "married")),
        Column("income", Kind.REAL, Role.SENSITIVE, bounds=(0.0, 1000.0)),
    ),
    impossible=("age < 15 AND status <> 'child'", "age >= 20 AND status = 'child'"),
)

SHORT = Card("short", CARD.columns[1:4], impossible=CARD.impossible)


def people(rows=3_000):
    rng = generator(11)
    age = rng.integers(0, 100, rows)
    status = np.where(age < 15, "child", np.where(rng.random(rows) < 0.6, "married", "single"))
    income = np.where(age < 18, 0.0, rng.gamma(2, 120, rows))
    return pa.table(
        {
            "id": np.arange(rows),
            "age": pa.array(age, mask=rng.random(rows) < 0.05),
            "sex": np.where(rng.random(rows) < 0.7, "F", "M"),
            "status": status,
            "income": income,
        }
    )


TABLE = bounded(read(people(), CARD))


def share(rows, condition):
    return np.mean([condition(row) for row in rows.to_pylist()])


@pytest.mark.parametrize("by", sorted(WAYS))
def test_rows_are_like_the_table_and_keep_to_the_card(by):
    rows = Synthesize(rho=2, by=by, bins={"income": 16}).run(TABLE)
    assert rows.column_names == ["age", "sex", "status", "income"]
    assert abs(rows.num_rows - 3_000) < 200
    assert share(rows, lambda row: row["sex"] == "F") == pytest.approx(0.7, abs=0.05)
    assert share(rows, lambda row: row["age"] is None) == pytest.approx(0.05, abs=0.04)
    for row in rows.to_pylist():
        if row["age"] is not None and row["status"] is not None:
            assert not (row["age"] < 15 and row["status"] != "child")
            assert not (row["age"] >= 20 and row["status"] == "child")
    if by != "independent":
        poor = [row["income"] or 0.0 for row in rows.to_pylist() if row["age"] is not None and row["age"] < 15]
        assert np.mean(poor) < 60  # children earn nothing; everybody else 240 on average


def test_a_bound_on_every_count_is_beside_the_rows_and_holds():
    rows = Synthesize(rho=1, by="mst").run(TABLE, Repeatable(1))  # each bound may fail in one run of twenty
    near = distances(rows)
    assert isinstance(near, CountBounds)
    assert near.by == "mst"
    assert near.rows == rows.num_rows
    assert near.exact == ("age", "sex", "status")
    assert len(near.distance) == 4 + 6
    true, drawn = people().to_pylist(), rows.to_pylist()
    for columns, far in near.distance.items():
        assert 0 <= far < 0.6
        if set(columns) <= set(near.exact):
            cells = {tuple(row[name] for name in columns) for row in (*true, *drawn)}
            off = [
                sum(tuple(row[name] for name in columns) == cell for row in true)
                - sum(tuple(row[name] for name in columns) == cell for row in drawn)
                for cell in list(cells)[:20]
            ]
            assert max(map(abs, off)) <= far * near.rows
            assert abs(sum(one for one in off if one > 0)) <= far * near.rows


def test_what_is_said_beside_the_rows_survives_the_folder(tmp_path):
    rows = Synthesize(epsilon=1, delta="1e-9", by="independent").run(TABLE)
    method = Synthesize(epsilon=1, delta="1e-9")
    release = dc.Release(rows, method.promise(TABLE.card), dc.Recipe("synthesize"))
    near = distances(release)
    folder = release.save(tmp_path / "twin")
    assert distances(dc.Release.load(folder)) == near == distances(Rows(folder / "payload.parquet"))
    assert near == distances(rows.schema)
    with pytest.raises(BadInput):
        distances(people())


def test_no_rows_at_all_are_far_from_the_table(monkeypatch):
    monkeypatch.setattr("discreet.verbs.synthesize.streaming._TRIES", 1)
    card = Card("t", (Column("age", Kind.INTEGER, bounds=(0, 9), required=True),), impossible=("age + 0 >= 0",))
    table = read(pa.table({"age": [1, 2] * 500}), card)
    rows = Synthesize(rho=1, by="independent").run(table)
    near = distances(rows)
    assert rows.num_rows == near.rows == 0
    assert 1_000 <= near.reach["age",] < 1_200


def test_decimals_finer_than_what_is_drawn_are_in_intervals():
    card = Card("t", (Column("p", Kind.DECIMAL, bounds=(0, 2)), Column("g", Kind.BOOLEAN)))
    domain = Domain.of(card, bins=500)
    assert domain.sizes[0] == 202
    assert exact_columns(domain) == ("g",)


def test_what_holds_for_whole_intervals_alone_is_said():
    method = Synthesize(rho=1, by="independent", columns=["sex", "income"], bins=4)
    (picture,) = method.pictures(method.run(TABLE))
    assert "sex × income (in intervals)" in str(picture)
    assert "holds for whole intervals only" in str(picture)
    assert "of income only whole intervals were compared" in method.steps(CARD)[-1]


def test_pairs_are_compared_as_long_as_there_is_room():
    names = tuple(f"v{n}" for n in range(2_000))
    wide = tuple(Column(f"q{at}", Kind.TEXT, categories=names, required=True) for at in range(6))
    card = Card("wide", (*wide, Column("b", Kind.BOOLEAN)))
    tally = Tally(Synthesize(epsilon=1).domain(card))
    assert sum(one.size for one in tally.counts.values()) <= 1 << 24
    assert {(at,) for at in range(7)} | {(at, 6) for at in range(6)} < set(tally.counts)
    left_out = too_many(tally.domain)
    assert len(left_out) + len(tally.counts) == 7 + 21
    assert left_out[-1] in Synthesize(epsilon=1).steps(card)[-1]


def test_no_file_stays_if_it_goes_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tally = Tally(Domain.of(SHORT))
    with pytest.raises(ZeroDivisionError), write_blocks([], tally.domain.schema, tally, HELD + 1):
        assert len(list(tmp_path.iterdir())) == 1
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_many_rows_go_to_a_file_and_say_the_same(tmp_path):
    card = Card("t", (Column("a", Kind.BOOLEAN),))
    table = read(pa.table({"a": [True, False] * 50}), card)
    rows = Synthesize(epsilon=5, by="independent", rows=HELD + 1).run(table)
    assert isinstance(rows, Rows)
    near = distances(rows)
    assert near.rows == HELD + 1
    release = dc.Release(rows, Synthesize(epsilon=5).promise(card), dc.Recipe("synthesize"))
    folder = release.save(tmp_path / "twin")
    assert not rows.path.exists()
    assert distances(dc.Release.load(folder)) == near
    assert Synthesize(epsilon=5).pictures(Rows(folder / "payload.parquet"))


def test_the_promise_is_what_was_asked_for():
    assert Synthesize(epsilon=1).promise(CARD).loss == Pure(1)
    assert Synthesize(epsilon=1, delta="1e-9").promise(CARD).loss == Approximate(1, "1e-9")
    assert Synthesize(rho="1/2").promise(CARD).loss == Concentrated("1/2")
    visits = replace(CARD, unit="id", rows_per_unit=3, impossible=("id < 3",))
    said = str(Synthesize(epsilon=1).promise(visits))
    assert "not linked" in said
    assert "is not enforced: id < 3" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "set epsilon or rho"),
        ({"epsilon": 1, "rho": 1}, "set epsilon or rho"),
        ({"rho": 1, "delta": "1e-6"}, "needs an epsilon"),
        ({"epsilon": 1, "by": "mts"}, "did you mean 'mst'"),
        ({"epsilon": 1, "rows": 0}, "rows"),
        ({"epsilon": 1, "columns": "age"}, "list of names"),
    ],
)
def test_what_is_wrong_is_said_at_once(options, said):
    with pytest.raises(BadInput, match=said):
        Synthesize(**options)


def test_what_cannot_be_made_is_said_before_anything_is_charged():
    with pytest.raises(NotDeclared, match="rows_per_unit"):
        Synthesize(epsilon=1).promise(replace(CARD, unit="id"))
    with pytest.raises(BadInput, match="pure noise"):
        Synthesize(epsilon="1e-12").promise(CARD)
    with pytest.raises(BadInput, match="no possible cell"):
        Synthesize(epsilon=1).promise(replace(CARD, impossible=("sex = 'F'", "sex = 'M'")))
    with pytest.raises(BadInput, match="Every drawn row"):
        Synthesize(epsilon=1).promise(replace(CARD, impossible=("age + 0 >= 0", "age IS NULL")))
    guessed = replace(CARD.columns[1], from_data=("bounds",))
    with pytest.raises(NotDeclared, match="taken from the data"):
        Synthesize(epsilon=1).promise(Card("t", (guessed,)))


@pytest.mark.parametrize(
    ("by", "rows", "options"),
    [(by, 0, {"epsilon": 1, "delta": "1e-9"}) for by in sorted(WAYS)] + [("aim", 1, {"epsilon": 1, "rows": 7})],
)
def test_hardly_any_rows(by, rows, options):
    table = read(people(5).slice(0, rows).select(["age", "sex", "status"]), SHORT)
    made = Synthesize(**options, by=by).run(table)
    assert made.num_rows <= options.get("rows", 5_000)


@pytest.mark.parametrize("by", sorted(WAYS))
@pytest.mark.parametrize("loss", [{"rho": 1}])
def test_columns_that_are_hardly_any(by, loss):
    card = Card(
        "odd",
        (
            Column("constant", Kind.TEXT, categories=("only",), required=True),
            Column("missing", Kind.INTEGER, bounds=(0, 5)),
            Column("one", Kind.BOOLEAN, required=True),
        ),
    )
    gone = pa.array([None] * 500, pa.int64())
    table = read(pa.table({"constant": ["only"] * 500, "missing": gone, "one": [True] * 500}), card)
    for columns in ((), ("constant",), ("missing",)):
        made = Synthesize(**loss, by=by, columns=columns).run(table)
        assert abs(made.num_rows - 500) < 400
        if "missing" in made.column_names:
            assert made.column("missing").null_count > 0.5 * made.num_rows


def test_thousands_of_categories():
    names = tuple(f"v{n}" for n in range(3_000))
    card = Card("wide", (Column("c", Kind.TEXT, categories=names), Column("b", Kind.BOOLEAN)))
    values = ["v3"] * 6_000 + ["v77"] * 3_000 + list(names[:1_000])
    table = read(pa.table({"c": values, "b": [value == "v3" for value in values]}), card)
    made = Synthesize(epsilon=1, delta="1e-6", by="mst").run(table)
    assert share(made, lambda row: row["c"] == "v3") == pytest.approx(0.6, abs=0.1)
    assert share(made, lambda row: row["b"] is True and row["c"] == "v3") == pytest.approx(0.6, abs=0.1)
    assert len(set(made.column("c").to_pylist())) > 100
    assert distances(made).exact == ("c", "b")


def test_every_kind_is_drawn_within_its_bounds():
    rng = generator(2)
    domain = Synthesize(epsilon=1).domain(EVERY_KIND)
    rows = domain.decoded(np.stack([rng.integers(0, size, 400) for size in domain.sizes], axis=1), rng)
    made = Synthesize(rho=1, by="independent", quantiles=["cost"], bins=8).run(read(rows, EVERY_KIND))
    assert made.schema.equals(rows.schema)
    for column in EVERY_KIND.columns:
        known = [value for value in made.column(column.name).to_pylist() if value is not None]
        if column.bounds:
            assert all(column.bounds[0] <= value <= column.bounds[1] for value in known)


def test_through_the_door_it_is_charged_once_and_kept(tmp_path):
    tables = {"people": (people(), replace(CARD, unit="id", rows_per_unit=1))}
    with dc.Curator.create(tmp_path / "ws", tables, Approximate(2, "1e-6")) as curator:
        method = Synthesize(epsilon="1.5", delta="1e-9", by="mst")
        release = curator.release(method, "people")
        assert release.statement.loss == release.receipt.loss == Approximate("1.5", "1e-9")
        assert release.pictures
        near = distances(release)
        again = curator.release(Synthesize(epsilon="1.5", delta="1e-9", by="mst"), "people")
        assert again.payload.equals(release.payload)
        assert distances(again) == near
        with pytest.raises(BudgetExceeded):
            curator.release(Synthesize(epsilon="1.5", delta="1e-9", by="mst", rows=5), "people")
        curator.verify()


def test_many_rows_through_the_door(tmp_path):
    card = Card("t", (Column("a", Kind.BOOLEAN),))
    tables = {"t": (pa.table({"a": [True, False] * 50}), card)}
    with dc.Curator.create(tmp_path / "ws", tables, Pure(2)) as curator:
        method = Synthesize(epsilon=1, by="independent", rows=HELD + 1)
        release = curator.release(method, "t")
        assert isinstance(release.payload, Rows)
        assert distances(release).rows == HELD + 1  # it is where the release is kept
        assert distances(curator.release(method, "t")) == distances(release)
