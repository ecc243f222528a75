"""Sums over atoms: which contributor can be estimated by whom, in systems that can be worked through by hand."""

from __future__ import annotations

from fractions import Fraction
from math import inf

import numpy as np
import pyarrow as pa
import pytest

from discreet.releases import joint_sums
from discreet.releases.atoms import People, Space
from discreet.releases.joint_counts import TooLarge
from discreet.releases.joint_sums import Closeness, SumSystem, SumTarget, _too_close
from discreet.releases.records import Told
from discreet.verbs.attack.intruder.determined import Verdict

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)


def system(atoms, figures, *, nonnegative=True, units=True):
    """Atoms as what each unit has in them, and figures as the atoms each adds up with its least and largest value.

    Without units, the numbers say how many rows are alike.
    """
    rows = [(unit, atom, amount) for atom, own in enumerate(atoms) for unit, amount in own.items()]
    unit, atom, amount = map(list, zip(*rows, strict=True))
    copies = np.array([1 if units else number for number in unit])
    people = People(
        pa.array([str(n) for n in range(len(rows))]),
        pa.array(unit, pa.int64()) if units else pa.nulls(len(rows)),
        copies,
        np.array(atom),
        {},
        {"pay": np.array(amount, float)},
    )
    told = []
    for number, (covered, low, high) in enumerate(figures, 1):
        group = np.where(np.isin(np.arange(len(atoms)), list(covered)), 0, -1)
        one, none = np.zeros(1, np.int64), np.empty(0, np.int64)
        figure = np.array([low], float), np.array([high], float)
        told.append(
            Told(number, "", group, (), ((),), none, 1, np.array([0, 1]), one, *figure, one, "pay", nonnegative)
        )
    return SumSystem.of(Space(people, tuple(told)), told)


def verdict(made, unit, *atoms, share=HALF, deadline=inf, known=lambda how: False):
    return made.estimated(SumTarget(unit, atoms), share, deadline, known)


def test_a_system_has_the_sums_of_atoms_and_the_figures_over_them():
    made = system([{1: 5, 2: 3}, {2: 7}, {3: 4}, {4: 9}], [({0, 1}, 15, 15), ({2}, 4, inf)])
    assert made.sums.tolist() == [8, 7, 4, 9]
    assert made.matrix.toarray().tolist() == [[1, 1, 0, 0], [0, 0, 1, 0]]
    assert (made.low.tolist(), made.high.tolist(), made.floor.tolist()) == ([15, 4], [15, inf], [0] * 4)
    assert made.part[0] == made.part[1] >= 0 and made.part[2] >= 0 and made.part[3] == -1
    assert made.part[0] != made.part[2]
    assert [sorted(made.contributions[atom].values()) for atom in (0, 1, 2)] == [[3, 5], [7], [4]]
    assert sorted(map(sorted, (own.items() for own in made.by_unit.values()))) == [
        [(0, 3.0), (1, 7.0)],
        [(0, 5.0)],
        [(2, 4.0)],
    ]
    assert system([{1: 5}], [({0}, 5, 5)], nonnegative=False).floor.tolist() == [-inf]


def test_rows_without_a_unit_are_contributors_of_their_own():
    """Two rows of 4 that are alike, and one of 3."""
    made = system([{2: 4, 1: 3}], [({0}, 11, 11)], units=False)
    assert made.sums.tolist() == [11]
    assert sorted(made.contributions[0].values()) == [3, 4, 4]
    assert len(made.by_unit) == 3


@pytest.mark.parametrize(("rest", "close"), [(4, True), (5, False), (6, False)])
def test_a_contributor_is_too_close_if_the_rest_is_less_than_the_share(rest, close):
    """The second of 10, 7 and the rest takes off 7: what is left is 10 and the rest, which must be 15 or more."""
    made = system([{1: 10, 2: 7, 3: rest}], [({0}, 17 + rest, 17 + rest)])
    largest = next(unit for unit, own in made.by_unit.items() if own[0] == 10)
    assert (SumTarget(largest, (0,)) in set(made.candidates(HALF, (), inf))) is close
    assert verdict(made, largest, 0) is (Verdict.DETERMINED if close else Verdict.FREE)


@pytest.mark.parametrize(("high", "found"), [(21, "DETERMINED"), (21.75, "DETERMINED"), (22, "FREE"), (inf, "FREE")])
def test_a_figure_that_is_known_within_an_interval_is_as_large_as_it_may_be(high, found):
    made = system([{1: 10, 2: 7, 3: 4}], [({0}, 20, high)])
    assert verdict(made, 0, 0) is Verdict[found]


def test_anybody_knows_less_than_a_contributor():
    made = system([{1: 100, 2: 50, 3: 1}], [({0}, 151, 151)])
    assert verdict(made, 1, 0) is Verdict.DETERMINED
    assert verdict(made, 1, 0, share=Fraction(1, 100)) is Verdict.FREE
    assert made.verdict(SumTarget(1, (0,)), Closeness(HALF), inf) is Verdict.FREE
    assert made.verdict(SumTarget(1, (0,)), Closeness(HALF, 0), inf) is Verdict.DETERMINED


def test_that_somebody_has_nothing_is_looked_for_in_small_atoms_only():
    made = system([{1: 0, 2: 7}, {3: 0, 4: 7}, {1: 0, 5: 7}], [({0}, 7, 7), ({1}, 7, 7), ({2}, 7, 7)])
    nothing = {unit for unit, own in made.by_unit.items() if 0 in own.values()}
    found = {one.atoms for one in made.candidates(HALF, {0}, inf) if one.unit in nothing}
    assert found == {(0,)}
    assert verdict(made, min(nothing), 0) is Verdict.DETERMINED
    assert set(system([{1: 1, 2: 7}], [({0}, 8, 8)]).candidates(HALF, (), inf)) == {
        SumTarget(0, (0,)),
        SumTarget(1, (0,)),
    }
    assert (_too_close(0, HALF), _too_close(10, HALF), _too_close(1, Fraction(1))) == (0.5, 15, 2)


def test_a_sum_over_two_atoms_is_no_less_than_what_somebody_has_in_the_other():
    """Of 10 and 4 in one atom and 8 in the other, together 22: whoever has the 8 leaves 14, less than 15."""
    made = system([{1: 10, 2: 4}, {3: 8}], [({0, 1}, 22, 22)])
    assert verdict(made, 0, 0) is Verdict.DETERMINED
    assert verdict(made, 0, 0, share=Fraction(4, 10)) is Verdict.FREE
    assert verdict(made, 0, 0, deadline=-inf) is Verdict.UNDECIDED


@pytest.mark.parametrize(("most", "found"), [(2, "FREE"), (1, "UNDECIDED")])
def test_contributors_are_looked_at_one_by_one_up_to_a_number(monkeypatch, most, found):
    """Both others together would be too close to 10, and none of them alone is."""
    monkeypatch.setattr(joint_sums, "_MOST_CONTRIBUTORS", most)
    made = system([{1: 10, 2: 4}, {3: 4}], [({0, 1}, 18, 18)])
    assert verdict(made, 0, 0, share=TENTH) is Verdict[found]


def test_of_those_in_one_atom_the_largest_knows_the_most():
    made = system([{1: 10, 2: 4, 3: 6, 4: 5}, {4: 1, 5: 2, 6: 3}], [({0, 1}, 31, 31)])
    by_amount = {tuple(sorted(own.items())): unit for unit, own in made.by_unit.items()}
    target, second, both = by_amount[((0, 10.0),)], by_amount[((0, 6.0),)], by_amount[(0, 5.0), (1, 1.0)]
    first, other = by_amount[((0, 4.0),)], [by_amount[((1, 3.0),)], by_amount[((1, 2.0),)]]
    assert made._insiders(SumTarget(target, (0,))) == [[second, first], [both], other]
    assert made._others(target, (0, 1)) == {
        unit: sum(own.values()) for unit, own in made.by_unit.items() if unit != target
    }


def test_all_sets_of_atoms_are_looked_at_in_which_others_have_little():
    """In the last one two others have so much that nobody can tell what the first has there."""
    atoms = [{1: 5}, {1: 6, 2: 9}, {1: 7}, {1: 1, 3: 100, 4: 100}]
    made = system(atoms, [(set(range(4)), 228, 228)])
    found = [one.atoms for one in made.candidates(HALF, (), inf) if one.unit == 0]
    assert found == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]


@pytest.mark.parametrize(("high", "decided"), [(27, False), (29, False), (30, True), (inf, True)])
def test_of_many_atoms_the_single_ones_are_looked_at_if_all_may_have_more(monkeypatch, high, decided):
    """Half of 5, of 6 and of 7 more in each of the atoms is 3, 3 and 4 in whole numbers: 10 more than 18 and 2."""
    monkeypatch.setattr(joint_sums, "_MOST_UNION", 2)
    made = system([{1: 5}, {1: 6, 2: 2}, {1: 7}], [({0, 1, 2}, 20, high)])
    if decided:
        assert [one.atoms for one in made.candidates(HALF, (), inf) if one.unit == 0] == [(0,), (1,), (2,)]
    else:
        with pytest.raises(TooLarge):
            list(made.candidates(HALF, (), inf))
