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
    assert "from 360 to get the other's" in found["M1, P1", "internal"]
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
        "a: the respondent who contributed 80 knows that the 3 others together have 20, and each of them no "
        "more. The respondent who contributed 10 knows that the largest contribution is at most 90, which is "
        "12.5 % too much."
    )


def test_what_is_safe_or_not_known_is_not_told():
    side = Dimension.flat("c", ["a", "b"])
    values = np.array([115, 100, 15])
    assert attacked(CrossTable((side,), values, "x"), "cells=a") == {}
    known = Contributions(np.array([70, 40, 30]), np.array([[10, 9], [10, 9], [5, 5]]))
    assert attacked(CrossTable((side,), values, "x", 0, known), "cells=a") == {}


def told(contributions, known=3):
    """The attacks on a single cell with these contributions, of which the largest few are known."""
    ranks = (sorted(contributions, reverse=True) + [0] * known)[:known]
    about = Contributions(np.array([len(contributions)]), np.array([ranks]))
    table = CrossTable((Dimension("c", ("all",), (-1,)),), np.array([sum(contributions)]), "x", 0, about)
    return attacked(table, "cells=all")


def test_dominance_is_told_if_the_largest_has_more_than_all_but_the_two_largest():
    assert told([40, 30, 20, 20]) == {}  # the others have exactly 40
    (sentence,) = told([40, 30, 20, 19]).values()
    assert sentence == (
        "all: the respondent who contributed 40 knows that the 3 others together have 69, and each of them "
        "no more. The respondent who contributed 30 knows that the largest contribution is at most 79, which "
        "is 97.5 % too much."
    )
    assert told([0, 0, 0]) == {}
    assert list(told([40, 0, 0]).values()) == [
        "all: the respondent who contributed 40 knows that the 2 others together have 0, and each of them no more."
    ]
    (sentence,) = told([2, 1, 1]).values()
    assert sentence.endswith(
        "The respondent who contributed 1 knows that the largest contribution is at most 3, which is 50 % too much."
    )


def test_one_two_and_three_respondents():
    assert list(told([7]).items()) == [
        (
            ("all", "external"),
            "all: there is a single respondent; anyone who knows who it is learns their figure: 7.",
        )
    ]
    cells = told([7, 3])
    assert cells.keys() == {("all", "internal")}
    assert cells["all", "internal"] == (
        "all: the respondent who contributed 7 knows that the other has 3. The respondent who contributed 3 "
        "knows that the largest "
        "contribution is at most 7, which is exact."
    )
    assert told([7, 3, 1]).keys() == {("all", "dominance")}
    (sentence,) = told([7, 1, 1], known=1).values()
    assert (
        sentence
        == "all: the respondent who contributed 7 knows that the 2 others together have 2, and each of them no more."
    )


def test_whoever_is_alone_is_told_by_a_number_where_there_is_one():
    side = (Dimension.flat("c", ["a", "b"]),)
    for sole, attack in ((0, "external"), (5, "external"), (-1, None)):
        about = Contributions(np.array([9, 3, 6]), None, np.array([-1, sole, -1]))
        found = attacked(CrossTable(side, np.array([90, 30, 60]), "x", 0, about), "cells=a")
        assert found.keys() == ({("a", attack)} if attack else set())
    counts = CrossTable(side, np.array([5, 2, 3]))
    assert list(attacked(counts, "cells=a").values()) == ["a: there are two respondents, and each knows of the other."]
    assert attacked(CrossTable(side, np.array([5, 2, 3]), "", 1), "cells=a") == {}
