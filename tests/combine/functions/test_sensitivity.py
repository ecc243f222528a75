"""What one unit can change: for every function that offers noise, the most that is found is what is declared.

Every neighbour of some small data is tried, with bounds on both sides of zero: for rows one that comes, for parties'
own numbers every other number in every place.
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import product

import pytest

from discreet.core.families import COMBINE_FUNCTIONS
from discreet.errors import NoPromise
from discreet.verbs.combine.data import Data
from discreet.verbs.combine.terms import Terms

BOUNDS = [(-7, 3), (-9, -4), (2, 9), (0, 5), (4, 4)]
ROWS = {
    "sum of=x": ["x"],
    "count": ["x"],
    "mean of=x": ["x"],
    "variance of=x": ["x"],
    "histogram of=x edges={low},{middle},{high}": ["x"],
    "histogram of=c:a|b|c": ["c"],
    "table of=c:a|b|c,d:no|yes": ["c", "d"],
    "bayes y=d:no|yes x=c:a|b|c,x": ["c", "d", "x"],
}
OWN = {"sum": 1, "sum length=3": 3}


def terms_of(text, low, high):
    text = text.format(low=low, middle=low + 1, high=max(high, low + 2))
    return Terms(("north", "south"), function=text, low=Fraction(low), high=Fraction(high), epsilon=Fraction(1))


def changes(asked, terms, pairs) -> Iterator[list[int]]:
    """What each pair of neighbours changes in the figures."""
    for one, other in pairs:
        before, after = (asked.local(Data.from_value(data), terms) for data in (one, other))
        yield [abs(int(b) - int(a)) for a, b in zip(before, after, strict=True)]


def check(asked, terms, pairs):
    """The largest change, and the largest sum of squares, of each lot of figures."""
    found = list(changes(asked, terms, pairs))
    at = 0
    for some in asked.sensitivities(terms):
        lot = [one[at : at + some.length] for one in found]
        assert max(map(sum, lot)) == some.l1 or not any(map(any, lot))
        assert max(sum(n * n for n in one) for one in lot) <= (some.l2_squared or some.l1**2)
        at += some.length
    assert all(len(one) == at for one in found)


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@pytest.mark.parametrize("text", ROWS)
def test_a_row_that_comes_changes_what_is_declared(text, low, high):
    terms = terms_of(text, low, high)
    asked = COMBINE_FUNCTIONS.parse(terms.function)
    values = {"x": range(low, high + 1), "c": "abc", "d": ("no", "yes")}
    rows = list(product(*(values[name] for name in ROWS[text])))
    held = [rows[0], rows[-1]]

    def columns(some):
        return dict(zip(ROWS[text], zip(*some, strict=True), strict=True))

    check(asked, terms, ((columns(held), columns([*held, row])) for row in rows))
    assert not asked.replaces


@pytest.mark.parametrize(("low", "high"), BOUNDS)
@pytest.mark.parametrize("text", OWN)
def test_another_number_of_a_party_changes_what_is_declared(text, low, high):
    terms, ends = terms_of(text, low, high), sorted({low, (low + high) // 2, high})
    every = [list(some) for some in product(ends, repeat=OWN[text])]
    asked = COMBINE_FUNCTIONS.parse(terms.function)
    check(asked, terms, product(every, every))
    width = max(high - low, 1)
    assert asked.sensitivities(terms)[0].l2_squared == OWN[text] * width**2
    assert asked.replaces


def test_every_function_that_offers_noise_is_here():
    here = {text.split()[0] for text in (*ROWS, *OWN)}
    for name, kind in ((one.name, one.kind) for one in COMBINE_FUNCTIONS.entries()):
        if name not in here:
            with pytest.raises(NoPromise):
                kind.sensitivities(object.__new__(kind), terms_of("sum", 0, 1))
