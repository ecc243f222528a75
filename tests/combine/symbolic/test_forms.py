"""Forms add up as vectors do, and read well."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import BadInput
from discreet.verbs.combine.group import Group
from discreet.verbs.combine.symbolic.forms import Draw, Form, Value

NORTH, EAST = Value("north"), Value("east")
R = Draw("north", "r")


def test_forms_are_added_and_subtracted():
    one, other, r = (Form.sum([variable]) for variable in (NORTH, EAST, R))
    assert one + r + other - r == Form.sum([NORTH, EAST])
    assert sum([one, other]) == Form.sum([EAST, NORTH])
    assert one - one == Form({})
    assert 0 - one == -one
    assert dict(r + r + r) == {R: 3}
    assert len({one + other, other + one}) == 1


def test_an_operation_leaves_its_operands_as_they_were():
    one, r = Form.sum([NORTH]), Form.sum([R])
    whole = one
    whole += r
    assert one == Form.sum([NORTH])
    assert whole == Form.sum([NORTH, R])


@pytest.mark.parametrize("bits", [1, 8, 64, 128])
def test_a_group_reduces_coefficients(bits):
    group = Group(bits)
    form = group.reduced(Form({NORTH: -1, EAST: group.modulus}))
    assert form % group.modulus == Form({NORTH: group.modulus - 1})


@pytest.mark.parametrize("what", [1, np.uint64(3), np.zeros(2, np.uint64), "text"])
def test_only_forms_are_added(what):
    with pytest.raises(BadInput, match="added to vectors only"):
        Form.sum([NORTH]) + what
    with pytest.raises(BadInput, match="added to vectors only"):
        what - Form.sum([NORTH])


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
    assert str(Form(parts)) == text
