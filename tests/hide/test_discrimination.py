from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from tests.hide.decided import credits

from discreet.errors import BadInput, NotFound
from discreet.verbs.hide.discrimination import Disparity, contrasted, discriminating, disparity
from discreet.verbs.hide.transactions import Transactions

F = "sex=f"
BAD = "credit=bad"


def test_measures_by_hand() -> None:
    """Of 20 women 12 are turned down, of 80 men 16: 60 % against 20 %, and 28 % of all."""
    one = Disparity(frozenset({F}), frozenset(), BAD, 20, 12, 80, 16)
    assert one.confidence == Fraction(3, 5)
    assert one.elift == Fraction(60, 28)
    assert one.slift == 3
    assert one.olift == Fraction(12 * 64, 8 * 16)
    assert str(one) == "sex=f => credit=bad: 12 of 20, elift 2.14, slift 3.00"


def test_measures_at_their_ends() -> None:
    one = Disparity(frozenset({F}), frozenset(), BAD, 10, 5, 10, 0)
    assert (one.slift, one.olift) == (math.inf, math.inf)
    alone = Disparity(frozenset({F}), frozenset(), BAD, 10, 5, 0, 0)
    assert (alone.elift, alone.slift, alone.olift) == (1, 1, 1)
    nobody = Disparity(frozenset({F}), frozenset(), BAD, 10, 0, 10, 0)
    assert (nobody.elift, nobody.slift) == (1, 1)


@pytest.mark.parametrize("measure", ["elift", "slift", "olift"])
def test_every_rule_is_found_and_counted_right(measure: str) -> None:
    held = Transactions.of(credits(400))
    told = discriminating(held, protected=[F], decision=BAD, least=8, alpha="6/5", measure=measure)  # type: ignore[arg-type]
    free = [item for item in held.items if item not in {F, BAD}]
    right = set()
    for context in (frozenset(chosen) for size in range(3) for chosen in combinations(free, size)):
        one = disparity(held, {F}, context, BAD)
        if one is not None and one.hit >= 8:
            assert one in (*told.direct, *told.protective)
            if one.measured(measure) >= Fraction(6, 5):  # type: ignore[arg-type]
                right.add(one)
    assert set(told.direct) == right
    assert right
    figures = [one.measured(told.measure) for one in told.direct]
    assert figures == sorted(figures, reverse=True)


def test_a_redlining_rule_tells_less_than_the_direct_one_is() -> None:
    """The bound is one from below, by the argument beside it; here by counting."""
    held = Transactions.of(credits(1000, red=True))
    told = discriminating(held, protected=[F], decision=BAD, least=10, alpha="11/10")
    assert told.indirect
    assert any("zip=1" in one.given for one in told.indirect)
    for one in told.indirect:
        direct = disparity(held, one.protected, one.context, BAD)
        assert direct is not None
        assert one.bound <= direct.elift
    assert "implies sex=f" in str(told.indirect[0])


def test_independent_decisions_do_not_discriminate() -> None:
    rng = np.random.default_rng(1)
    rows = [(("sex=m", F)[a], ("credit=good", BAD)[b]) for a, b in rng.integers(0, 2, (4000, 2))]
    told = discriminating(Transactions.of(rows), protected=[F], decision=BAD, least=100, alpha="6/5")
    assert (told.direct, told.indirect) == ((), ())


def test_contrasted_lift() -> None:
    rows = (
        [["r=a", "no"]] * 6 + [["r=a"]] * 4 + [["r=b", "no"]] * 2 + [["r=b"]] * 8 + [["r=c", "no"]] * 3 + [["r=c"]] * 3
    )
    held = Transactions.of(rows)
    rule = disparity(held, {"r=a"}, (), "no")
    assert rule is not None
    assert contrasted(held, rule) == 3
    only = Transactions.of([["r=a", "no"]])
    single = disparity(only, {"r=a"}, (), "no")
    assert single is not None
    assert contrasted(only, single) == 1
    with pytest.raises(BadInput, match="attribute=value"):
        contrasted(held, Disparity(frozenset({"x"}), frozenset(), "no", 1, 1, 0, 0))


def test_what_is_wrong_is_said() -> None:
    held = Transactions.of(credits(50))
    with pytest.raises(BadInput, match="No item is declared"):
        discriminating(held, protected=[], decision=BAD, least=1, alpha=2)
    with pytest.raises(NotFound, match="no item 'sex=g'"):
        discriminating(held, protected=["sex=g"], decision=BAD, least=1, alpha=2)
    with pytest.raises(BadInput, match="protected as well"):
        discriminating(held, protected=[BAD], decision=BAD, least=1, alpha=2)
    with pytest.raises(BadInput, match="above 1"):
        discriminating(held, protected=[F], decision=BAD, least=1, alpha=1)
    with pytest.raises(BadInput, match="no measure 'lift'"):
        discriminating(held, protected=[F], decision=BAD, least=1, alpha=2, measure="lift")  # type: ignore[arg-type]
    assert disparity(Transactions.of([("a",)], items=[F, BAD]), [F], (), BAD) is None
