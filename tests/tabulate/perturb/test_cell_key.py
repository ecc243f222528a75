"""The cell-key method: laws with the promised moments, the same change whenever the same people are counted."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.optimize import LinearConstraint, minimize
from sqlglot import exp

import discreet as dc
from discreet.core import sql
from discreet.core.card import Card, Column, Role
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.table import Table
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.noise.entropy import Entropy
from discreet.verbs.tabulate.perturb.cell_key import CellKeys, cell_keys
from discreet.verbs.tabulate.perturb.record_keys import KeyedRows, draw_secret
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.crosstable import CrossTable

SECRET = bytes(range(32))
PLACE = Taxonomy((("n1", "north"), ("n2", "north"), ("s1", "south"), ("s2", "south")))


def people(count=400, *, unit="who", seed=0, order=None):
    rng = np.random.default_rng(seed)
    rows = pa.table(
        {
            "who": [f"p{number}" for number in range(count)],
            "place": np.array(["n1", "n2", "s1", "s2"])[rng.integers(4, size=count)],
            "job": np.array(["a", "b", "c"])[rng.integers(3, size=count)],
            "sex": np.array(["f", "m"])[rng.integers(2, size=count)],
        }
    )
    columns = [
        Column("who", Kind.TEXT, Role.IDENTIFIER),
        Column("place", Kind.TEXT, Role.QUASI, hierarchy=PLACE),
        Column("job", Kind.TEXT, Role.QUASI),
        Column("sex", Kind.TEXT, Role.QUASI),
    ]
    if unit is None:
        columns = columns[1:]
    card = Card("people", tuple(columns), unit=unit, rows_per_unit=None if unit is None else 1)
    return read(rows if order is None else rows.take(order), card)


@pytest.mark.parametrize(
    ("most", "variance", "never"),
    [(1, 0.5, 0), (2, 1.2, 0), (3, 2.0, 0), (4, 2.5, 1), (5, 3.0, 2), (2, 2.0, 1), (10, 5.0, 2), (50, 40.0, 10)],
)
def test_laws_have_the_promised_moments_and_no_more(most, variance, never):
    law = CellKeys(most, variance, never)
    changes = np.arange(-most, most + 1)
    assert law.laws[0, most] == 1
    for count, row in enumerate(law.laws[1:], 1):
        assert abs(row.sum() - 1) < 1e-12
        assert abs(row @ changes) < 1e-9
        assert abs(row @ changes**2 - variance) < 1e-9
        outcomes = (count + changes)[row > 0]
        assert outcomes.min() >= 0 and not ((outcomes >= 1) & (outcomes <= never)).any()
    assert np.allclose(law.laws[-1], law.laws[-1][::-1]), "large counts are changed evenly"


def test_laws_have_maximum_entropy():
    law = CellKeys(3, 1.5, 1)
    for count in range(1, 6):
        changes = np.arange(-3, 4)
        changes = changes[(count + changes == 0) | (count + changes > 1)]
        same = LinearConstraint(np.stack([np.ones(len(changes)), changes, changes**2]), [1, 0, 1.5], [1, 0, 1.5])
        found = minimize(
            lambda p: float(p @ np.log(p)),
            np.full(len(changes), 1 / len(changes)),
            bounds=[(1e-12, 1)] * len(changes),
            constraints=same,
            method="SLSQP",
            options={"ftol": 1e-14},
        )
        assert np.allclose(law.laws[count, changes + 3], found.x, atol=1e-5)


@pytest.mark.parametrize("variance", [2, 2.0, Fraction(2)])
def test_a_release_says_the_variance_as_a_float_whatever_it_was_given_as(variance):
    same = CellKeys(variance=2.0)
    made = dc.tabulate(people(), "job", method=CellKeys(variance=variance), secret=SECRET)
    assert repr(dict(made.recipe.parameters)["variance"]) == "2.0"
    assert np.array_equal(CellKeys(variance=variance).laws, same.laws)


def test_variances_that_cannot_be_are_refused_with_those_that_can():
    with pytest.raises(BadInput, match=r"count of 1 .* 2 to 5"):
        CellKeys(5, 1.0, 2)
    with pytest.raises(BadInput, match="0 to 1"):
        CellKeys(1, 1.5)
    for wrong in ((0, 1.0, 0), (3, 1.0, 3), (3, 1.0, -1), (2.0, 1.0, 0)):
        with pytest.raises(BadInput):
            CellKeys(*wrong)
    both = CellKeys(1, 1.0)
    assert both.laws[1].tolist() == [0.5, 0, 0.5], "the largest variance there is"


def test_each_change_has_its_chance():
    """All chances on a fine grid: as many keys lead to a change as its law says."""
    law = CellKeys(3, 2.0, 1)
    grid = 100_000
    keys = (np.arange(grid, dtype=np.uint64) * np.uint64(2**64 // grid)).astype(np.uint64)
    for count in (0, 1, 2, 3, 6, 50):
        changes = law.applied(np.full(grid, count), keys) - count
        shares = np.bincount(changes + 3, minlength=7) / grid
        assert np.allclose(shares, law.laws[min(count, len(law.laws) - 1)], atol=2 / grid)
    assert law.applied(np.array([5, 5]), np.array([0, 2**64 - 1], np.uint64)).tolist() == [2, 8]


def test_keys_add_up_and_are_the_same_in_every_table():
    table = people()
    both, job = cell_keys(table, ["place", "job"], SECRET), cell_keys(table, ["job"], SECRET)
    built = build(table, ["place", "job"])
    assert both.shape == built.values.shape and both.dtype == np.uint64
    assert np.array_equal(both[0], job)
    north, leaves = built.dimensions[0].places["north"], [built.dimensions[0].places[one] for one in ("n1", "n2")]
    assert np.array_equal(both[north], both[leaves].sum(axis=0, dtype=np.uint64))
    shuffled = people(order=np.random.default_rng(3).permutation(400))
    assert np.array_equal(cell_keys(shuffled, ["place", "job"], SECRET), both)
    assert not np.array_equal(cell_keys(table, ["place", "job"], bytes(32)), both)
    some = table.where(sql.column("job").eq(sql.literal("b")))
    assert cell_keys(some, ["sex"], SECRET)[0] == job[build(table, ["job"]).dimensions[0].places["b"]]


def test_the_same_people_are_always_printed_with_the_same_figure():
    table, law = people(), CellKeys(4, 2.5, 1)
    wide, narrow = (build(table, by) for by in (["place", "job"], ["job"]))
    one = law.perturbed(wide, cell_keys(table, ["place", "job"], SECRET))
    other = law.perturbed(narrow, cell_keys(table, ["job"], SECRET))
    assert np.array_equal(one.values[0], other.values)
    assert (one.values != wide.values).any() and (np.abs(one.values - wide.values) <= 4).all()
    assert not np.isin(one.values, [1]).any() and one.contributions is None


def test_engines_agree(engine, fresh):
    for unit in ("who", None):
        table = people(60, unit=unit)
        name = fresh()
        engine.load(name, table.fetch())
        shown = exp.select(*map(sql.column, table.columns)).from_(sql.table(name))
        elsewhere = cell_keys(Table(table.card, engine, shown), ["place", "job"], SECRET)
        assert np.array_equal(elsewhere, cell_keys(table, ["place", "job"], SECRET))


def test_without_a_unit_rows_that_say_the_same_have_the_same_number():
    table = people(unit=None)
    keys = cell_keys(table, ["job"], SECRET)
    assert np.array_equal(keys, cell_keys(people(unit=None, order=np.arange(400)[::-1]), ["job"], SECRET))
    assert len(set(keys.tolist())) == 4


def test_numbers_are_uniform():
    """Kolmogorov–Smirnov at 1e-9 (Dvoretzky–Kiefer–Wolfowitz) for the keys of 4,000 people."""
    rows = KeyedRows.of(people(4000), ["sex"], None, secret=SECRET, use="cell-key")
    chances = np.sort(np.concatenate([numbers for _, numbers, _ in rows.stream()]).astype(np.float64) / 2.0**64)
    assert len(chances) == 4000
    apart = np.abs(chances - (np.arange(4000) + 0.5) / 4000).max()
    assert apart < np.sqrt(np.log(2e9) / 8000)


def test_a_use_has_numbers_of_its_own():
    table = people(20)
    one, other = (KeyedRows.of(table, ["sex"], None, secret=SECRET, use=use) for use in ("cell-key", "factor"))
    assert not np.array_equal(next(one.stream())[1], next(other.stream())[1])


def test_secrets_are_drawn_and_of_one_length():
    class Fixed(Entropy):
        def bytes(self, count):
            return b"x" * count

    assert draw_secret(Fixed()) == b"x" * 32 and draw_secret() != draw_secret()
    with pytest.raises(BadInput, match="32 bytes"):
        cell_keys(people(5), ["sex"], b"short")


def test_only_counts_have_cell_keys():
    law, side = CellKeys(2, 1.0), build(people(5), ["sex"]).dimensions
    values = np.zeros(len(side[0]), np.int64)
    with pytest.raises(BadInput, match="this table sums turnover"):
        law.perturbed(CrossTable(side, values, "turnover"), values.astype(np.uint64))
    with pytest.raises(BadInput, match="not negative"):
        law.applied(values - 1, values.astype(np.uint64))
