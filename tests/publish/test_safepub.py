"""SafePub: δ by enumeration, the law of the sample followed path by path, and what it says beforehand."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.noise.bits import Repeatable, check_law

from discreet.core.card import Card, Column, Role
from discreet.core.exact import exp_upper
from discreet.core.hierarchy.intervals import Intervals
from discreet.core.hierarchy.taxonomy import Taxonomy
from discreet.core.kind import Kind
from discreet.core.loss import Approximate
from discreet.core.statement import Claim
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise, NotDeclared
from discreet.noise.entropy import SYSTEM, Entropy
from discreet.verbs.publish import safepub
from discreet.verbs.publish.safepub import SafePub, covers, smallest_k


def law(n, beta, k):
    """What leaves of a class of n: 0, or how many of at least k."""
    found = Counter()
    for j in range(n + 1):
        found[j if j >= k else 0] += math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
    return found


def excess(one, other, factor):
    """The smallest δ for which ``one`` is within ``factor`` of ``other``, over all events."""
    return sum(max(p - factor * other[outcome], 0) for outcome, p in one.items())


def delta(epsilon, beta, k, most):
    """The smallest δ for all pairs of neighbours with classes of up to ``most``: both ways, nothing left out."""
    factor = exp_upper(epsilon)
    laws = [law(n, beta, k) for n in range(most + 1)]
    pairs = [(laws[n], laws[n + 1]) for n in range(most)]
    return max(max(excess(a, b, factor), excess(b, a, factor)) for a, b in pairs)


@pytest.mark.parametrize(
    ("epsilon", "target", "part"),
    [("1/2", "1/100", 1), ("1/2", "1/1000", 2), ("1", "1/1000", 1), ("1", "1/1000", 2), ("2", "1/1000", 4)],
)
def test_k_is_the_smallest_for_which_the_enumerated_delta_is_enough(epsilon, target, part):
    epsilon, target = Fraction(epsilon), Fraction(target)
    beta = Fraction(int(256 * (1 - math.exp(-epsilon)) / part), 256)
    k = smallest_k(epsilon, target, beta)
    most = 2 * k + 20
    assert delta(epsilon, beta, k, most) <= target
    assert k > 1
    assert delta(epsilon, beta, k - 1, most) > target


@pytest.mark.parametrize("epsilon", ["1", "1e-3", "1e-6", "1e-8"])
def test_the_divergence_that_classes_are_skipped_by_does_not_cancel(epsilon):
    """Below an epsilon of 1e-7 it was off by more than the part in a billion that is left for it."""
    one, context = safepub._largest_rate(Fraction(epsilon)) / 2, Context(prec=60)
    rest = (1 - one) / exp_upper(Fraction(epsilon))

    def ln(x):
        return context.ln(context.divide(Decimal(x.numerator), Decimal(x.denominator)))

    true = Fraction(ln((1 - rest) / one)) * (1 - rest) + Fraction(ln(rest / (1 - one))) * rest
    assert abs(safepub._divergence(rest, one) / true - 1) < 1e-12


def test_large_classes_need_less_than_small_ones():
    """The last m that is summed is not where it ends: far beyond it the excess is smaller still."""
    epsilon, beta = Fraction(1), Fraction(1, 4)
    k = smallest_k(epsilon, Fraction(1, 100), beta)
    factor = exp_upper(epsilon)
    assert all(excess(law(m, beta, k), law(m - 1, beta, k), factor) < Fraction(1, 100) for m in (100, 200, 300))


def test_a_rate_above_the_bound_is_refused():
    """β <= 1 - e^-ε: above it, not to see a class at all may be too unlikely with somebody in it."""
    beta = Fraction(3, 4)
    assert excess(law(0, beta, 1), law(1, beta, 1), exp_upper(Fraction(1))) > Fraction(1, 4)
    with pytest.raises(BadInput, match="too large"):
        SafePub(1, "1/1000", {"a": 0}, sample=beta)
    with pytest.raises(BadInput, match="multiple"):
        covers(Fraction(1), Fraction(1, 100), Fraction(1, 3), 5)


def published_bound(epsilon, beta, k, most):
    """Li, Qardaji and Su 2012: the tail above γm, without the bracket."""
    gamma = 1 - (1 - beta) / exp_upper(epsilon)
    sums = []
    for m in range(k, most):
        first = max(k, math.floor(gamma * m) + 1)
        sums.append(sum(math.comb(m, j) * beta**j * (1 - beta) ** (m - j) for j in range(first, m + 1)))
    return max(sums)


def test_k_is_no_larger_than_by_the_published_bound():
    epsilon, target, beta = Fraction(1), Fraction(1, 1000), Fraction(1, 2)
    k = smallest_k(epsilon, target, beta)
    theirs = next(k for k in range(1, 100) if published_bound(epsilon, beta, k, 4 * k + 20) <= target)
    assert k < theirs < 2 * k


@pytest.mark.parametrize(
    ("epsilon", "sample", "k", "people"), [("0.1", 0.0476, 16, 337), ("1", 0.3161, 18, 57), ("2", 0.4323, 19, 44)]
)
def test_what_it_takes_is_known_beforehand(epsilon, sample, k, people):
    method = SafePub(epsilon, "1e-6", {"zip": 1, "disease": 0})
    assert (round(float(method.sample), 4), method.k, method.people) == (sample, k, people)
    assert f"if {people} people share it" in str(method)


def test_more_epsilon_or_more_delta_never_needs_a_larger_class():
    beta = Fraction(1, 8)
    ks = [smallest_k(Fraction(e, 4), Fraction(1, 10**6), beta) for e in range(1, 9)]
    assert ks == sorted(ks, reverse=True)
    ks = [smallest_k(Fraction(1), Fraction(1, 10**d), beta) for d in range(1, 9)]
    assert ks == sorted(ks)
    assert covers(Fraction(1), Fraction(1, 100), beta, 10_000)


CARD = Card(
    "people",
    (
        Column("id", Kind.INTEGER, Role.IDENTIFIER),
        Column("age", Kind.INTEGER, Role.QUASI, bounds=(0, 120), hierarchy=Intervals(widths=(20,))),
        Column("city", Kind.TEXT, Role.QUASI, hierarchy=Taxonomy.from_tree({"north": ["a", "b"], "south": ["c"]})),
        Column("disease", Kind.TEXT, Role.SENSITIVE),
    ),
)
LEVELS = {"age": 1, "city": 1, "disease": 0}


def people(*counted):
    """So many rows of each (age, city, disease)."""
    rows = [row for row, count in counted for _ in range(count)]
    ages, cities, diseases = zip(*rows, strict=True)
    return read(pa.table({"id": range(len(rows)), "age": ages, "city": cities, "disease": diseases}), CARD)


class Heads(Entropy):
    """Coins that always show heads."""

    __slots__ = ()

    def words(self, count):
        return np.zeros(count, dtype=np.uint64)


def test_rows_leave_generalised_without_small_classes_in_the_order_of_their_content():
    method = SafePub(1, "1/100", LEVELS)
    table = people(
        ((25, "a", "flu"), method.k),
        ((31, "b", "flu"), 1),  # the same class as the first
        ((25, "a", None), method.k),
        ((99, "c", "cold"), method.k - 1),  # too few, whatever the coins say
        ((None, "x", "cold"), method.k),  # the hierarchy does not know x
    )
    out = method.run(table, Heads())
    assert Counter(map(tuple, (row.values() for row in out.to_pylist()))) == {
        ("20-39", "north", "flu"): method.k + 1,
        ("20-39", "north", None): method.k,
        (None, None, "cold"): method.k,
    }
    assert out.equals(out.sort_by([(name, "ascending") for name in LEVELS]))
    (claim,) = method.promise(CARD).models
    assert method.holds(claim, out)
    assert not method.holds(claim, out.slice(0, out.num_rows - 1))
    assert not method.holds(Claim("k-anonymity", "2-anonymous", {"k": 2}), out)
    assert method.pictures(out)
    assert not method.pictures(out.slice(0, 0))


class OneByOne(Entropy):
    """Flips every coin of many for itself, so that each is a choice that can be followed."""

    def __init__(self, inner):
        self._inner = inner

    def flips(self, p, count):
        return np.array([self._inner.flip(p) for _ in range(count)], dtype=np.bool_)


def test_the_law_of_what_leaves_is_the_one_that_was_enumerated():
    """Every path of the coins, for a class of 3 and k = 2."""

    class Two(SafePub):
        k = 2

    method = Two(1, "1/100", {"disease": 0}, sample="1/4")
    table = people(((25, "a", "flu"), 3))
    true = {size: float(p) for size, p in law(3, method.sample, 2).items()}
    check_law(lambda entropy: method.run(table, OneByOne(entropy)).num_rows, true)


def test_many_coins_are_flipped_in_blocks():
    p, n = Fraction(1, 4), 2_100_000
    heads = safepub._heads(p, n, Repeatable(1))
    assert abs(heads - n / 4) < 6.2 * math.sqrt(n * 3 / 16)
    assert safepub._heads(Fraction(1), n, SYSTEM) == n


def test_the_promise_is_the_loss_and_what_it_rests_on():
    statement = SafePub(1, "1e-6", LEVELS).promise(CARD)
    assert statement.loss == Approximate(1, "1e-6")
    assert statement.unit == "person"
    assert [claim.name for claim in statement.models] == ["k-anonymity"]
    assert any("chosen independently of the data" in sentence for sentence in statement.assumes)


def test_what_cannot_be_promised_is_refused_before_any_row_is_seen():
    several = Card(CARD.name, CARD.columns, unit="id", rows_per_unit=3)
    with pytest.raises(NoPromise, match="3 rows"):
        SafePub(1, "1e-6", LEVELS).promise(several)
    with pytest.raises(NotDeclared, match="how many rows"):
        SafePub(1, "1e-6", LEVELS).promise(Card(CARD.name, CARD.columns, unit="id"))
    with pytest.raises(BadInput, match="from 0 to 2, not 5"):
        SafePub(1, "1e-6", {"age": 5}).promise(CARD)
    with pytest.raises(BadInput, match="is an identifier"):
        SafePub(1, "1e-6", {"id": 1}).promise(CARD)
    with pytest.raises(BadInput, match="No column"):
        SafePub(1, "1e-6", {})
    for wrong in ({"epsilon": 0}, {"delta": 0}, {"delta": 1}, {"sample": 0}):
        with pytest.raises(BadInput):
            SafePub(**({"epsilon": 1, "delta": "1e-6", "levels": LEVELS} | wrong))


def test_a_hierarchy_may_be_given_where_the_card_has_none():
    bare = Card(CARD.name, tuple(Column(c.name, c.kind, c.role) for c in CARD.columns))
    with pytest.raises(BadInput, match="from 0 to 1"):
        SafePub(1, "1/100", {"age": 2}).promise(bare)
    method = SafePub(1, "1/100", {"age": 1}, hierarchies={"age": Intervals(widths=(20,))})
    method.promise(bare)
    table = people(((25, "a", "flu"), 2 * method.k))
    out = method.run(read(table.fetch(), bare), Heads())
    assert set(out["age"].to_pylist()) == {"20-39"}
    assert method.parameters["hierarchies"]["age"]["type"] == "intervals"
