"""What intruders learn from sensitive cells."""

import numpy as np
from tests.tabulate.municipality import people, salaries

from discreet.verbs.tabulate.printing.holder import exposed
from discreet.verbs.tabulate.protection import protect
from discreet.verbs.tabulate.rules import parse_rules
from discreet.verbs.tabulate.tables.cells import Cells
from discreet.verbs.tabulate.tables.crosstable import Contributions, CrossTable, Dimension


def attacked(table, rules):
    cells = Cells.of(table)
    return {(cells.name(one.cell), one.attack): str(one) for one in exposed(cells, protect(cells, parse_rules(rules)))}


def test_the_three_attacks_on_the_municipalities():
    found = attacked(salaries(), "min=3; n=1,k=0.9")
    assert found.keys() == {("M1, P1", "internal"), ("M2, P3", "external"), ("M3, P5", "dominance")}
    assert "their figure: 22." in found["M2, P3", "external"]
    assert "from 360 and has the other's" in found["M1, P1", "internal"]
    assert "350 knows that the 4 others together have 13, and each of them no more" in found["M3, P5", "dominance"]


def test_counts_alone_tell_the_first_two():
    assert attacked(people(), "min=3").keys() == {("M1, P1", "internal"), ("M2, P3", "external")}


def test_the_second_largest_estimates_the_largest():
    side = Dimension.flat("c", ["a", "b"])
    largest = np.array([[80, 10], [80, 10], [5, 5]])
    table = CrossTable((side,), np.array([115, 100, 15]), "x", 0, Contributions(np.array([7, 4, 3]), largest))
    cells = Cells.of(table)
    (sentence,) = map(str, exposed(cells, protect(cells, parse_rules("p=15"))))
    assert sentence == (
        "a: whoever contributed 80 knows that the 3 others together have 20, and each of them no more. Whoever "
        "contributed 10 knows that the largest contribution is at most 90, which is 12.5 % too much."
    )


def test_what_is_safe_or_not_known_is_not_told():
    side = Dimension.flat("c", ["a", "b"])
    values = np.array([115, 100, 15])
    assert attacked(CrossTable((side,), values, "x"), "cells=a") == {}
    known = Contributions(np.array([70, 40, 30]), np.array([[10, 9], [10, 9], [5, 5]]))
    assert attacked(CrossTable((side,), values, "x", 0, known), "cells=a") == {}
