"""The search itself: classes are told apart exactly, nothing depends on memory or time but what is said to."""

import random
from collections import defaultdict

import numpy as np
import pytest
from tests.publish import exhaustive as slow

from discreet.models.diversity import EntropyLDiversity, LDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.utility.quality import ClassSize, Discernibility, Entropy, Granularity
from discreet.verbs.publish import generalize
from discreet.verbs.publish.generalize import Generalize
from discreet.verbs.publish.lattice import Lattice


def wide_case(columns, rows, seed, values=10):
    """Many columns with hierarchies of five levels each."""
    rng = random.Random(seed)  # noqa: S311
    paths = tuple(
        {f"{c}-{v}": (f"{c}-{v}", f"{c}-a{v // 2}", f"{c}-b{v // 4}", f"{c}-c{v // 8}") for v in range(values)}
        for c in range(columns)
    )
    drawn = (tuple(f"{c}-{rng.randrange(values)}" for c in range(columns)) for _ in range(rows))
    return slow.Case(tuple((quasi, rng.choice("ab")) for quasi in drawn), paths)


@pytest.mark.parametrize(("columns", "values"), [(1, 2), (3, 5), (9, 40), (15, 40), (40, 40)])
def test_labels_are_told_apart_exactly_however_many_bits_they_take(columns, values):
    case = wide_case(columns, 50, seed=columns, values=values)
    # Rows that differ in one column only, be it the first or the last, are the hard ones.
    base = case.rows[0][0]
    near = [(*base[:c], case.rows[1][0][c], *base[c + 1 :]) for c in range(columns)]
    tuples = slow.Case(case.rows + tuple((quasi, "a") for quasi in near), case.paths).tuples()
    space = Lattice(tuples, {})
    rng = random.Random(1)  # noqa: S311
    whole = space.whole(["s"])
    for node in [space.bottom, space.top, *(tuple(rng.randint(0, top) for top in space.top) for _ in range(20))]:
        lump, numbers = space.coarsen(whole, node)
        groups = tuples.groups(space.levels(node))
        pairs = set(zip(numbers.tolist(), groups.tolist(), strict=True))
        assert len(pairs) == len(set(numbers.tolist())) == len(set(groups.tolist())) == len(lump.members)
        assert (lump.classes.sizes == np.bincount(numbers, weights=tuples.counts)).all()
        again, _ = space.coarsen(lump, space.top)
        assert again.classes.sizes.tolist() == [tuples.rows]
        assert again.classes.spread("s").counts.tolist() == tuples.spreads["s"].whole.tolist()


def test_levels_that_tell_nothing_more_apart_are_not_tried():
    paths = {"a": ("a", "a", "x"), "b": ("b", "b", "x"), "c": ("c", "c", "y")}
    case = slow.Case(tuple(((value,), "s") for value in "ab"), (paths,))
    space = Lattice(case.tuples(), {})
    assert space.choices == ((0, 2),)  # 1 is 0 again, and x is all there is
    assert Lattice(case.tuples(), {"q0": range(1, 4)}).choices == ((1, 2),)


@pytest.mark.parametrize("seed", range(10))
def test_boxes_that_hold_no_classes_form_them_again(seed, monkeypatch):
    case = wide_case(4, 60, seed, values=6)
    models = [KAnonymity(3), EntropyLDiversity("3/2", "s"), LDiversity(2, "s")]
    for share in (0, "1/5"):
        for quality in (Granularity(), Entropy(), Discernibility(), ClassSize()):
            plain = Generalize(share, quality).search(case.tuples(), models)
            with monkeypatch.context() as patch:
                patch.setattr(generalize, "_HELD_CLASSES", 0)
                lean = Generalize(share, quality).search(case.tuples(), models)
            assert (plain.levels, plain.loss, plain.steps) == (lean.levels, lean.loss, lean.steps)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("quality", [Granularity("geometric"), ClassSize()], ids=str)
def test_a_search_that_is_stopped_says_how_far_from_the_best_it_may_be(seed, quality, monkeypatch):
    tuples = wide_case(4, 60, seed, values=6).tuples()
    best = Generalize("1/5", quality).search(tuples, [KAnonymity(3)])
    hasty = Generalize("1/5", quality, time_limit=0).search(tuples, [KAnonymity(3)])
    monkeypatch.setattr(generalize, "_LARGE_LATTICE_NODES", 1)
    monkeypatch.setattr(generalize, "_LARGE_LATTICE_BOXES", 5)
    large = Generalize("1/5", quality).search(tuples, [KAnonymity(3)])
    for found in (hasty, large):
        assert not found.optimal
        assert found.suppressed <= 12
        assert found.loss >= best.loss
        assert 0 < found.gap < np.inf
        assert found.loss - found.gap <= best.loss + 1e-12
        assert "stopped" in found.steps[0]
    assert large.loss <= hasty.loss


def test_a_lattice_of_billions_over_ten_rows_is_searched_to_the_end():
    case = wide_case(15, 10, seed=1)
    found = Generalize().search(case.tuples(), [KAnonymity(2)])
    assert Lattice(case.tuples(), {}).nodes > 10**10
    assert found.optimal
    levels = [found.levels[name] for name in case.names]
    assert min(map(len, case.classes(levels).values())) >= 2
    for column, level in enumerate(levels):  # nothing finer will do
        if level:
            finer = [*levels[:column], level - 1, *levels[column + 1 :]]
            classes = case.classes(finer)
            assert min(map(len, classes.values())) < 2 or classes.keys() == case.classes(levels).keys()


def test_the_order_of_rows_changes_nothing():
    case = wide_case(4, 40, seed=5, values=6)
    rows = list(case.rows)
    found = set()
    for seed in range(3):
        random.Random(seed).shuffle(rows)  # noqa: S311
        result = Generalize("1/10").search(slow.Case(tuple(rows), case.paths).tuples(), [KAnonymity(3)])
        found.add((tuple(result.levels.values()), result.loss, result.steps))
    assert len(found) == 1


def test_rows_that_are_repeated_change_nothing_but_their_number():
    case = wide_case(3, 40, seed=7, values=6)
    tuples = case.tuples()
    many = slow.Case(case.rows * 25, case.paths).tuples()
    one = Generalize("1/10").search(tuples, [KAnonymity(3)])
    all_ = Generalize("1/10").search(many, [KAnonymity(75)])
    assert (one.levels, one.suppressed * 25) == (all_.levels, all_.suppressed)
    assert one.loss == pytest.approx(all_.loss)
    sizes = defaultdict(int)
    for count in many.counts:
        sizes[int(count) % 25] += 1
    assert list(sizes) == [0]
