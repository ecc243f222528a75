"""Forms add up as vectors do, and read well."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.verbs.combine.group import ModularGroup
from discreet.verbs.combine.symbolic.symbols import Draw, LinearForm, Value

NORTH, EAST = Value("north"), Value("east")
R = Draw("north", "r")


def test_forms_are_added_and_subtracted():
    one, other, r = (LinearForm.sum([variable]) for variable in (NORTH, EAST, R))
    assert one + r + other - r == LinearForm.sum([NORTH, EAST])
    assert sum([one, other]) == LinearForm.sum([EAST, NORTH])
    assert one - one == LinearForm({})
    assert 0 - one == -one
    assert dict(r + r + r) == {R: 3}
    assert len({one + other, other + one}) == 1


def test_an_operation_leaves_its_operands_as_they_were():
    one, r = LinearForm.sum([NORTH]), LinearForm.sum([R])
    whole = one
    whole += r
    assert one == LinearForm.sum([NORTH])
    assert whole == LinearForm.sum([NORTH, R])


@pytest.mark.parametrize("bits", [1, 8, 64, 128])
def test_a_group_reduces_coefficients(bits):
    group = ModularGroup(bits)
    form = group.reduce(LinearForm({NORTH: -1, EAST: group.modulus}))
    assert form % group.modulus == LinearForm({NORTH: group.modulus - 1})


@pytest.mark.parametrize("what", [1, np.uint64(3), np.zeros(2, np.uint64), "text"])
def test_only_forms_are_added(what):
    with pytest.raises(BadInput, match="can only be added to another one"):
        LinearForm.sum([NORTH]) + what
    with pytest.raises(BadInput, match="can only be added to another one"):
        what - LinearForm.sum([NORTH])


@pytest.mark.parametrize(
    "parts, text",
    [
        ({EAST: 1}, "east's value"),
        ({NORTH: 1, EAST: 1}, "north + east"),
        ({NORTH: 1, EAST: -1}, "north - east"),
        ({NORTH: -2, EAST: 3}, "-2·north + 3·east"),
        ({EAST: 1, R: 1}, "east + (r of north)"),
        ({}, "0"),
    ],
)
def test_a_form_in_words(parts, text):
    assert str(LinearForm(parts)) == text
