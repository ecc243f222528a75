"""Noise before adding up: one factor for each respondent, tables that add up, and the change that is to be expected."""

import numpy as np
import pyarrow as pa
import pytest

from discreet.core.card import Card, Column
from discreet.core.hierarchy import Taxonomy
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput
from discreet.verbs.tabulate.perturb.factors import Multiply, multiplied
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells

SECRET = bytes(range(32))
CARD = Card(
    "firms",
    (
        Column("owner", Kind.TEXT),
        Column("place", Kind.TEXT, hierarchy=Taxonomy.from_tree({"North": ["n1", "n2"], "South": ["s1", "s2"]})),
        Column("trade", Kind.TEXT),
        Column("turnover", Kind.INTEGER),
    ),
    unit="owner",
    rows_per_unit=50,
)


def firms(rows):
    owner, place, trade, turnover = map(list, zip(*rows, strict=True))
    return read(pa.table({"owner": owner, "place": place, "trade": trade, "turnover": turnover}), CARD)


FIRMS = [
    ("A", "n1", "food", 4_000_000),
    ("A", "n2", "food", 3_000_000),
    ("A", "s1", "toys", 500_000),
    ("B", "n1", "food", 5_000_000),
    ("C", "s2", "wood", 700_000),
    ("C", "s2", "wood", 800_000),
]


@pytest.mark.parametrize("law", ["ramp", "uniform"])
def test_factors_follow_their_law(law):
    """All numbers on a fine grid, with the coin on both sides."""
    factors = Multiply(0.1, 0.3, law)
    chances = (np.arange(2**17, dtype=np.uint64) * np.uint64(2**47)) | np.uint64(2**46)
    drawn = factors.of(np.concatenate([chances, chances | np.uint64(1)]))
    off = np.abs(drawn - 1)
    assert off.min() >= 0.1 and off.max() <= 0.3
    assert drawn.mean() == pytest.approx(1, abs=1e-12)
    assert drawn.var() == pytest.approx(factors.variance, rel=1e-5)
    middle = np.median(off)
    assert middle == pytest.approx(0.2 if law == "uniform" else 0.1 + 0.2 * (1 - np.sqrt(0.5)), abs=1e-4)


def test_tables_add_up_and_respondents_have_one_factor():
    law = Multiply(0.1, 0.25)
    noisy = multiplied(firms(FIRMS), ["place", "trade"], "turnover", law, SECRET)
    true = build(firms(FIRMS), ["place", "trade"], "turnover")
    assert noisy.table.dimensions == true.dimensions and noisy.table.what == "turnover"
    assert not len(Cells.of(noisy.table).broken())
    factor = noisy.table.values / np.where(true.values == 0, 1, true.values)
    at = {cell: factor.ravel()[true.cell(*cell)] for cell in (("n2", "food"), ("s1", "toys"), ("s2", "wood"))}
    assert at["n2", "food"] == pytest.approx(at["s1", "toys"], abs=1e-5), "both are A's alone"
    assert at["n2", "food"] != pytest.approx(at["s2", "wood"], abs=1e-5)
    for one in at.values():
        assert 0.1 - 1e-6 <= abs(one - 1) <= 0.25 + 1e-6
    assert (noisy.table.values[true.values == 0] == 0).all()
    again = multiplied(firms(FIRMS[::-1]), ["trade"], "turnover", law, SECRET).table
    assert np.abs(again.values - noisy.table.values[0]).max() <= 3, "the same factors in another table"


def test_expected_change_counts_what_a_respondent_has_in_all_parts():
    law = Multiply(0.1, 0.25)
    noisy = multiplied(firms(FIRMS), ["place", "trade"], "turnover", law, SECRET)
    table, deviation = noisy.table, np.sqrt(law.variance)

    def expected(*codes):
        return noisy.expected.ravel()[table.cell(*codes)] / deviation

    assert expected("n2", "food") == pytest.approx(1)
    assert expected("s2", "wood") == pytest.approx(1)
    assert expected("n1", "food") == pytest.approx(np.hypot(4, 5) / 9)
    assert expected("North", "food") == pytest.approx(np.hypot(7, 5) / 12)
    assert expected("Total", "Total") == pytest.approx(np.sqrt(7.5**2 + 5**2 + 1.5**2) / 14)
    assert np.isnan(expected("n1", "wood"))


def test_many_contributors_change_little():
    rng = np.random.default_rng(1)
    rows = [(f"f{n}", ("n1", "s1")[n % 2], "food", int(rng.integers(1000, 9000))) for n in range(3000)]
    noisy = multiplied(firms(rows), ["place"], "turnover", Multiply(0.1, 0.25), SECRET)
    true = build(firms(rows), ["place"], "turnover")
    change = np.abs(noisy.table.values / true.values - 1)
    assert (noisy.expected < 0.006).all() and (change < 7 * noisy.expected).all()


@pytest.mark.parametrize("wrong", [(0, 0.2), (0.2, 0.1), (0.1, 1.0), (0.1, 0.2, "normal")])
def test_laws_that_make_no_sense_are_refused(wrong):
    with pytest.raises(BadInput):
        Multiply(*wrong)
