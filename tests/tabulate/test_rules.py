"""Which cells are sensitive, why, and how far off an intruder must be kept."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tabulate.municipality import people, salaries

from discreet.errors import BadInput
from discreet.verbs.tabulate.protection import protect
from discreet.verbs.tabulate.rules import (
    Dominance,
    MinFrequency,
    PPercent,
    PriorPosterior,
    Request,
    Zero,
    parse_rules,
)
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, Dimension, summed
from discreet.verbs.tabulate.tables.respondents import alone


def one_cell(*contributions, decimals=0):
    """A table of a single cell with these contributions."""
    ranks = sorted(contributions, reverse=True)[:3]
    largest = np.array([ranks + [0] * (3 - len(ranks))])
    values = np.array([sum(contributions)])
    known = Contributions(np.array([len(contributions)]), largest)
    return Cells.of(CrossTable((Dimension("c", ("all",), (-1,)),), values, "x", decimals, known))


def levels(cells, *rules, **more):
    found = protect(cells, rules, **more)
    return (found.below[0], found.above[0]) if found.sensitive[0] else None


@pytest.mark.parametrize(
    ("rule", "contributions", "level"),
    [
        (PPercent(10), (100, 20, 5), 5),  # 10 % of 100 less the 5 of all others
        (PPercent(10), (100, 20, 10), None),  # exactly on the edge: safe
        (PPercent(10), (101, 20, 10), 1),  # 10.1 - 10, rounded up
        (PPercent(15), (100,), 15),
        (PPercent(7), (100, 50, 7), None),  # 0.07 × 100 is above 7 in doubles
        (PriorPosterior(10, 50), (100, 20, 15), 5),  # 10/50 of 100 is 20
        (PriorPosterior(10, 50), (100, 20, 20), None),
        (Dominance(1, "0.7"), (80, 10, 10), 15),  # 80/0.7 is 114.3
        (Dominance(1, "0.7"), (70, 20, 10), None),
        (Dominance(2, 85), (80, 10, 10), 6),  # 90/0.85 is 105.9
        (Dominance(1, 0.4), (100,), 150),  # below no more than its value
        (MinFrequency(3), (60, 40), 10),
        (MinFrequency(3), (1, 2), 1),
        (MinFrequency(3), (60, 40, 1), None),
        (Request([["all"]]), (60, 40, 1), 11),
    ],
)
def test_a_rule_by_hand(rule, contributions, level):
    cells = one_cell(*contributions)
    expected = None if level is None else (min(level, sum(contributions)), level)
    assert levels(cells, rule) == expected


def test_the_p_percent_rule_is_prior_posterior_with_100():
    cells = one_cell(100, 20, 5)
    assert levels(cells, PPercent(12)) == levels(cells, PriorPosterior(12, 100))


def test_figures_beyond_doubles_are_compared_exactly():
    far = 2**58
    assert levels(one_cell(100 * (far // 100), far // 100 * 10, far // 100 * 10), PPercent(10)) is None
    assert levels(one_cell(100 * (far // 100), far // 100 * 10, far // 100 * 10 - 1), PPercent(10)) == (1, 1)
    assert levels(one_cell(2**50, 2**48, 2**47), PPercent("0.001")) is None  # 2**47 times 100,000 has more than 64 bits


def test_decimals_are_units():
    assert levels(one_cell(1000, 200, 50, decimals=2), PPercent(10)) == (50, 50)
    assert levels(one_cell(decimals=2), Zero("0.5")) == (0, 50)


def test_a_share_of_the_value_where_a_rule_does_not_say():
    assert levels(one_cell(60, 40), MinFrequency(3), share=0.25) == (25, 25)
    with pytest.raises(BadInput):
        protect(one_cell(1), [MinFrequency(3)], share=2)


def test_the_most_demanding_rule_counts():
    found = protect(one_cell(100, 20, 5), [PPercent(10), Dominance(1, "0.5"), Zero()])
    assert found.above[0] == 75
    assert found.reasons == {
        0: (
            "a contributor could estimate another's figure within 10 %",
            "the largest contribution is more than 50 % of the total",
        )
    }


def test_the_municipalities():
    cells = Cells.of(salaries())
    found = protect(cells, parse_rules("min=3; n=1,k=0.9"))
    assert {cells.name(cell): why for cell, why in found.reasons.items()} == {
        "M1, P1": ("fewer than 3 respondents",),
        "M2, P3": ("fewer than 3 respondents", "the largest contribution is more than 90 % of the total"),
        "M3, P5": ("the largest contribution is more than 90 % of the total",),
    }
    assert found.above[found.sensitive].tolist() == [36, 3, 26]
    assert found.insiders == ((cells.tables[0].cell("M2", "P3"),),)


def test_small_counts_seem_to_reach_what_would_be_safe():
    cells = Cells.of(people())
    found = protect(cells, [MinFrequency(3)])
    assert {cells.name(cell): (found.below[cell], found.above[cell]) for cell in found.reasons} == {
        "M1, P1": (1, 1),
        "M2, P3": (1, 2),
    }


def test_totals_are_cells_like_others():
    side = Dimension.from_paths("r", [("a1", "A"), ("a2", "A"), ("b",)])
    counts = summed((side,), np.array([1, 1, 5]))
    found = protect(Cells.of(CrossTable((side,), counts)), [MinFrequency(3)])
    assert [side.codes[cell] for cell in found.reasons] == ["A", "a1", "a2"]


def test_whoever_is_alone_in_a_total_is_alone_in_its_parts():
    sides = (Dimension.flat("r", ["a", "b"]), Dimension.flat("c", ["x", "y"]))
    counts = summed(sides, np.array([[1, 0], [4, 1]]))
    table = CrossTable(sides, counts, "", 0, Contributions(counts, None, alone(CrossTable(sides, counts), counts)))
    cells = Cells.of(table)
    names = {frozenset(map(cells.name, one)) for one in protect(cells, [MinFrequency(3)]).insiders}
    assert names == {frozenset({"a, x", "a, Total"}), frozenset({"b, y", "Total, y"})}


def test_totals_over_their_cells_need_not_be_kept_from_insiders():
    side = Dimension.from_paths("r", [("a1", "A"), ("a2", "A"), ("b",), ("c",)])
    counts = summed((side,), np.array([1, 2, 9, 2]))
    known = Contributions(counts, None, alone(CrossTable((side,), counts), counts))
    cells = Cells.of(CrossTable((side,), counts, "", 0, known))
    found = protect(cells, [MinFrequency(4)])
    assert [side.codes[cell] for cell in found.reasons] == ["A", "a1", "a2", "c"]
    assert found.insiders == ((side.places["a1"],),)
    assert found.within == ((side.places["A"],),)  # the total of all is safe anyhow, a2 is kept from them
    assert protect(cells, [MinFrequency(4), Request([["A"]])]).within == ((),)


def test_an_insider_of_linked_tables_is_one_person():
    region = Dimension.flat("region", ["n", "s"])
    tables = []
    for other, inner in ((["p", "q"], [[1, 0], [3, 4]]), (["small", "large"], [[0, 1], [5, 2]])):
        sides = (region, Dimension.flat(other[0] + other[1], other))
        counts = summed(sides, np.array(inner))
        known = Contributions(counts, None, alone(CrossTable(sides, counts), counts))
        tables.append(CrossTable(sides, counts, "", 0, known))
    cells = Cells.of(*tables)
    names = [frozenset(map(cells.name, one)) for one in protect(cells, [MinFrequency(3)]).insiders]
    assert names == [frozenset({"n, Total", "n, p", "n, large"})]


def test_negative_contributions_need_to_be_taken_absolutely():
    side = Dimension("c", ("all",), (-1,))
    known = Contributions(np.array([3]), np.array([[100, 20]]), None, np.array([125]))
    cells = Cells.of(CrossTable((side,), np.array([-75]), "profit", 0, known))
    with pytest.raises(BadInput, match="needs non-negative contributions; some of profit are negative") as refused:
        protect(cells, [PPercent(10)])
    assert "absolute" in str(refused.value)
    assert levels(cells, PPercent(10), negative="absolute") == (5, 5)
    assert levels(cells, MinFrequency(4)) == (8, 8)
    unknown = CrossTable((side,), np.array([-75]), "profit", 0, Contributions(np.array([3]), np.array([[100, 20]])))
    with pytest.raises(BadInput, match="absolute ones"):
        protect(Cells.of(unknown), [PPercent(10)], negative="absolute")


def test_what_is_not_known_is_asked_for():
    side = Dimension("c", ("all",), (-1,))
    bare = Cells.of(CrossTable((side,), np.array([7]), "x"))
    with pytest.raises(BadInput, match="count"):
        protect(bare, [MinFrequency(3)])
    with pytest.raises(BadInput, match="largest_1, largest_2"):
        protect(bare, [PPercent(10)])
    with pytest.raises(BadInput, match="largest_4"):
        protect(one_cell(3, 2, 1), [Dominance(4, 0.8)])
    with pytest.raises(BadInput, match="did you mean 'all'"):
        protect(bare, [Request([["al"]])])


def test_no_rules_find_nothing():
    found = protect(one_cell(1), ())
    assert not found.sensitive.any()
    assert found.reasons == {}


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("p=10", (PPercent(10),)),
        ("P = 10%", (PPercent(10),)),
        ("p=10,q=50", (PriorPosterior(10, 50),)),
        ("k=70%, n=2", (Dominance(2, Fraction(7, 10)),)),
        ("n=1,k=0.7; min=3;", (Dominance(1, Fraction(7, 10)), MinFrequency(3))),
        ("zero; zero=50", (Zero(1), Zero(50))),
        ("cells=M2, P3 | M1,P1", (Request((("M2", "P3"), ("M1", "P1"))),)),
        ("", ()),
    ],
)
def test_rules_as_people_write_them(text, rules):
    assert parse_rules(text) == rules


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("mim=3", "did you mean 'min'"),
        ("min", "is not a rule"),
        ("min=three", "whole number"),
        ("min=1", "between 2 and"),
        ("p=0", "above 0"),
        ("p=x", "must be a number"),
        ("p=60,q=50", "below q"),
        ("n=1", "is not a rule"),
        ("n=0,k=0.5", "between 1 and"),
        ("n=1,k=100", "share between 0 and 1"),
        ("p=10,p=20", "twice"),
        ("zero=0", "above 0"),
        ("cells=", "does not name a cell"),
    ],
)
def test_what_is_no_rule(text, said):
    with pytest.raises(BadInput, match=said):
        parse_rules(text)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 50), min_size=1, max_size=6), st.integers(1, 100), st.integers(1, 99))
def test_an_intruder_kept_so_far_off_could_not_break_the_rule(contributions, p, k):
    """Above the protection level the cell would be safe, and a unit less would not do."""
    total, (first, second, *_) = sum(contributions), sorted([*contributions, 0], reverse=True)
    cells = one_cell(*contributions)
    level = levels(cells, PPercent(p))
    assert (level is not None) == (100 * (total - first - second) < p * first)
    if level is not None:
        assert 100 * (total + level[1] - first - second) >= p * first > 100 * (total + level[1] - 1 - first - second)
    level = levels(cells, Dominance(1, Fraction(k, 100)))
    assert (level is not None) == (100 * first > k * total)
    if level is not None:
        assert 100 * first <= k * (total + level[1])
        assert 100 * first > k * (total + level[1] - 1)


@pytest.mark.slow
def test_two_million_cells():
    sides = (Dimension.flat("a", map(str, range(1414))), Dimension.flat("b", map(str, range(1414))))
    counts = summed(sides, (np.arange(1414 * 1414) % 40).reshape(1414, 1414))
    largest = np.stack([counts * 6, counts * 2], axis=-1)
    known = Contributions(counts, largest, alone(CrossTable(sides, counts), counts))
    cells = Cells.of(CrossTable(sides, counts * 10, "x", 0, known))
    found = protect(cells, parse_rules("min=3; p=10; n=1,k=0.8"))
    few = int(((counts > 0) & (counts < 3)).sum())
    assert found.sensitive.sum() == len(found.reasons) == few == len(found.insiders) * 2


def test_codes_with_marks_in_them_are_quoted():
    assert parse_rules('cells="a, b",x | "5"" |; pipe",y; min=3') == (
        Request((("a, b", "x"), ('5" |; pipe', "y"))),
        MinFrequency(3),
    )
    with pytest.raises(BadInput, match="not closed"):
        parse_rules('cells=5" pipe,y')


@pytest.mark.parametrize(
    "text", ["zero=1e30", "min=99999999999999999999", f"min={'9' * 5000}", "n=5000,k=0.7", "n=1,k=1e-400"]
)
def test_figures_beyond_reason_are_refused(text):
    with pytest.raises(BadInput):
        protect(one_cell(), parse_rules(text))


def test_negative_is_one_of_two_words():
    with pytest.raises(BadInput, match="refuse"):
        protect(one_cell(1), [MinFrequency(3)], negative="foo")


@pytest.mark.parametrize(("text", "code"), [('cells=""', ""), ('cells=" "', " "), ('cells="a"', "a"), ("cells=a", "a")])
def test_a_code_in_quotes_is_what_stands_between_them(text, code):
    (rule,) = parse_rules(text)
    assert rule.cells == ((code,),)
