"""Verdicts on the very border, and tables too large for 64 bits."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.models import plain

from discreet.core.card import Column
from discreet.core.kind import Kind
from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure
from discreet.models.classes import Classes, Spread
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, RecursiveLDiversity
from discreet.models.exact_compare import at_most, below, dot, ln, sign
from discreet.models.exact_compare import plain as written
from discreet.models.risk import AverageRisk, MarketerRisk, ProsecutorRisk
from discreet.samples import inpatient


def test_t_closeness_at_exactly_its_figure_holds():
    rows = [(0, "a")] * 3 + [(0, "b")] * 7 + [(1, "a")] * 7 + [(1, "b")] * 3  # each is 0.2 from half and half
    classes = plain.made(rows)
    assert TCloseness("0.2", "s").verdict(classes).holds
    assert TCloseness(0.2, "s").verdict(classes).holds
    assert not TCloseness("0.1999999999999999", "s").verdict(classes).holds


@pytest.mark.parametrize("size", [1, 3, 7, 49])
def test_equally_frequent_values_are_worth_their_number(size):
    rows = [(0, name) for name in "abc" for _ in range(size)]
    classes = plain.made(rows)
    assert EntropyLDiversity(3, "s").verdict(classes).holds
    assert not EntropyLDiversity("3.000000000000000001", "s").verdict(classes).holds
    assert EntropyLDiversity(3, "s").verdict(classes).figure == 3


def test_entropy_beside_its_bound_is_decided_by_120_digits():
    classes = plain.made([(0, "a")] * 2 + [(0, "b"), (0, "c")])  # e^(1.5 ln 2) = 2.828427124746190097603377448419…
    assert EntropyLDiversity("2.8284271247461900976033774484193961571393", "s").verdict(classes).holds
    assert not EntropyLDiversity("2.8284271247461900976033774484193961571394", "s").verdict(classes).holds


def test_strict_bounds_are_strict():
    half = plain.made([(0, "a")] * 2 + [(0, "b")] + [(1, "b")])
    assert not RecursiveLDiversity(2, 2, "s").breaking(plain.made([(0, "a")] * 3 + [(0, "b")] * 2)).any()
    assert RecursiveLDiversity("1.5", 2, "s").breaking(plain.made([(0, "a")] * 3 + [(0, "b")] * 2)).all()
    assert DeltaDisclosure(1, "s").breaking(half)[1]
    shares = plain.made([(0, "a")] * 2 + [(0, "b")] * 2 + [(1, "a")] * 1 + [(1, "b")] * 7)  # a: 1/4; 1/2 is twice that
    assert DeltaDisclosure(1, "s").breaking(shares)[0]
    assert not DeltaDisclosure("1.0000000000001", "s").breaking(shares)[0]


def test_gains_at_exactly_their_bound_hold():
    shares = plain.made([(0, "a")] * 2 + [(0, "b")] * 2 + [(1, "a")] * 1 + [(1, "b")] * 7)
    assert not BetaLikeness(1, "s").breaking(shares).any()
    assert BetaLikeness("0.9999999999999999", "s").breaking(shares)[0]
    constant = plain.made([(0, "a"), (1, "a")])
    assert BetaLikeness("0.1", "s", enhanced=True).verdict(constant).holds
    assert AlphaK("1/3", 1, "s").verdict(plain.made([(0, "a"), (0, "b"), (0, "c")])).holds
    assert not AlphaK("0.3333333333333333", 1, "s").verdict(plain.made([(0, "a"), (0, "b"), (0, "c")])).holds
    assert ProsecutorRisk("1/3").verdict(plain.made([(0, "a")] * 3)).holds
    assert not ProsecutorRisk(0.3333).verdict(plain.made([(0, "a")] * 3)).holds


def huge(counts):
    """Classes of two values with these counts."""
    lines = [(place, code, many) for place, pair in enumerate(counts) for code, many in enumerate(pair) if many]
    table = np.array(lines, dtype=np.int64)
    spread = Spread(Column("s", Kind.INTEGER), pa.array([1, 2]), table[:, 0], table[:, 1], table[:, 2])
    return Classes(np.array([sum(pair) for pair in counts], dtype=np.int64), {"s": spread})


def test_tables_of_more_rows_than_64_bits_can_square():
    half = 10**12
    classes = huge([(3 * half, 7 * half), (7 * half, 3 * half)])
    for distance in ("equal", "ordered"):
        model = TCloseness("0.2", "s", distance)
        assert model.verdict(classes).holds
        assert model.figures(classes).tolist() == [0.2, 0.2]
    nudged = huge([(3 * half, 7 * half), (7 * half + 1, 3 * half)])
    assert not TCloseness("0.2", "s").verdict(nudged).holds
    assert not BetaLikeness("0.4", "s").verdict(nudged).holds
    assert BetaLikeness("0.4", "s").verdict(classes).holds
    assert DeltaDisclosure("0.75", "s").verdict(classes).holds


def test_mean_risks_are_exact_and_as_few_classes_as_suffice_go():
    classes = plain.made([(0, "a")] + [(1, "a")] * 2 + [(2, "a")] * 3, people={0: 2, 1: 4, 2: 30})
    assert MarketerRisk("0.5").verdict(classes).holds
    assert not MarketerRisk("0.4999999999999999999").verdict(classes).holds
    assert MarketerRisk("0.4").breaking(classes).tolist() == [True, False, False]
    population = inpatient()  # only its name is used
    assert MarketerRisk("11/60", population).verdict(classes).holds  # (1/2 + 2/4 + 3/30) / 6
    assert not MarketerRisk("0.1833", population).verdict(classes).holds
    assert AverageRisk("11/60", population).verdict(classes).holds  # above 3 classes over 36 people


def test_comparisons_are_exact():
    one = np.array([1], dtype=np.int64)
    three = np.array([3], dtype=np.int64)
    third = Fraction(1, 3)
    assert at_most(one, three, third).all()
    assert not below(one, three, third).any()
    assert not at_most(one, three, third - Fraction(1, 10**30)).any()
    assert below(one, three, third + Fraction(1, 10**30)).all()
    assert sign(dot([(1, ln(8)), (-3, ln(2))]), ln(8)) == 0
    assert sign(dot([(1, ln(8)), (-3 - Fraction(1, 10**90), ln(2))]), ln(8)) == -1
    assert sign(dot([(1, ln(Fraction(9, 8))), (1, ln(Fraction(8, 9)))]), ln(2)) == 0
    assert written(third) == "1/3"
    assert written(Fraction(1, 5)) == 0.2
    assert written(Fraction(3)) == 3
