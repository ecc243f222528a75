"""Howell's form against all combinations, tried one by one."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.verbs.combine.symbolic.howell_form import HowellForm
from discreet.verbs.combine.symbolic.symbols import Draw, Value

COLUMNS = tuple(map(Value, "ab"))
ALL = (Draw("x", "r"), Draw("x", "s"), *COLUMNS)


@st.composite
def matrices(draw):
    bits = draw(st.integers(1, 3))
    row = st.tuples(*[st.integers(0, (1 << bits) - 1)] * len(ALL))
    return bits, draw(st.lists(row, max_size=3))


def combinations_of(bits, rows, width):
    """Everything that the rows add up to, with all factors."""
    modulus = 1 << bits
    return {
        tuple(sum(f * row[at] for f, row in zip(factors, rows, strict=True)) % modulus for at in range(width))
        for factors in product(range(modulus), repeat=len(rows))
    }


@given(matrices())
@settings(max_examples=150, deadline=None)
def test_what_follows_without_the_unknown_is_all_that_follows(case):
    bits, rows = case
    found = HowellForm.spanning([dict(zip(ALL, row, strict=True)) for row in rows], COLUMNS, bits)
    true = {each[2:] for each in combinations_of(bits, rows, len(ALL)) if not any(each[:2])}
    assert combinations_of(bits, found.rows, len(COLUMNS)) == true
    for row in product(range(1 << bits), repeat=len(COLUMNS)):
        assert (dict(zip(COLUMNS, row, strict=True)) in found) is (row in true)


@given(matrices(), st.randoms(use_true_random=False), st.integers(0, 7))
@settings(max_examples=100, deadline=None)
def test_rows_that_say_the_same_have_the_same_form(case, random, factor):
    bits, rows = case
    changed = [list(row) for row in rows]
    random.shuffle(changed)
    for row in changed[1:]:
        row[:] = [mine + factor * first for mine, first in zip(row, changed[0], strict=True)]
    one, other = (
        HowellForm.spanning([dict(zip(ALL, row, strict=True)) for row in each], ALL, bits) for each in (rows, changed)
    )
    assert one == other


def test_twice_a_number_is_all_but_its_highest_bit():
    a, b = COLUMNS
    found = HowellForm.spanning([{a: 6, ALL[0]: 4}], COLUMNS, 3)
    assert found.rows == ((4, 0),)
    assert {a: 4} in found
    assert {a: 2} not in found
    assert {a: 4, b: 1} not in found
    assert {a: 4, ALL[0]: 1} not in found
