"""Every model on tables that lie exactly on its bound, one step within it and one step beyond it."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.models import plain

from discreet.core.card import Column
from discreet.core.kind import Kind
from discreet.core.statement import Claim
from discreet.errors import BadInput
from discreet.models.beta_likeness import BetaLikeness, DeltaDisclosure, _above_log, _reached
from discreet.models.check import Verdicts, cells, usual
from discreet.models.classes import Classes, Spread, by_size
from discreet.models.closeness import TCloseness
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.estimators import zayatz
from discreet.models.exact_compare import at_most, below, dot, ln, sign, unsure, wide
from discreet.models.k_anonymity import KAnonymity, KMap
from discreet.models.model import Verdict, checked_alone, from_claim, shown
from discreet.models.presence import DeltaPresence
from discreet.models.risk import AverageRisk, JournalistRisk, MarketerRisk, ProsecutorRisk
from discreet.models.uniqueness import PopulationUniqueness
from discreet.samples import inpatient

PEOPLE = inpatient()  # any table: only its name is used where classes are made by hand
LEAST = Fraction(1, 10**9)


def classes(*members: str, people: list[int] | None = None, outside: int = 0, column: Column | None = None) -> Classes:
    """One class for each text, one row for each of its letters, which are the sensitive values."""
    rows = [(place, value) for place, text in enumerate(members) for value in text]
    if column is not None and column.kind is Kind.INTEGER:
        rows = [(place, int(value)) for place, value in rows]
    return plain.made(rows, column, None if people is None else dict(enumerate(people)), outside)


SIZES = classes("aa", "aaa", "aaaa", people=[3, 4, 5])
VALUES = classes("aab", "abc", "abcd")

BORDERS = [  # model, classes, the figure of each class, which of them break it
    (KAnonymity(3), SIZES, [2, 3, 4], "x.."),
    (KMap(4, PEOPLE), SIZES, [3, 4, 5], "x.."),
    (ProsecutorRisk("1/3"), SIZES, [1 / 2, 1 / 3, 1 / 4], "x.."),
    (JournalistRisk("1/4", PEOPLE), SIZES, [1 / 3, 1 / 4, 1 / 5], "x.."),
    (LDiversity(3, "s"), VALUES, [2, 3, 4], "x.."),
    (PSensitivity(2, 3, "s"), classes("ab", "aab", "aaa", "abcd", "aaaa"), [2, 2, 1, 4, 1], "x.x.x"),
    (AlphaK("1/2", 3, "s"), classes("ab", "aab", "abc", "aabb", "aaab"), [1 / 2, 2 / 3, 1 / 3, 1 / 2, 3 / 4], "xx..x"),
    (AlphaK("1/3", 1, "s"), classes("abc", "abcd", "abbc", "a"), [1 / 3, 1 / 4, 1 / 2, 1], "..xx"),
    (EntropyLDiversity(2, "s"), classes("ab", "aab", "abc", "a"), [2, None, 3, 1], ".x.x"),
    (EntropyLDiversity("5/2", "s"), classes("ab", "abc", "aabbc"), [2, 3, None], "x.."),
    (RecursiveLDiversity(2, 2, "s"), classes("aaabb", "aaaabb", "aaaaabb", "aa"), [1.5, 2, 2.5, math.inf], ".xxx"),
    (RecursiveLDiversity(2, 3, "s"), classes("aaabbcc", "aaaabbbcc", "aabb", "abcd"), [1.5, 2, math.inf, 0.5], ".xx."),
    (RecursiveLDiversity(2, 2, "s"), classes("ab", "aab", "aaab"), [1, 2, 3], ".xx"),
    (RecursiveLDiversity("1/2", 1, "s"), classes("aab", "ab", "a"), [2 / 3, 1 / 2, 1], "xxx"),
    (RecursiveLDiversity("2/3", 1, "s"), classes("aab", "ab", "abc"), [2 / 3, 1 / 2, 1 / 3], "x.."),
    (TCloseness("1/2", "s"), classes("aa", "bb"), [1 / 2, 1 / 2], ".."),
    (TCloseness("1/4", "s"), classes("aaa", "b"), [1 / 4, 3 / 4], ".x"),
    (TCloseness("1/4", "s"), classes("12", "23", column=Column("s", Kind.INTEGER)), [1 / 4, 1 / 4], ".."),
    (TCloseness("1/4", "s", "ordered"), classes("ab", "cd"), [1 / 3, 1 / 3], "xx"),
    (TCloseness("1/3", "s", "ordered"), classes("ab", "cd"), [1 / 3, 1 / 3], ".."),
    (TCloseness("1/3", "s", "ordered"), classes("ad", "bc"), [1 / 6, 1 / 6], ".."),
    (BetaLikeness(1, "s"), classes("aabb", "abbbbbbb"), [1, 1 / 6], ".."),
    (BetaLikeness("1/2", "s"), classes("aabb", "abbbbbbb"), [1, 1 / 6], "x."),
    (BetaLikeness("1/6", "s"), classes("aabb", "abbbbbbb"), [1, 1 / 6], "x."),
    (BetaLikeness(2, "s", enhanced=True), classes("aabb", "abbbbbbb"), [1, 1 / 6], ".."),
    (BetaLikeness(2, "s", enhanced=True), classes("aaaa", "aabb"), [1 / 3, 1], "x."),
    (BetaLikeness(9, "s", enhanced=True), classes("aaab", "abbb"), [1 / 2, 1 / 2], ".."),
    (BetaLikeness(9, "s", enhanced=True), classes("aa", "bb"), [1, 1], "xx"),
    (DeltaDisclosure(1, "s"), classes("aabb", "abbbbbbb"), [1, 1], "xx"),
    (DeltaDisclosure("1.01", "s"), classes("aabb", "abbbbbbb"), [1, 1], ".."),
    (DeltaDisclosure(9, "s"), classes("ab", "aab", "a"), [None, None, math.inf], "..x"),
    (DeltaPresence(0.25, 0.5, PEOPLE), classes(*"aaaaa", people=[1, 2, 3, 4, 5]), [1, 0.5, 1 / 3, 0.25, 0.2], "x...x"),
    (DeltaPresence(0, "1/2", PEOPLE), classes("a", "a", people=[2, 1], outside=3), [1 / 2, 1], ".x"),
    (DeltaPresence(LEAST, 1, PEOPLE), classes("a", "a", people=[2, 1], outside=1), [1 / 2, 1], "xx"),
    (DeltaPresence(LEAST, 1, PEOPLE), classes("a", "a", people=[2, 1]), [1 / 2, 1], ".."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("model", "found", "figures", "broken"), BORDERS, ids=lambda case: str(getattr(case, "claim", ""))
)
def test_the_bound_itself_is_on_the_right_side(model, found, figures, broken) -> None:
    for figure, wanted in zip(model.figures(found).tolist(), figures, strict=True):
        assert wanted is None or figure == pytest.approx(wanted, rel=1e-12)
    assert model.breaking(found).tolist() == [mark == "x" for mark in broken]
    verdict = model.verdict(found)
    assert verdict.holds == ("x" not in broken)
    assert verdict.exposed == sum(size for size, mark in zip(found.sizes.tolist(), broken, strict=True) if mark == "x")


MEANS = [  # a mean over all rows: model, classes, the mean, which classes go
    (MarketerRisk("1/2"), classes("a", "aa", "aaa"), 1 / 2, "..."),
    (MarketerRisk("0.49"), classes("a", "aa", "aaa"), 1 / 2, "x.."),
    (MarketerRisk("2/5"), classes("a", "aa", "aaa"), 1 / 2, "x.."),
    (MarketerRisk("0.39"), classes("a", "aa", "aaa"), 1 / 2, "xx."),
    (MarketerRisk("1/3"), classes("a", "aa", "aaa"), 1 / 2, "xx."),
    (MarketerRisk("0.33"), classes("a", "aa", "aaa"), 1 / 2, "xxx"),
    (MarketerRisk("1/3"), classes("aa", "aa", "aaaa"), 3 / 8, "x.."),
    (MarketerRisk("11/60", PEOPLE), classes("a", "aa", "aaa", people=[2, 4, 30]), 11 / 60, "..."),
    (MarketerRisk("0.18", PEOPLE), classes("a", "aa", "aaa", people=[2, 4, 30]), 11 / 60, "x.."),
    (MarketerRisk("0.18", PEOPLE), classes("aaa", "a", "aaa", people=[4, 4, 30]), 11 / 70, "..."),
    (MarketerRisk("0.15", PEOPLE), classes("aaa", "a", "aaa", people=[4, 4, 30]), 11 / 70, ".x."),
    (AverageRisk("1/3", PEOPLE), classes("a", "aaa", people=[3, 3]), 1 / 3, ".."),
    (AverageRisk("1/4", PEOPLE), classes("a", "a", people=[2, 14]), 2 / 7, "x."),
    (AverageRisk("2/7", PEOPLE), classes("a", "a", people=[2, 14]), 2 / 7, ".."),
    (AverageRisk("1/4", PEOPLE), classes("aaaaa", "a", people=[5, 6]), 7 / 36, ".."),
    (AverageRisk("1/2"), classes("a", "aa", "aaa"), 1 / 2, "..."),
    (PopulationUniqueness(0, 9), classes("aa", "aa"), 0, ".."),
    (PopulationUniqueness("1/3", 6, "zayatz"), classes("a", "a", "aa", "aa"), 1 / 3, "...."),
    (PopulationUniqueness("0.3", 6, "zayatz"), classes("a", "a", "aa", "aa"), 1 / 3, "x..."),
    (PopulationUniqueness(0, 6, "zayatz"), classes("aa", "a", "a", "aa"), 1 / 3, ".xx."),
]  # fmt: skip


@pytest.mark.parametrize(("model", "found", "mean", "gone"), MEANS, ids=lambda case: str(getattr(case, "claim", "")))
def test_as_few_classes_go_as_bring_a_mean_to_its_bound(model, found, mean, gone) -> None:
    if mean is not None:
        assert model.figure(found) == pytest.approx(mean, rel=1e-12)
    assert model.breaking(found).tolist() == [mark == "x" for mark in gone]
    assert model.verdict(found).holds == ("x" not in gone)
    assert model.verdict(found).worst is None


ALLOWED = [
    lambda: KAnonymity(1),
    lambda: KMap(1, PEOPLE),
    lambda: LDiversity(1, "s"),
    lambda: EntropyLDiversity(1, "s"),
    lambda: RecursiveLDiversity(LEAST, 1, "s"),
    lambda: PSensitivity(1, 1, "s"),
    lambda: AlphaK(LEAST, 1, "s"),
    lambda: AlphaK(1, 1, "s"),
    lambda: TCloseness(0, "s"),
    lambda: TCloseness(1, "s"),
    lambda: BetaLikeness(LEAST, "s"),
    lambda: DeltaDisclosure(LEAST, "s"),
    lambda: DeltaPresence(0, 0, PEOPLE),
    lambda: DeltaPresence(1, 1, PEOPLE),
    lambda: DeltaPresence("1/2", "1/2", PEOPLE),
    lambda: ProsecutorRisk(1),
    lambda: ProsecutorRisk(LEAST),
    lambda: JournalistRisk(1, PEOPLE),
    lambda: JournalistRisk(LEAST, PEOPLE),
    lambda: MarketerRisk(1),
    lambda: MarketerRisk(LEAST),
    lambda: AverageRisk(1),
    lambda: PopulationUniqueness(0, 1),
    lambda: PopulationUniqueness(1, 1),
]
MORE = 1 + LEAST
REFUSED = [
    lambda: KAnonymity(0),
    lambda: KMap(0, PEOPLE),
    lambda: LDiversity(0, "s"),
    lambda: EntropyLDiversity(1 - LEAST, "s"),
    lambda: RecursiveLDiversity(0, 1, "s"),
    lambda: RecursiveLDiversity(1, 0, "s"),
    lambda: PSensitivity(0, 1, "s"),
    lambda: PSensitivity(1, 0, "s"),
    lambda: AlphaK(0, 1, "s"),
    lambda: AlphaK(MORE, 1, "s"),
    lambda: AlphaK(1, 0, "s"),
    lambda: TCloseness(MORE, "s"),
    lambda: BetaLikeness(0, "s"),
    lambda: DeltaDisclosure(0, "s"),
    lambda: DeltaPresence(0, MORE, PEOPLE),
    lambda: DeltaPresence("1/2", Fraction(1, 2) - LEAST, PEOPLE),
    lambda: ProsecutorRisk(0),
    lambda: ProsecutorRisk(MORE),
    lambda: JournalistRisk(0, PEOPLE),
    lambda: JournalistRisk(MORE, PEOPLE),
    lambda: MarketerRisk(0),
    lambda: MarketerRisk(MORE),
    lambda: PopulationUniqueness(MORE, 1),
    lambda: PopulationUniqueness(0, 0),
]


@pytest.mark.parametrize("make", ALLOWED)
def test_a_parameter_may_be_as_small_or_large_as_makes_sense(make) -> None:
    assert make().claim.text


@pytest.mark.parametrize("make", REFUSED)
def test_a_parameter_beyond_that_is_refused(make) -> None:
    with pytest.raises(BadInput):
        make()


def test_defaults_are_the_lax_ones_that_papers_have() -> None:
    assert not BetaLikeness(1, "s").enhanced
    assert TCloseness(1, "s").distance is None
    assert PopulationUniqueness(1, 5).estimator == "largest"


# Comparisons


@pytest.mark.parametrize("limit", [Fraction(1, 3), Fraction(5), Fraction(10**18 + 1, 10**18), Fraction(1, 10**12)])
@pytest.mark.parametrize("factor", [1, 10**6, 2**40])
def test_quotients_are_compared_exactly(limit: Fraction, factor: int) -> None:
    for step in (-1, 0, 1):
        part = np.array([limit.numerator * factor + step], dtype=object)
        whole = np.array([limit.denominator * factor], dtype=object)
        assert at_most(part, whole, limit).tolist() == [step <= 0]
        assert below(part, whole, limit).tolist() == [step < 0]


def test_64_bits_are_left_where_a_result_could_be_too_large() -> None:
    small = np.array([3], dtype=np.int64)
    assert wide(small, most=2**62 - 1)[0].dtype == np.int64
    assert wide(small, most=2**62)[0].dtype == object
    near = np.array([2**62 // 3], dtype=np.int64)
    assert at_most(near, near, Fraction(1)).all()
    assert not below(near, near, Fraction(1)).any()
    assert at_most(near * 2, near, Fraction(2)).all()
    assert not at_most(near * 2 + 1, near, Fraction(2)).any()


def test_floats_are_unsure_within_a_part_in_a_thousand_million() -> None:
    assert unsure(np.array([1.0, 1 + 0.9e-9, 1 + 1.1e-9, 1 - 1.1e-9]), 1.0).tolist() == [True, True, False, False]
    assert unsure(np.array([0.9e-9, 1.1e-9]), 0.0).tolist() == [True, False]
    assert unsure(np.array([100 + 0.9e-7, 100 + 1.1e-7]), 100.0).tolist() == [True, False]
    assert unsure(np.array([5.0, 5.0]), np.array([5.0, 6.0])).tolist() == [True, False]


def test_logarithms_are_equal_to_a_hundred_digits() -> None:
    assert sign(dot([(Fraction(1, 10**99), ln(3))]), ln(3)) == 1
    assert sign(dot([(Fraction(-1, 10**99), ln(3))]), ln(3)) == -1
    assert sign(dot([(Fraction(1, 10**101), ln(3))]), ln(3)) == 0
    assert sign(dot([(Fraction(1, 10**99), ln(10**9))]), dot([(1000, ln(10**9))])) == 0
    assert sign(dot([(Fraction(3, 7), ln(2)), (Fraction(-6, 14), ln(2))]), ln(2)) == 0


# Verdicts


def test_a_verdict_says_the_figure_and_who_is_exposed() -> None:
    claim = KAnonymity(3).claim
    broken = Verdict(claim, False, 2.0, {"q": 1}, 1200, 5000, "smallest class")
    assert str(broken) == "3-anonymous: does not hold; smallest class: 2; 1,200 of 5,000 rows are exposed"
    assert str(Verdict(claim, True, math.nan, None, 0, 0)) == "3-anonymous: holds"
    assert broken.to_dict()["worst"] == {"q": 1}
    assert Verdict(claim, False, math.inf, None, 1, 1).to_dict()["figure"] is None
    assert [shown(figure) for figure in (1234.0, 0.123456, 2.5, math.inf, -math.inf, math.nan, 0.0)] == [
        "1,234", "0.1235", "2.5", "∞", "–", "–", "0",
    ]  # fmt: skip


def labelled(model, sizes: list[int], labels: dict[str, list[object]]):
    columns = {name: pa.array(values, pa.int64() if name == "a" else pa.string()) for name, values in labels.items()}
    dictionaries = {name: column.dictionary_encode(null_encoding="encode") for name, column in columns.items()}
    found = {
        str(model.verdict(Classes(np.array(sizes), labels=pa.table(kind))).worst) for kind in (columns, dictionaries)
    }
    assert len(found) == 1
    return model.verdict(Classes(np.array(sizes), labels=pa.table(columns))).worst


def test_the_worst_class_is_named_and_of_equals_the_first_by_its_label() -> None:
    names = {"a": [3, 1, 2, 1, None], "b": ["x", "z", "x", "y", "x"]}
    assert labelled(KAnonymity(3), [2, 2, 1, 2, 2], names) == {"a": 2, "b": "x"}
    assert labelled(KAnonymity(3), [2, 2, 2, 2, 2], names) == {"a": 1, "b": "y"}
    assert labelled(KAnonymity(3), [2, 9, 9, 9, 2], names) == {"a": 3, "b": "x"}
    assert labelled(KAnonymity(1), [4, 9, 9, 9, 4], names) == {"a": 3, "b": "x"}
    assert labelled(KAnonymity(1), [2, 2], {"a": [None, None], "b": ["q", "p"]}) == {"a": None, "b": "p"}
    assert Classes(np.array([1, 2])).labels is None
    assert KAnonymity(2).verdict(Classes(np.array([1, 2]))).worst is None


def test_the_worst_class_is_one_that_breaks_the_model() -> None:
    """Its figure need not be the worst one: of AlphaK another class may have the larger share."""
    found = classes("ab", "aaabb")
    verdict = AlphaK("0.7", 3, "s").verdict(found)
    assert (verdict.figure, verdict.worst, verdict.meaning) == (
        0.6, {"q": 0}, "smallest class 2; largest share of a value",
    )  # fmt: skip
    assert PSensitivity(1, 3, "s").verdict(found).meaning == "smallest class 2; fewest distinct values in a class"


def test_presence_is_worst_where_it_is_furthest_outside() -> None:
    model = DeltaPresence("0.2", "0.5", PEOPLE)
    assert model.badness(np.array([0.1, 0.2, 0.35, 0.5, 0.8])).tolist() == pytest.approx([0.1, 0, -0.15, 0, 0.3])
    verdict = model.verdict(classes("a", "aaaa", people=[20, 6]))
    assert (verdict.worst, verdict.figure) == ({"q": 1}, pytest.approx(2 / 3))
    assert (
        model.verdict(classes("a", people=[4], outside=7)).meaning
        == "7 certainly absent; share of the population present"
    )
    assert model.verdict(classes("a", people=[4])).meaning == "share of the population present"
    assert DeltaPresence(0, 1, PEOPLE).verdict(classes("a", people=[4], outside=7)).meaning == (
        "share of the population present"
    )


def test_columns_that_are_checked_alone_are_named_together() -> None:
    assert checked_alone([LDiversity(2, "a"), KAnonymity(2), TCloseness(1, "a")]) == []
    [two] = checked_alone([LDiversity(2, "a"), TCloseness(1, "b")])
    assert two.startswith("Each of a and b was checked separately")
    [three] = checked_alone([LDiversity(2, "a"), TCloseness(1, "c") & LDiversity(2, "b")])
    assert three.startswith("Each of a, b and c was checked separately")


def test_distances_need_a_hierarchy_that_measures_them() -> None:
    with pytest.raises(BadInput, match="no hierarchy"):
        TCloseness("0.5", "s", "hierarchical").verdict(classes("ab"))


def test_values_that_do_not_occur_have_no_rank() -> None:
    """After suppression a value of the domain may be gone: ranks are those of the values that are left."""
    domain = pa.array([1, 2, 3, 4])
    spread = Spread(
        Column("s", Kind.INTEGER), domain, np.array([0, 0, 1, 1]), np.array([0, 3, 0, 2]), np.array([1, 1, 1, 1])
    )
    found = Classes(np.array([2, 2]), {"s": spread})
    assert TCloseness(1, "s").figures(found).tolist() == [1 / 8, 1 / 8]
    kept = found.keeping(np.array([True, False]))
    assert TCloseness(0, "s").figures(kept).tolist() == [0]
    alone = classes("1", "11", column=Column("s", Kind.INTEGER))
    assert TCloseness(0, "s").verdict(alone).holds


@pytest.mark.parametrize(
    ("ratio", "bits", "reached"),
    [
        (2, 1, True),
        ("1/2", 1, True),
        ("3/2", "0.58", True),
        ("3/2", "0.59", False),
        ("2/3", "0.58", True),
        (1, 1, False),
    ],
)
def test_logarithms_of_shares_are_compared_exactly(ratio: str | int, bits: str | int, reached: bool) -> None:
    assert _reached(Fraction(ratio), Fraction(bits)) is reached


@pytest.mark.parametrize(
    ("ratio", "share", "above"),
    [(1, 1, False), ("3/2", "1/2", False), ("17/10", "1/2", True), ("5/4", "3/4", False), ("4/3", "3/4", True)],
)
def test_gains_are_compared_with_logarithms_exactly(ratio: str | int, share: str | int, above: bool) -> None:
    """A gain of 0.5 is below ln 2 = 0.693, one of 0.7 above; 1/4 is below -ln(3/4) = 0.288, 1/3 above."""
    assert _above_log(Fraction(ratio), Fraction(share)) is above


def test_what_is_exactly_at_the_edge_of_equality_is_equal() -> None:
    assert sign(Decimal("1e-100"), Decimal(1)) == 0
    assert sign(Decimal("-1e-100"), Decimal("0.5")) == 0
    assert sign(Decimal("1.1e-100"), Decimal("0.5")) == 1
    assert sign(Decimal("2e-100"), Decimal(-2)) == 0


@pytest.mark.parametrize(
    "claim",
    [
        Claim("all of", "5-anonymous", {"k": 5}),
        Claim("all of", "x", {"models": [("k-anonymity", "5-anonymous", [("k", 5)])], "k": 5}),
        Claim("k-anonymity", "5-anonymous", {"models": [("k-anonymity", "5-anonymous", [("k", 5)])]}),
    ],
)
def test_only_several_models_at_once_have_models_as_parameters(claim: Claim) -> None:
    with pytest.raises(BadInput):
        from_claim(claim)


def test_an_uneven_class_may_be_worth_a_whole_number_exactly() -> None:
    """Half of eight rows have one value, four have values of their own: 8 / 4**(4/8) = 4."""
    found = classes("aaaabcde")
    assert EntropyLDiversity(4, "s").verdict(found).holds
    assert not EntropyLDiversity(4 + Fraction(1, 10**30), "s").verdict(found).holds


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 9, 10, 19, 20, 49, 50, 99, 100, 499, 500, 999, 1000, 10**6])
def test_a_picture_has_a_bar_for_every_range_of_sizes(size: int) -> None:
    borders = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000]
    last = max(place for place, border in enumerate(borders) if border <= size)
    names = ["1", "2", "3 to 4", "5 to 9", "10 to 19", "20 to 49", "50 to 99", "100 to 199", "200 to 499", "500 to 999"]
    bars = [f"{name}: 0" for name in [*names, "1,000 or more"][:last]]
    assert "; ".join([*bars, f"{[*names, '1,000 or more'][last]}: {3 * size:,}"]) in by_size("x", {size: 3}, "").svg


USUAL = [  # classes, and the usual models as they just hold
    (("aab", "abb"), [3, 2, "1.8898", "0.1667", "1/3", "0.3334"]),
    (("ab", "ab"), [2, 2, 2, 0, "1/2", "0.5"]),
    (("abc", "abc", "a"), [1, 1, 1, "0.5715", 1, "0.4286"]),
    (("aaab", "bbba"), [4, 2, "1.7547", "0.25", "1/4", "0.25"]),
]


@pytest.mark.parametrize(("members", "stated"), USUAL)
def test_usual_models_are_stated_as_they_just_hold(members: tuple[str, ...], stated: list[object]) -> None:
    k, l, e, t, risk, mean = (Fraction(one) for one in stated)  # noqa: E741
    wanted = (
        KAnonymity(int(k)), LDiversity(int(l), "s"), EntropyLDiversity(e, "s"), TCloseness(t, "s"),
        ProsecutorRisk(risk), MarketerRisk(mean),
    )  # fmt: skip
    assert usual(classes(*members), ["s"]) == wanted
    assert usual(classes(), ["s"]) == ()


def test_many_rows_have_a_mean_risk_of_at_least_a_ten_thousandth() -> None:
    found = Classes(np.array([10**9], dtype=np.int64))
    assert usual(found, []) == (KAnonymity(10**9), ProsecutorRisk(Fraction(1, 10**9)), MarketerRisk("0.0001"))


def test_verdicts_are_shown_as_cells() -> None:
    found = classes("ab", "aab")
    assert cells(KAnonymity(3).verdict(found)) == ("3-anonymous", "NO", "2", "smallest class", "q = 0", "2")
    assert cells(KAnonymity(2).verdict(found)) == ("2-anonymous", "yes", "2", "smallest class", "q = 0", "")
    assert cells(KAnonymity(1).verdict(classes("a")))[1] == "none (k = 1)"
    assert cells(KAnonymity(2).verdict(classes())) == ("2-anonymous", "yes", "", "smallest class", "", "")
    assert cells(MarketerRisk("0.1").verdict(found))[4:] == ("", "5")


def test_verdicts_of_several_models_are_counted_together() -> None:
    claims = [model.verdict(classes("a", "ab", "ab")) for model in (KAnonymity(2), LDiversity(1, "s"))]
    found = Verdicts("t", tuple(claims), ("q",), 5, {1: 1, 2: 2})
    assert (found.holds, found.classes, found.unique, len(found)) == (False, 3, 1, 2)
    assert found.summary == "t: 5 rows in 3 classes on q; 1 unique."
    assert Verdicts("t", tuple(claims[1:]), ("q", "r"), 1, {2: 1}).unique == 0
    assert Verdicts("t", (), ("q", "r"), 1, {1: 1}).summary == "t: 1 row in 1 class on q, r; 1 unique."
    assert Verdicts("t", (), ("q",), 0, {}).holds


def test_uniqueness_says_on_what_it_relies() -> None:
    found = classes("a", "a", "a", "aa", "aa")
    told = PopulationUniqueness("0.5", 50).caveats(found)
    assert told[0].startswith("How many of 50 people are unique is estimated: a share of")
    assert "where 0.429 of the rows are unique." in told[0]
    assert PopulationUniqueness("0.5", 50).caveats(classes("aa")) == ()
    nothing_fits = classes(*"aaaaaaaaa", "aaaaa")
    assert PopulationUniqueness(1, 40).caveats(nothing_fits)[-1].startswith("So the share of unique rows was used")
    assert not PopulationUniqueness(1, 40, "zayatz").caveats(nothing_fits)[-1].startswith("So the share")
    assert PopulationUniqueness(1, 40, "snb").figure(nothing_fits) == PopulationUniqueness(1, 40, "zayatz").figure(
        nothing_fits
    )
    assert PopulationUniqueness(1, 14).figure(nothing_fits) == pytest.approx(9 / 14)
    with pytest.raises(BadInput, match="smaller than the sample of 14 rows"):
        PopulationUniqueness(1, 13).figure(nothing_fits)
    assert PopulationUniqueness(1, 14).figures(found).tolist() == [1, 1, 1, 0, 0]


def test_as_few_unique_rows_go_as_suffice() -> None:
    found = classes("a", "aa", "a", "a", "aa")
    sizes = {1: 3, 2: 2}
    share = [zayatz({**sizes, 1: left}, 30) / 30 for left in (3, 2, 1)]
    for threshold, gone in ((share[0], 0), (share[1], 1), (share[2], 2), (share[2] / 2, 3), (0, 3)):
        model = PopulationUniqueness(
            Fraction(threshold).limit_denominator(10**15) + Fraction(1, 10**12) * (gone < 3), 30, "zayatz"
        )
        assert np.flatnonzero(model.breaking(found)).tolist() == [0, 2, 3][:gone]
