"""Limits and thresholds: what is exactly at one, and what is just beyond it."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from openpyxl import load_workbook
from tests.tabulate.drawn import drawn
from tests.tabulate.plain_intruder import furthest

import discreet as dc
from discreet.core.card import Card, Column
from discreet.core.kind import Kind
from discreet.core.programs import Program
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NoPromise, NotDeclared
from discreet.verbs.tabulate.intruder.audit import intervals, recoverable, short
from discreet.verbs.tabulate.intruder.release_audit import audit
from discreet.verbs.tabulate.method import Pattern, ProtectionProblem
from discreet.verbs.tabulate.perturb.adjust import adjust
from discreet.verbs.tabulate.perturb.cell_key import CellKeys, _law
from discreet.verbs.tabulate.perturb.factors import Multiply
from discreet.verbs.tabulate.perturb.rounding import controlled, conventional, random
from discreet.verbs.tabulate.printing import holder, html, xlsx
from discreet.verbs.tabulate.printing.printed import PublishedTable
from discreet.verbs.tabulate.private import macro_table
from discreet.verbs.tabulate.private.macro_table import MacroTable
from discreet.verbs.tabulate.protection import protect
from discreet.verbs.tabulate.rules import Dominance, MinFrequency, PPercent, PriorPosterior, Request, Zero
from discreet.verbs.tabulate.suppress import suppress
from discreet.verbs.tabulate.suppress.modular import modular
from discreet.verbs.tabulate.suppress.suppress import Suppress
from discreet.verbs.tabulate.tables import crosstable
from discreet.verbs.tabulate.tables.build import build
from discreet.verbs.tabulate.tables.cells import Cells, require_additive
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, Dimension, summed, written
from discreet.verbs.tabulate.tables.read_table import read_table, units_of

SIDES = (Dimension.flat("area", ["a", "b", "c"]), Dimension.flat("sort", ["x", "y", "z"]))


def figures(inner, what="pay", decimals=0):
    sides = (
        SIDES[: np.ndim(inner)] if np.shape(inner)[0] == 3 else (Dimension.flat("area", "abc"[: np.shape(inner)[0]]),)
    )
    return CrossTable(sides, summed(sides, np.array(inner, np.int64)), what, decimals)


def rows(value, weight=None):
    kind = Kind.REAL if isinstance(value[0], float) else Kind.INTEGER
    card = Card("firms", (Column("area", Kind.TEXT), Column("value", kind), Column("weight", Kind.REAL)))
    data = {"area": ["a"] * len(value), "value": value, "weight": pa.array(weight or [1.0] * len(value), pa.float64())}
    return read(pa.table(data), card)


# sensitivity rules, exactly at n, p and k


def cell_of(contributions, ranks=3):
    """A single cell with these contributions, of which the largest few are known."""
    largest = np.array([(sorted(contributions, reverse=True) + [0] * ranks)[:ranks]])
    known = Contributions(np.array([len(contributions)]), largest)
    return Cells.of(CrossTable((Dimension("c", ("all",), (-1,)),), np.array([sum(contributions)]), "x", 0, known))


def level(contributions, rule):
    found = protect(cell_of(contributions), [rule])
    return float(found.above[0]) if found.sensitive[0] else None


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_minimum_frequency_is_safe_from_n_on(n):
    assert level([40] * (n - 1), MinFrequency(n)) == -(-40 * (n - 1) // 10)
    assert level([40] * n, MinFrequency(n)) is None
    assert level([40] * (n + 1), MinFrequency(n)) is None
    assert level([], MinFrequency(n)) is None
    side = (Dimension.flat("c", ["a", "b"]),)
    counts = protect(Cells.of(CrossTable(side, np.array([2 * n - 1, n - 1, n]))), [MinFrequency(n)])
    assert counts.sensitive.tolist() == [False, True, False]
    assert counts.above[1] == 1  # up to n: a count that would be safe


@pytest.mark.parametrize("p", [1, 7, 10, 33, 100])
def test_p_percent_exactly_at_p(p):
    assert level([100, 50, *[1] * p], PPercent(p)) is None
    assert level([100, 50, *[1] * (p - 1)], PPercent(p)) == 1
    assert level([100, 50, *[1] * (p + 1)], PPercent(p)) is None
    assert level([100, 50], PPercent(p)) == p
    if p < 50:  # the largest was known within twice p
        assert level([100, 50, 50], PriorPosterior(p, 2 * p)) is None
        assert level([100, 50, 49], PriorPosterior(p, 2 * p)) == 1


@pytest.mark.parametrize("k", [2, 40, 70, 99])
def test_dominance_exactly_at_k(k):
    assert level([k, *[1] * (100 - k)], Dominance(1, Fraction(k, 100))) is None
    assert level([k + 1, *[1] * (99 - k)], Dominance(1, Fraction(k, 100))) == -(-100 * (k + 1) // k) - 100
    if k > 40:
        assert level([k - 20, 20, *[1] * (100 - k)], Dominance(2, k)) is None
        assert level([k - 19, 20, *[1] * (99 - k)], Dominance(2, k)) > 0


def test_rules_take_numbers_within_their_range_only():
    assert (MinFrequency(2).n, MinFrequency(1_000_000).n, PPercent(100).p) == (2, 1_000_000, 100)
    assert (Dominance(100, "0.999999").n, Dominance(1, "1e-6").k) == (100, Fraction(1, 10**6))
    assert Dominance(1, 50).k == Dominance(1, "0.5").k == Fraction(1, 2)
    wrong = [
        lambda: MinFrequency(1),
        lambda: MinFrequency(1_000_001),
        lambda: PPercent(0),
        lambda: PPercent(101),
        lambda: PriorPosterior(10, 10),
        lambda: PriorPosterior(11, 10),
        lambda: Dominance(0, 0.5),
        lambda: Dominance(101, 0.5),
        lambda: Dominance(1, 1),
        lambda: Dominance(1, 100),
        lambda: Dominance(1, "0.0000009"),
        lambda: Zero(0),
    ]
    for one in wrong:
        with pytest.raises(BadInput):
            one()


def test_an_empty_cell_must_seem_to_reach_a_figure_below_two_to_the_53():
    assert protect(cell_of([]), [Zero(2**53 - 1)]).above[0] == 2**53 - 1
    with pytest.raises(BadInput, match="2\\*\\*53"):
        protect(cell_of([]), [Zero(2**53)])
    assert not protect(cell_of([1]), [Zero()]).sensitive[0]


@pytest.mark.parametrize(("share", "fine"), [("1/1000", True), (1, True), (0, False), ("1001/1000", False)])
def test_a_share_is_above_0_and_at_most_1(share, fine):
    if fine:
        assert protect(cell_of([50]), [Request([["all"]])], share=share).above[0] == (50 if share == 1 else 1)
    else:
        with pytest.raises(BadInput, match="share"):
            protect(cell_of([50]), [MinFrequency(3)], share=share)


def test_ranks_that_are_needed_must_be_known_of_every_cell():
    assert level([5, 4, 3, 2, 1], Dominance(3, 0.9)) is None
    with pytest.raises(BadInput, match="4 largest contributions"):
        level([5, 4, 3, 2, 1], Dominance(4, 0.9))
    side = (Dimension("c", ("all",), (-1,)),)
    for known, fine in ((2, True), (1, False)):
        told = Contributions(np.array([2]), np.array([[6, 4]]), None, None, np.array([known]))
        cells = Cells.of(CrossTable(side, np.array([10]), "x", 0, told))
        if fine:
            assert protect(cells, [PPercent(10)]).sensitive[0]
        else:
            with pytest.raises(BadInput, match="unknown for 1 cell: all"):
                protect(cells, [PPercent(10)])


def test_one_or_two_respondents_who_stand_for_others_count_as_one():
    side = (Dimension("c", ("all",), (-1,)),)
    for count, sensitive in ((1, True), (2, True), (3, False)):
        told = Contributions(np.array([count]), np.array([[30, 30, 30]]))
        cells = Cells.of(CrossTable(side, np.array([200]), "x", 0, told))
        assert protect(cells, [PPercent(10)]).sensitive[0] == sensitive


# figures: digits, decimals, weights, sizes


def test_sums_fit_64_bits():
    for value, decimals, fine in ((2**62 - 1024, 0, True), (2**62, 0, False), (2**55, 2, True), (2**58, 2, False)):
        if fine:
            assert build(rows([value]), ["area"], "value", decimals=decimals).values[0] == value * 10**decimals
        else:
            with pytest.raises(DataError, match="64 bits"):
                build(rows([value]), ["area"], "value", decimals=decimals)
    assert units_of([Decimal(2**62 - 1)], 0, "x").tolist() == [2**62 - 1]
    for wrong in ([Decimal(2**62)], [Decimal(2**61), Decimal(-(2**61))]):
        with pytest.raises(DataError, match="64 bits"):
            units_of(wrong, 0, "x")
    assert units_of([Decimal("0.11"), Decimal("-0.11"), Decimal("0.1")], 1, "x").tolist() == [2, -1, 1]


@pytest.mark.parametrize(("decimals", "fine"), [(-1, False), (0, True), (12, True), (13, False)])
def test_figures_have_0_to_12_decimals(decimals, fine):
    if fine:
        assert build(rows([3]), ["area"], "value", decimals=decimals).values[0] == 3 * 10**decimals
    else:
        with pytest.raises(BadInput, match="0 to 12 decimals"):
            build(rows([3]), ["area"], "value", decimals=decimals)


@pytest.mark.parametrize(("weight", "fine"), [(0.0, False), (0.5, True), (999_999_999.0, True), (1e9, False)])
def test_weights_are_above_0_and_below_a_billion(weight, fine):
    if fine:
        assert build(rows([2, 2], [1.0, weight]), ["area"], "value", weight="weight").values[0] == 2 + 2 * weight
    else:
        with pytest.raises(DataError, match="weights"):
            build(rows([2, 2], [1.0, weight]), ["area"], "value", weight="weight")


def test_weighted_sums_are_rounded_halves_up_and_parts_of_a_respondent_are_ranked():
    table = build(rows([10, 5], [1.6, 3.0]), ["area"], "value", weight="weight", keep_largest=4)
    assert table.values.tolist() == [31]
    assert table.contributions.largest[0].tolist() == [10, 8, 5, 5]
    assert build(rows([1], [0.5]), ["area"], "value", weight="weight").values.tolist() == [1]
    assert build(rows([1], [0.499999]), ["area"], "value", weight="weight").values.tolist() == [0]


def test_reals_are_rounded_to_units_halves_up():
    assert build(rows([0.125, -0.125]), ["area"], "value", decimals=2).values.tolist() == [13 - 12]
    assert build(rows([0.124]), ["area"], "value", decimals=2).values.tolist() == [12]


@pytest.mark.parametrize(("kept", "fine"), [(-1, False), (0, True), (3, True), (4, False)])
def test_only_so_many_contributions_are_kept(monkeypatch, kept, fine):
    monkeypatch.setattr("discreet.verbs.tabulate.tables.build.MOST_KEPT", 3)
    if fine:
        largest = build(rows([3, 2]), ["area"], "value", keep_largest=kept).contributions.largest
        assert largest is None if not kept else largest.shape == (1, kept)
    else:
        with pytest.raises(BadInput, match="keep_largest"):
            build(rows([3, 2]), ["area"], "value", keep_largest=kept)


def test_a_table_has_no_more_cells_than_can_be_made(monkeypatch):
    monkeypatch.setattr(crosstable, "MOST_CELLS", 16)
    crosstable.require_size(SIDES)
    with pytest.raises(BadInput, match="4 × 5 = 20 cells"):
        crosstable.require_size((SIDES[0], Dimension.flat("b", "wxyz")))


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (1234, 0, "1,234"),
        (1234, 2, "12.34"),
        (-5, 2, "-0.05"),
        (1234.5, 0, "1,234.5"),
        (0.25, 0, "0.2"),
        (12.5, 1, "1.25"),
        (np.inf, 0, "∞"),
        (-np.inf, 2, "-∞"),
        (2**60 + 1, 0, f"{2**60 + 1:,}"),
    ],
)
def test_figures_as_people_write_them(value, decimals, text):
    assert written(value, decimals) == text


def test_totals_of_rounded_figures_may_be_off_by_half_a_unit_for_each():
    """A total and its three parts: off by 2 units at most, four halves."""
    side = SIDES[:1]
    for off, fine in ((0, True), (2, True), (-2, True), (3, False)):
        cells = Cells.of(CrossTable(side, np.array([30 + off, 10, 10, 10])))
        if fine:
            require_additive(cells, rounded=True)
        else:
            with pytest.raises(DataError, match="33 is given, its parts add up to 30"):
                require_additive(cells, rounded=True)
    with pytest.raises(DataError, match="31 is given, its parts add up to 30"):
        require_additive(Cells.of(CrossTable(side, np.array([31, 10, 10, 10]))))


def test_only_ten_totals_that_are_wrong_are_listed():
    side = (Dimension.flat("area", "ab"), Dimension.flat("sort", [str(code) for code in range(11)]))
    table = summed(side, np.ones((2, 11), np.int64))
    for wrong, listed in ((10, 10), (11, 10)):
        values = table.copy()
        values[0, 1 : wrong + 1] += 1
        values[0, 0] = values[0, 1:].sum()
        values[1:, 0] = values[1:, 1:].sum(axis=1)
        with pytest.raises(DataError) as refused:
            require_additive(Cells.of(CrossTable(side, values)))
        assert str(refused.value).count("is given, its parts") == listed
        assert f"in {wrong + 1} places" in str(refused.value)
        assert f"and {wrong + 1 - listed} more" in str(refused.value)


# perturbation


@pytest.mark.parametrize(
    ("law", "fine"),
    [
        ((100, 50.0), True),
        ((101, 50.0), False),
        ((1, 0.5), True),
        ((0, 0.5), False),
        ((3, 2.0, 2), True),
        ((3, 2.0, 3), False),
        ((3, 2.0, -1), False),
        ((3, 0.0), False),
    ],
)
def test_counts_are_changed_by_1_to_100_and_more_than_what_never_appears(law, fine):
    if fine:
        assert np.allclose(CellKeys(*law).laws.sum(axis=1), 1)
    else:
        with pytest.raises(BadInput):
            CellKeys(*law)


def test_a_variance_exactly_as_large_or_small_as_can_be():
    changes = np.arange(-2, 3)
    assert _law(changes, 4.0, 9).tolist() == [0.5, 0, 0, 0, 0.5]
    assert _law(changes, 0.0, 9).tolist() == [0, 0, 1, 0, 0]
    assert np.allclose(_law(changes[changes != 0], 1.0, 9), [0, 0.5, 0.5, 0])
    assert np.allclose(_law(changes[[1, 4]], 2.0, 9), [2 / 3, 1 / 3])
    for wrong in (-0.0001, 4.0001):
        with pytest.raises(BadInput, match="0 to 4"):
            _law(changes, wrong, 9)


@pytest.mark.parametrize("wrong", [(0.0, 0.5), (0.2, 0.2), (0.3, 0.2), (0.1, 1.0)])
def test_factors_are_off_by_more_than_0_and_less_than_1(wrong):
    with pytest.raises(BadInput, match="0 < least < most < 1"):
        Multiply(*wrong)
    assert Multiply(0.1, 0.999).most == 0.999


@pytest.mark.parametrize("how", ["uniform", "ramp"])
def test_the_variance_of_factors_is_that_of_all_of_them(how):
    factors = Multiply(0.1, 0.4, how)
    chance = (np.arange(2**16, dtype=np.uint64) << np.uint64(48)) + np.uint64(2**47)
    both = factors.of(np.concatenate([chance, chance | np.uint64(1)]))
    assert both.min() > 0.6 and both.max() < 1.4
    assert np.abs(both - 1).min() >= 0.1
    assert both.mean() == pytest.approx(1, abs=1e-9)
    assert both.var() == pytest.approx(factors.variance, rel=1e-4)


@pytest.mark.parametrize("base", [2, 3, 10, 2**53 - 1])
def test_multiples_stay_and_bases_are_from_2_to_below_2_to_the_53(base):
    cells = Cells.of(figures([base, 0, 2 * base]))
    for rounding in (conventional, random, controlled):
        made = rounding(cells, base)
        assert np.array_equal(made.values, cells.values)
        assert made.distance == 0 and made.reach == 1 and made.additive
    for wrong in (1, 2**53):
        with pytest.raises(BadInput, match="base"):
            conventional(cells, wrong)


@pytest.mark.parametrize("base", [2, 3, 4, 5])
def test_what_conventional_rounding_tells_is_all_that_becomes_the_same(base):
    values = np.arange(-3 * base, 3 * base + 1)
    side = (Dimension.flat("c", [str(value) for value in values]),)
    cells = Cells.of(CrossTable(side, np.append(values.sum(), values)))
    made = conventional(cells, base)
    for value, printed, low, high in zip(values, made.values[1:], made.low[1:], made.high[1:], strict=True):
        same = values[made.values[1:] == printed]
        if abs(printed) < 3 * base:
            assert (low, high) == (same.min(), same.max())
        assert abs(printed - value) <= base / 2


@pytest.mark.parametrize("how", ["controlled", "random", "conventional"])
def test_each_way_to_round_is_the_one_that_is_asked_for(how):
    inner = [[4, 14, 24], [6, 16, 26], [7, 17, 27]]
    made = dc.tabulate(figures(inner), method=f"round base=10 how={how}", seed=3)
    cells, values = made.holder.details.cells, made.holder.details.values
    if how == "conventional":
        wanted = conventional(cells, 10)
    else:
        wanted = controlled(cells, 10) if how == "controlled" else random(cells, 10, seed=3)
    assert np.array_equal(values, wanted.values)
    told = str(made.recipe.steps) + str(made.statement)
    assert "less than one base away" in told
    assert ("need not add up" in told) == (not wanted.additive)


def test_cells_may_go_as_far_as_whole_numbers_need_each_in_half_of_the_time(monkeypatch):
    """No neighbours add up: one reach after the other is tried, each in half of the time that is left."""
    cells = Cells.of(figures([1, 2, 3]))
    asked = []

    def solved(program, seconds, gap=0.0):
        asked.append((seconds, len(program.cost)))
        return replace(real(program, seconds, gap), x=None) if len(asked) < 3 else real(program, seconds, gap)

    real = Program.solve_whole
    monkeypatch.setattr(Program, "solve_whole", solved)
    made = controlled(cells, 5, seconds=8.0)
    assert made.reach == 3
    assert all(seconds <= 4 for seconds, _ in asked)
    assert [count for _, count in asked] == [4, 12, 12]  # up, or on in either direction
    assert (made.low == made.values - 14).all()


# suppression


@pytest.mark.parametrize(
    ("limits", "plain", "nested"),
    [
        ((16, 16, 99), "optimal", "modular"),
        ((15, 15, 99), "modular", "modular"),
        ((15, 15, 15), "fast", "fast"),
        ((15, 15, 16), "modular", "fast"),
        ((20, 15, 20), "modular", "optimal"),
        ((19, 15, 20), "modular", "modular"),
        ((19, 15, 19), "modular", "fast"),
    ],
)
def test_the_search_is_chosen_by_size_and_shape(monkeypatch, limits, plain, nested):
    """A plain table of 16 cells, and one of 20 with totals within totals."""
    for name, value in zip(("_EXACT_UP_TO", "_PLAIN_UP_TO", "_MODULAR_UP_TO"), limits, strict=True):
        monkeypatch.setattr(suppress, name, value)
    side = Dimension.from_paths("area", [("a", "A"), ("b", "A"), ("c",)])
    assert Suppress()._chosen(Cells.of(figures(np.ones((3, 3))))) == plain
    cells = Cells.of(CrossTable((side, SIDES[1]), summed((side, SIDES[1]), np.ones((3, 3), np.int64))))
    assert (len(cells), Suppress()._chosen(cells)) == (20, nested)


def test_a_table_of_three_sides_is_not_plain(monkeypatch):
    monkeypatch.setattr(suppress, "_EXACT_UP_TO", 26)
    sides = tuple(Dimension.flat(name, "xy") for name in "abc")
    cells = Cells.of(CrossTable(sides, summed(sides, np.ones((2, 2, 2), np.int64))))
    assert (len(cells), Suppress()._chosen(cells)) == (27, "modular")
    two = Cells.of(*(CrossTable(pair, summed(pair, np.full((2, 2), 2))) for pair in (sides[:2], sides[::2])))
    monkeypatch.setattr(suppress, "_EXACT_UP_TO", len(two) - 1)
    assert Suppress()._chosen(two) == "modular"


@pytest.mark.parametrize(
    ("weight", "wanted"),
    [("value", [8, 1, 4, 4]), ("cells", [1, 1, 1, 1]), ("log", np.log1p([8, 1, 4, 4])), ("respondents", [5, 1, 3, 2])],
)
def test_what_hiding_a_cell_costs(weight, wanted):
    side = SIDES[:1]
    table = CrossTable(side, np.array([8, 0, 4, 4]), "pay", 0, Contributions(np.array([5, 0, 3, 2])))
    assert np.allclose(Suppress(weight=weight)._weights(Cells.of(table)), wanted)


@pytest.mark.parametrize(
    ("weight", "bound", "gap"), [(0, -np.inf, 0), (10, 10, 0), (10, 9, 0.1), (10, -np.inf, 1), (10, 11, 0)]
)
def test_how_much_worse_than_the_best_a_pattern_may_be(weight, bound, gap):
    assert Pattern(np.zeros(1, bool), weight, bound, "optimal").gap == pytest.approx(gap)


def test_intervals_are_computed_of_no_more_hidden_cells_than_can_be(monkeypatch):
    table = figures([[20, 30, 40], [50, 1, 60], [70, 80, 90]], "")
    hidden = int(dc.tabulate(table, rules="min=3").holder.details.hidden.sum())
    for most in (hidden, hidden - 1):
        monkeypatch.setattr("discreet.verbs.tabulate.tabulate._MOST_INTERVALS", most)
        found = dc.tabulate(table, rules="min=3").holder.details.intervals
        assert (found is not None) == (most == hidden)


@pytest.mark.parametrize("scale", [2**22, 2**34])
def test_large_figures_have_intervals_as_small_ones_do(scale):
    """A solver is given figures of at most a billion; three sides are no network."""
    for seed in (2, 8, 14):
        cells = drawn(seed, sides=3, codes=3)
        large = replace(cells, values=cells.values * scale)
        hidden = np.random.default_rng(seed).random(len(cells)) < 0.6
        one, other = intervals(cells, hidden), intervals(large, hidden)
        np.testing.assert_allclose(other.low, one.low * scale, rtol=1e-6, atol=scale * 1e-6)
        np.testing.assert_allclose(other.high, one.high * scale, rtol=1e-6, atol=scale * 1e-6)
        assert np.array_equal(recoverable(cells, hidden), recoverable(large, hidden))


@pytest.mark.parametrize("seed", range(6))
def test_a_level_that_is_exactly_met_is_met_and_one_unit_more_is_not(seed):
    """Of each hidden cell the level is the whole of what an intruder can compute: nothing is short."""
    cells = drawn(seed, sides=2 + seed % 2, codes=3)
    hidden = np.random.default_rng(seed).random(len(cells)) < 0.6
    told = intervals(cells, hidden)
    below, above = cells.values - told.low, told.high - cells.values
    sensitive = hidden & np.isfinite(above)
    base = protect(cells, ())
    exact = replace(base, sensitive=sensitive, below=np.where(sensitive, below, 0), above=np.where(sensitive, above, 0))
    assert not short(cells, exact, hidden)
    for cell in np.flatnonzero(sensitive)[:4]:
        for side, name in ((-1, "below"), (1, "above")):
            levels = getattr(exact, name).copy()
            levels[cell] += 1
            found = short(cells, replace(exact, **{name: levels}), hidden)
            assert [(one.cell, one.side) for one in found] == [(cell, side)]


@pytest.mark.parametrize("rank", [2, 3])
def test_parts_that_have_nothing_to_do_with_each_other_are_computed_by_themselves(rank):
    """Squares, or cubes, of hidden cells in two corners of a table: as an intruder with one program for all finds."""
    sides = tuple(Dimension.flat(name, "wxyz") for name in "abc"[:rank])
    cells = Cells.of(CrossTable(sides, summed(sides, np.random.default_rng(rank).integers(1, 30, (4,) * rank))))
    grid = np.zeros((5,) * rank, bool)
    grid[(slice(1, 3),) * rank] = grid[(slice(3, 5),) * rank] = True
    hidden = grid.ravel()
    told = intervals(cells, hidden)
    for cell in np.flatnonzero(hidden):
        assert told.low[cell] == pytest.approx(furthest(cells, hidden, cell, -1), abs=1e-6)
        assert told.high[cell] == pytest.approx(furthest(cells, hidden, cell, 1), abs=1e-6)
    assert not len(recoverable(cells, hidden))


# what is printed


def test_what_is_published_is_read_back_as_it_was():
    cells = Cells.of(figures([[2, 3, 4], [5, 6, 7], [8, 9, 10]], decimals=1))
    hidden = np.arange(len(cells)) % 3 == 1
    made = PublishedTable.of(cells, cells.values, hidden)
    recipe = dc.Recipe("by hand", {"tables": made.structure()})
    back = PublishedTable.read(dc.Release(made.rows(), dc.Statement("respondent"), recipe))
    (table,), (mask,) = back.tables, back.hidden
    assert np.array_equal(mask.ravel(), hidden)
    assert np.array_equal(table.values.ravel(), np.where(hidden, 0, cells.values))
    assert (table.dimensions, table.what, table.decimals) == (SIDES, "pay", 1)


def published(values, decimals=0):
    side = (Dimension.flat("area", [f"c{place}" for place in range(len(values) - 1)]),)
    table = CrossTable(side, np.array(values, np.int64), "pay", decimals)
    made = PublishedTable((table,), (np.zeros(table.shape, bool),))
    return dc.Release(made.rows(), dc.Statement("respondent"), dc.Recipe("by hand", {"tables": made.structure()}))


def test_a_workbook_keeps_15_digits_as_numbers(tmp_path):
    path = xlsx.save_xlsx(published([10**15 - 1, 10**15, -(10**15) + 1, -(10**15)]), tmp_path / "t.xlsx")
    row = [cell.value for cell in load_workbook(path)["Table 1"][2]]
    assert row == [10**15 - 1, "1000000000000000", -(10**15) + 1, "-1000000000000000"]


def test_a_sheet_holds_so_many_rows_and_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(xlsx, "_MOST_COLUMNS", 5)
    xlsx.save_xlsx(published([3, 1, 1, 1]), tmp_path / "fine.xlsx")
    with pytest.raises(BadInput, match="1 rows and 5 columns"):
        xlsx.save_xlsx(published([4, 1, 1, 1, 1]), tmp_path / "wide.xlsx")
    monkeypatch.setattr(xlsx, "_MOST_ROWS", 2)
    xlsx.save_xlsx(published([3, 1, 1, 1]), tmp_path / "short.xlsx")
    monkeypatch.setattr(xlsx, "_MOST_ROWS", 1)
    with pytest.raises(BadInput, match="1 rows and 4 columns"):
        xlsx.save_xlsx(published([3, 1, 1, 1]), tmp_path / "long.xlsx")


def test_a_table_that_is_too_large_is_not_laid_out(monkeypatch):
    table = figures([[2, 3, 4], [5, 6, 7], [8, 9, 10]])
    monkeypatch.setattr(html, "MOST_CELLS", 16)
    assert html.laid_out(table, np.zeros(table.shape, bool)).count("<td") == 16
    monkeypatch.setattr(html, "MOST_CELLS", 15)
    assert "16 cells, too many to show" in html.laid_out(table, np.zeros(table.shape, bool))
    page = html.tag("p", "table")
    assert (html.headed(table, page, 1) == page, "area × sort" in html.headed(table, page, 2)) == (True, True)


def test_the_holders_view_of_a_table(monkeypatch):
    table = figures([[20, 30, 40], [50, 1, 60], [70, 80, 90]], "")
    kept = dc.tabulate(table, rules="min=3").holder.details
    for most, rows_shown in ((16, 4), (15, 0)):
        monkeypatch.setattr(holder, "MOST_CELLS", most)
        (drawn_table,) = holder.view(kept, "Counts")["tables"]
        assert (drawn_table["too_large"], len(drawn_table["rows"])) == (most == 15, rows_shown)
    monkeypatch.setattr(holder, "MOST_CELLS", 16)
    (drawn_table,) = holder.view(kept, "Counts")["tables"]
    assert [label["text"] for label in drawn_table["across"]] == ["Total", "x", "y", "z"]
    assert [[cell["total"] for cell in row["cells"]] for row in drawn_table["rows"]] == [[True] * 4] + [
        [True, False, False, False]
    ] * 3
    cell = drawn_table["rows"][2]["cells"][2]
    assert (cell["figure"], cell["printed"], cell["kind"]) == ("1", "×", "sensitive")
    assert drawn_table["rows"][2]["labels"] == [{"text": "b", "depth": 1, "total": False}]
    assert {row["printed"]: row["kind"] for row in drawn_table["rows"][0]["cells"]}["441"] == "shown"


@pytest.mark.parametrize(("listed", "more"), [(4, False), (3, True)])
def test_the_holders_page_lists_so_many_hidden_cells(monkeypatch, listed, more):
    table = figures([[20, 30, 40], [50, 1, 60], [70, 80, 90]], "")
    kept = dc.tabulate(table, rules="min=3").holder.details
    assert kept.hidden.sum() == 4
    monkeypatch.setattr(holder, "_LISTED", listed)
    page = kept.fragment("Counts")
    assert ("1 more" in page) == more


# auditing a release


@pytest.mark.parametrize(("least", "fine"), [(2**53 - 1, True), (2**53, False), (-(2**53), False), (0, True)])
def test_the_least_that_a_hidden_figure_can_be_is_a_figure(least, fine):
    release = published([6, 1, 2, 3])
    told = replace(release, recipe=dc.Recipe("by hand", {**release.recipe.parameters, "least_hidden": least}))
    if fine:
        assert not audit(told).hidden.any()
    else:
        with pytest.raises(DataError, match="least_hidden"):
            audit(told)


@pytest.mark.parametrize(("decimals", "fine"), [(0, True), (18, True), (19, False)])
def test_a_release_has_0_to_18_decimals(decimals, fine):
    if fine:
        assert audit(published([3, 1, 2], decimals)).cells.decimals == decimals
    else:
        with pytest.raises(DataError, match="recipe"):
            audit(published([3, 1, 2], decimals))


# macro-tables

NUMBERS = Card(
    "counts",
    (
        Column("who", Kind.INTEGER),
        *(Column(f"c{place}", Kind.INTEGER, bounds=(0, 1)) for place in range(15)),
        Column("fits", Kind.INTEGER, bounds=(0, 999)),
        Column("wide", Kind.INTEGER, bounds=(0, 1000)),
    ),
    unit="who",
    rows_per_unit=1,
)


def test_a_macro_table_lists_whole_numbers_of_1000_values_at_most():
    assert MacroTable([["fits"]], epsilon=1).plan(NUMBERS).workload.cells == 1001
    with pytest.raises(NotDeclared, match="1,000 values at most"):
        MacroTable([["wide"]], epsilon=1).plan(NUMBERS)


def test_a_macro_table_has_so_many_tables_columns_and_cells(monkeypatch):
    monkeypatch.setattr(macro_table, "_MOST_TABLES", 3)
    monkeypatch.setattr(macro_table, "_MOST_COLUMNS", 2)
    names = [f"c{place}" for place in range(4)]
    assert len(MacroTable([[name] for name in names[:3]], epsilon=1).plan(NUMBERS).by) == 3
    with pytest.raises(BadInput, match="4 tables; the limit is 3"):
        MacroTable([[name] for name in names], epsilon=1).plan(NUMBERS)
    assert MacroTable([names[:2]], epsilon=1, whole=False).plan(NUMBERS)
    with pytest.raises(BadInput, match="at most 2 columns"):
        MacroTable([names[:3]], epsilon=1, whole=False).plan(NUMBERS)
    monkeypatch.setattr(macro_table, "MOST_CELLS", 9)
    assert MacroTable([names[:2]], epsilon=1).plan(NUMBERS).workload.cells == 9
    monkeypatch.setattr(macro_table, "MOST_CELLS", 8)
    with pytest.raises(BadInput, match="9 cells"):
        MacroTable([names[:2]], epsilon=1).plan(NUMBERS)
    for wrong in ([], [[]], [["c0"], ["c0"]], [["c0", "c0"]]):
        with pytest.raises(BadInput):
            MacroTable(wrong, epsilon=1).plan(NUMBERS)


def test_tables_of_so_many_ways():
    assert len(MacroTable.every(["c0", "c1", "c2"], 2, epsilon=1).by) == 3
    assert MacroTable.every(["c0", "c1"], 2, epsilon=1).by == (("c0", "c1"),)
    for wrong in (3, 0):
        with pytest.raises(BadInput):
            MacroTable.every(["c0", "c1"], wrong, epsilon=1)


def test_counts_with_very_much_noise_are_not_made_whole(monkeypatch):
    table = MacroTable([["c0"]], epsilon=1)
    variance = table.plan(NUMBERS).counts.noises[0].variance
    monkeypatch.setattr(macro_table, "_LARGEST_DEVIATION", variance**0.5 * (1 + 1e-12))
    table.promise(NUMBERS)
    monkeypatch.setattr(macro_table, "_LARGEST_DEVIATION", variance**0.5 * (1 - 1e-6))
    with pytest.raises(BadInput, match="too much noise"):
        table.promise(NUMBERS)
    assert replace(table, whole=False).promise(NUMBERS)


# read from a file


def test_what_contributors_are_said_to_have_must_make_up_the_figure():
    """Exactly possible, and one unit beyond: in whole numbers, and where figures were rounded one by one."""

    def told(value, count, *largest, rounded=False):
        columns = {f"largest_{rank}": [one] for rank, one in enumerate(largest, 1)}
        return read_table(pa.table({"area": ["Total"], "value": [value], "count": [count], **columns}), rounded=rounded)

    for fine in ((10, 3, 5, 4), (10, 2, 6, 4), (10, 3, 4, 3), (10, 1, 10, 0), (0, 0, 0, 0), (10, 2, 5, 5)):
        assert told(*fine).values.tolist() == [fine[0]]
    wrong = {
        (10, 2, 6, 5): "more than its figure",
        (10, 3, 3, 3): "too small for its figure",
        (10, 2, 5, 4): "too small for its figure",
        (10, 1, 9, 1): "more contributions than respondents",
        (1, 0, 0, 0): "no respondents, but a figure",
        (10, 3, 4, 5): "do not fall",
    }
    for one, said in wrong.items():
        with pytest.raises(DataError, match=said):
            told(*one)
    assert told(10, 2, 6, 5, rounded=True).values.tolist() == [10]  # five halves of slack
    assert told(10, 2, 7, 5, rounded=True).values.tolist() == [10]
    with pytest.raises(DataError, match="more than its figure"):
        told(10, 2, 8, 5, rounded=True)
    assert told(10, 2, 4, 4, rounded=True).values.tolist() == [10]
    with pytest.raises(DataError, match="too small for its figure"):
        told(11, 2, 4, 4, rounded=True)


def test_cells_are_within_what_everybody_knows_of_them():
    cells = Cells.of(figures([1, 2, 3]))
    known = cells.knowing(cells.values, cells.values)
    assert np.array_equal(known.lower, known.upper)
    for low, high in ((cells.values + 1, cells.values + 2), (cells.values - 2, cells.values - 1)):
        with pytest.raises(BadInput, match="outside its declared public bounds"):
            cells.knowing(low, high)


def test_a_problem_knows_what_it_is_given():
    cells = Cells.of(figures([1, 2, 3]))
    assert ProtectionProblem(cells, protect(cells, ())).weights is None
    with pytest.raises(BadInput, match="a weight of 0 or more for each of 4 cells"):
        dc.tabulate(figures([1, 2, 3]), rules="cells=a", weights=np.array([1, 1, -1, 1]))
    with pytest.raises(BadInput, match="a weight of 0 or more"):
        dc.tabulate(figures([1, 2, 3]), rules="cells=a", weights=np.ones(3))


# the verb


def kept_of(table, **how):
    return dc.tabulate(table, **how).holder.details


def test_what_everybody_knows_of_a_hidden_figure():
    counts = figures([[20, 30, 40], [50, 1, 60], [70, 80, 0]], "")
    for method, least in (("suppress", 1), ("suppress zeros", 0)):
        made = dc.tabulate(counts, rules="min=3", method=method)
        assert made.recipe.parameters["least_hidden"] == least
        assert f"at least {least}" in str(made.statement)
    assert dc.tabulate(counts, rules="min=3; zero").recipe.parameters["least_hidden"] == 0
    assert dc.tabulate(counts, rules="min=3; cells=a,x").recipe.parameters["least_hidden"] == 0
    assert (
        dc.tabulate(figures([[20, 30, 40], [50, 9, 60], [70, 80, 1]]), rules="cells=a,x").recipe.parameters[
            "least_hidden"
        ]
        == 0
    )


@pytest.mark.parametrize(("low", "least"), [(-1, None), (0, 0), (1, 0)])
def test_sums_may_be_negative_where_the_card_says_that_values_may_be(low, least):
    columns = (Column("area", Kind.TEXT), Column("value", Kind.INTEGER, bounds=(low, 99)))
    data = pa.table({"area": [*"aabbccdd"], "value": [5, 6, 7, 8, 9, 10, 11, 12]})
    made = dc.tabulate(read(data, Card("firms", columns)), "area", "value", rules="min=3")
    assert made.recipe.parameters["least_hidden"] == least
    assert made.statement.unit == "respondent"
    assert made.holder.details.cells.tables[0].contributions.largest.shape[-1] == 2
    assert np.isfinite(made.holder.details.cells.lower).all() == (low >= 0)
    more = dc.tabulate(read(data, Card("firms", columns)), "area", "value", rules="n=3,k=0.9; zero")
    assert more.holder.details.cells.tables[0].contributions.largest.shape[-1] == 3


def test_progress_goes_from_nothing_to_all():
    told = []
    table = figures([[20, 30, 40], [50, 1, 60], [70, 80, 90]], "")
    dc.tabulate(table, rules="min=3", progress=lambda done, what: told.append((done, what)))
    shares = [done for done, _ in told]
    assert shares[0] == 0 and all(0 <= done <= 1 for done in shares)
    of = {what: done for done, what in told}
    hiding = [done for done, what in told if what.startswith("suppressed weight")]
    assert hiding == sorted(hiding)
    made = 0.8  # of the work is the table; the rest is written, read back and checked
    assert (hiding[0], hiding[-1]) == (pytest.approx(0.1 * made), pytest.approx(0.7 * made))
    assert of["checking that sensitive cells are protected"] == pytest.approx(0.9 * made)
    assert of["computing what an intruder can compute"] == pytest.approx(made)


def test_pieces_tell_how_far_they_are():
    sides = tuple(Dimension.from_paths(name, [(f"{name}{n}", f"{name}-{n // 2}") for n in range(4)]) for name in "ab")
    cells = Cells.of(CrossTable(sides, summed(sides, np.arange(1, 17).reshape(4, 4))))
    told = []
    modular(
        cells,
        protect(cells, [MinFrequency(4)]),
        cells.values.astype(float),
        np.ones(len(cells), bool),
        seconds=60,
        progress=lambda done, what: told.append((done, what)),
    )
    pieces = [done for done, what in told if what == "protecting pieces of the table"]
    assert len(pieces) > 3 and all(0.1 <= done <= 0.7 for done in pieces) and pieces[-1] == pytest.approx(0.7)


def test_weights_of_nothing_are_weights_and_the_best_is_said_to_be():
    table = figures([[20, 30, 40], [50, 1, 60], [70, 80, 90]], "")
    free = np.ones(16)
    free[[table.cell("a", "x"), table.cell("a", "y"), table.cell("b", "x")]] = 0
    kept = kept_of(table, rules="min=3", weights=free)
    assert {kept.cells.name(cell) for cell in np.flatnonzero(kept.hidden)} == {"a, x", "a, y", "b, x", "b, y"}
    facts = dict(kept.facts)
    assert facts["weight of secondary suppressions"] == "the least possible (method optimal)"
    assert dict(kept.in_figures())["secondary suppressions"] == "3 cells with a total of 100"
    fast = dict(kept_of(table, rules="min=3", method="suppress how=fast").facts)
    assert fast["weight of secondary suppressions"] == "not known how far above the least possible (method fast)"


@pytest.mark.parametrize("norm", ["l1", "l2"])
@pytest.mark.parametrize("weight", ["value", "cells"])
def test_figures_are_adjusted_by_the_norm_and_the_weights_that_are_asked_for(norm, weight):
    table = figures([[20, 30, 40], [50, 9, 60], [70, 80, 90]])
    kept = kept_of(table, rules="cells=b,y", share="1/3", method=f"adjust norm={norm} weight={weight} keep-totals")
    size = kept.cells.values.astype(float)
    limits = np.where(np.arange(16) == 0, 0.0, np.inf)
    wanted = adjust(
        kept.cells,
        kept.protection,
        1 / size if weight == "value" else np.ones(16),
        norm=norm,
        limits=limits,
    )
    assert np.array_equal(kept.values, wanted.values)
    assert kept.values[0] == kept.cells.values[0]
    cell = kept.cells.tables[0].cell("b", "y")
    assert abs(kept.values[cell] - 9) >= 3
    value, kind, why = kept.told(table, cell)
    assert (value, kind) == ("9", "sensitive") and f"published as {kept.values[cell]}" in why
    same = int(np.flatnonzero(kept.values == kept.cells.values)[0])
    assert kept.told(table, same)[1:] == ("", "")
    moved = np.flatnonzero((kept.values != kept.cells.values) & ~kept.protection.sensitive)
    assert all(kept.told(table, int(one))[1] == "added" for one in moved)


def test_an_adjusted_table_moves_a_cell_exactly_as_far_as_it_must_or_as_it_can():
    cells = Cells.of(figures([3, 50, 60]))
    sensitive = np.array([False, True, False, False])
    for below, above, lower in ((3.0, 4.0, 0), (3.0, 9.0, 0), (4.0, 4.0, 0)):
        level = replace(protect(cells, ()), sensitive=sensitive, below=sensitive * below, above=sensitive * above)
        made = adjust(cells, level, np.ones(4), limits=np.array([0, np.inf, np.inf, np.inf]))
        off = made.values[1] - 3
        assert off == (-below if below <= 3 else above) and made.values.min() >= lower
        assert made.distance == pytest.approx(made.bound, abs=1e-5) == 2 * abs(off)
    with pytest.raises(NoPromise, match="satisfies the limits"):
        adjust(cells, level, np.ones(4), limits=np.array([0, 3, 3, 3]))
    assert adjust(cells, level, np.ones(4), limits=np.array([0, 4, 4, 4])).values[1] == 7


# hierarchies in a file


@pytest.mark.parametrize(
    ("rows_told", "total"),
    [
        ({"r": ["a", "b", "T"], "value": [1, 2, 3]}, None),  # one line only: it may be chance
        ({"r": ["a", "b", "Sum"], "value": [1, 2, 3]}, "Sum"),
        ({"r": ["a", "b", "Sum"], "value": [1, 2, 4]}, None),
        ({"r": ["a", "b", "Sum"], "value": [0, 0, 0]}, None),
        ({"r": [*"abTabT"], "s": [*"xxxyyy"], "value": [1, 2, 3, 4, 5, 9]}, "T"),
        ({"r": [*"abTabT"], "s": [*"xxxyyy"], "value": [1, 2, 3, 4, 5, 8]}, None),
        ({"r": [*"abTabT"], "s": [*"xxxyyy"], "value": [1, 2, 3, 0, 0, 0]}, "T"),
        ({"r": [*"aTaT"], "s": [*"xxyy"], "value": [1, 1, 4, 4]}, None),  # of two either may be
    ],
)
def test_what_looks_like_a_total_and_what_does_not(rows_told, total):
    if total is None:
        assert "Total" in read_table(pa.table(rows_told)).dimensions[0].codes
    else:
        with pytest.raises(DataError, match=f"'{total}' looks like the total"):
            read_table(pa.table(rows_told))


def test_rounded_totals_look_like_totals_within_half_a_unit_for_each_code():
    for value, found in ((30, True), (31, True), (29, True), (32, False)):
        told = pa.table({"r": ["a", "b", "Sum"], "value": [10, 20, value]})
        if found:
            with pytest.raises(DataError, match="'Sum' looks like the total"):
                read_table(told, rounded=True)
        else:
            assert read_table(told, rounded=True).values[0] == 62


def test_totals_of_a_hierarchy_with_one_part_stand_for_it():
    parents = {"a": "A", "b": "A", "c": "C", "A": None, "C": None}
    table = read_table(pa.table({"r": ["a", "b", "c"], "value": [1, 2, 4]}), parents={"r": parents})
    assert table.dimensions[0].codes == ("Total", "c", "A", "a", "b")
    assert table.dimensions[0].aliases == {"C": "c"}
    assert table.values.tolist() == [7, 4, 3, 1, 2]
    one = read_table(pa.table({"r": ["a", "b"], "value": [1, 2]}), parents={"r": {"a": "A", "b": "A", "A": None}})
    assert one.dimensions[0].codes == ("A", "a", "b")
    assert one.dimensions[0].aliases == {"Total": "A"}
    both = read_table(
        pa.table({"r": ["a", "b", "A", "Total"], "value": [1, 2, 3, 3]}), parents={"r": {"a": "A", "b": "A", "A": None}}
    )
    assert both.dimensions[0].codes == ("Total", "A", "a", "b")


@pytest.mark.parametrize(("variance", "fine"), [(0.5, False), (1.0, True), (4.0, True), (4.5, False)])
def test_changes_allow_a_variance_between_their_smallest_and_their_largest(variance, fine):
    """Of a count that must change, by 1 or 2 up or down."""
    changes = np.array([-2, -1, 1, 2])
    if fine:
        found = _law(changes, variance, 7)
        assert found @ changes == pytest.approx(0) and found @ changes**2 == pytest.approx(variance)
    else:
        with pytest.raises(BadInput, match="A count of 7 cannot be changed"):
            _law(changes, variance, 7)
