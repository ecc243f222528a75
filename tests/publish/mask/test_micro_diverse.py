"""Groups hold what the models ask for of a confidential column: the kernels steer by the same figures."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.card import Card, Column, Role
from discreet.core.kind import Kind
from discreet.errors import BadInput, NoPromise
from discreet.models.diversity import AlphaK, EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.noise.masking import generator
from discreet.verbs.publish.mask.micro.diverse import helps, satisfied
from discreet.verbs.publish.mask.micro.gather import LEFT, mdav
from discreet.verbs.publish.mask.micro.grouping import Grouping, confidential, form_groups, missing_patterns

CARD = Card("patients", (Column("age", Kind.INTEGER, Role.QUASI), Column("ill", Kind.TEXT, Role.SENSITIVE)))
MODELS = [
    LDiversity(3, "ill"),
    PSensitivity(2, 4, "ill"),
    EntropyLDiversity("2", "ill"),
    EntropyLDiversity("2.3", "ill"),
    RecursiveLDiversity("1.5", 2, "ill"),
    RecursiveLDiversity("3", 3, "ill"),
]
every = pytest.mark.parametrize("model", MODELS, ids=lambda model: model.claim.text)


def held(values, model):
    return confidential(CARD, pa.table({"age": list(range(len(values))), "ill": list(values)}), model, ("age",))


@every
@settings(max_examples=25, deadline=None)
@given(values=st.lists(st.sampled_from("abcde"), min_size=4, max_size=30))
def test_a_group_is_diverse_enough_for_the_kernels_exactly_if_it_is_for_the_model(model, values):
    one = held(values, model)
    counts = np.bincount(one.codes, minlength=len(one.domain))
    alone = np.zeros(len(values), np.int64)
    assert satisfied(counts, one.rule) == (not one.broken(np.arange(len(values)), alone).any())


@every
def test_what_helps_brings_a_group_there(model):
    one = held("aaaaaabbcde", model)
    counts = np.array([6, 0, 0, 0, 0])
    for _ in range(20):
        if satisfied(counts, one.rule):
            break
        wanted = helps(counts, one.rule)
        assert wanted.any()
        counts[np.flatnonzero(wanted)[0]] += 1
    assert satisfied(counts, one.rule)


@every
@pytest.mark.parametrize("algorithm", ["mdav", "cbfs", "v-mdav"])
def test_all_groups_are_diverse_enough_and_large_enough(model, algorithm):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(300, 3))
    one = held(rng.choice(list("abcd"), 300, p=[0.5, 0.25, 0.15, 0.1]), model)
    way = Grouping(4, algorithm, 1.1, 20, 1000, one.rule, one.broken)
    of = form_groups(points, np.arange(300), one.codes, way, generator(1))
    assert not one.broken(np.arange(300), of).any()
    assert np.bincount(of).min() >= 4
    assert len(np.bincount(of)) > 20


def test_a_group_takes_the_nearest_with_another_value_and_gives_back_the_farthest_that_it_can_spare():
    points = np.array([[0.0], [1], [2], [3], [4], [50], [51], [52], [53]])
    one = held("aaabaabab", LDiversity(2, "ill"))
    of, _ = mdav(points, 3, True, one.codes, one.rule)
    assert of[0] == of[1] == of[3]
    assert of[2] != of[0]


def test_when_a_value_runs_out_the_rest_join_others():
    points = np.arange(40.0)[:, None]
    one = held("b" * 3 + "a" * 37, LDiversity(2, "ill"))
    of, groups = mdav(points, 4, True, one.codes, one.rule)
    assert groups <= 3
    assert (of == LEFT).any()
    done = form_groups(
        points, np.arange(40), one.codes, Grouping(4, "mdav", 0.2, 0, 100, one.rule, one.broken), generator(1)
    )
    assert not one.broken(np.arange(40), done).any()


def test_groups_that_others_spoilt_are_repaired():
    """Many alike who are left join the nearest group, and its entropy falls: it is put together with others."""
    points = np.concatenate([np.zeros(60), np.arange(20.0) + 5])[:, None]
    one = held("a" * 60 + "bc" * 10, EntropyLDiversity("2", "ill"))
    of = form_groups(
        points, np.arange(80), one.codes, Grouping(4, "cbfs", 0.2, 0, 100, one.rule, one.broken), generator(1)
    )
    assert not one.broken(np.arange(80), of).any()


def test_rows_are_put_together_where_too_few_lack_the_same():
    there = np.array([[1, 1, 1]] * 6 + [[1, 1, 0]] * 2 + [[1, 0, 0]] * 3 + [[0, 1, 1]] * 5, dtype=bool)
    found = {tuple(shape): rows.tolist() for shape, rows in missing_patterns(there, lambda rows: len(rows) >= 4)}
    assert found == {
        (True, True, True): [0, 1, 2, 3, 4, 5],
        (True, False, False): [6, 7, 8, 9, 10],
        (False, True, True): [11, 12, 13, 14, 15],
    }


def test_equal_shapes_that_come_out_are_one():
    there = np.array([[1, 1]] * 1 + [[0, 0]] * 5 + [[1, 0]] * 5 + [[0, 1]] * 1, dtype=bool)
    found = missing_patterns(there, lambda rows: len(rows) >= 4)
    assert sorted(len(rows) for _, rows in found) == [6, 6]
    assert len({tuple(shape) for shape, _ in found}) == 2


def test_too_few_rows_are_refused_without_a_word_about_them():
    with pytest.raises(NoPromise, match="too few rows, or too few different values"):
        missing_patterns(np.ones((3, 2), bool), lambda rows: len(rows) >= 4)
    assert missing_patterns(np.ones((0, 2), bool), lambda rows: len(rows) >= 4) == []


def test_other_models_and_masked_columns_are_refused():
    with pytest.raises(BadInput, match="cannot be formed with"):
        held("ab", AlphaK("0.5", 2, "ill"))
    with pytest.raises(BadInput, match="masked and confidential at once"):
        confidential(CARD, pa.table({"age": [1], "ill": ["a"]}), LDiversity(2, "ill"), ("ill",))
