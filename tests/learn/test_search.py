"""The search: planted models are found, sets are counted once, and a search that was stopped goes on."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.learn.planted import CARD, PLANTED, credit, rows

import discreet as dc
from discreet.engines.read import read
from discreet.errors import BadInput, DataError, NoPromise
from discreet.verbs.learn.learner import Learn
from discreet.verbs.learn.search import Pool, search
from discreet.verbs.learn.tree import DecisionTree

TREE = DecisionTree("default")


def found(learn, seed=1):
    return search(learn, learn.learner.frame(credit()), seed, lambda share, what: None)


@pytest.mark.parametrize("choose", ["accurate", "recurrent", "first"])
def test_the_planted_tree_is_found(choose):
    one = found(Learn(TREE, tries=80, choose=choose))
    assert one.model.to_dict() == PLANTED
    assert len(one.draws) >= 20
    sets = [one.pool.sample(draw) for draw in one.draws]
    assert len({each.tobytes() for each in sets}) == len(sets)
    assert not set.intersection(*({*each.nonzero()[0]} for each in sets))


@pytest.mark.slow
def test_several_processes_find_the_same():
    alone, together = found(Learn(TREE, tries=60)), found(Learn(TREE, tries=60, processes=2))
    assert alone.draws == together.draws


@pytest.mark.slow
def test_a_script_that_each_process_runs_again_is_told_what_to_do(tmp_path):
    script = "from tests.learn.test_search import *\nfound(Learn(TREE, tries=60, processes=2))\n"
    (tmp_path / "script.py").write_text(script)
    ran = subprocess.run(
        [sys.executable, tmp_path / "script.py"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        env=os.environ | {"PYTHONPATH": str(Path.cwd())},
    )
    assert "BadInput: One of the 2 processes of the search ended unexpectedly." in ran.stderr


def test_samples_have_the_sizes_that_were_said_and_leave_out_who_is_set_aside():
    learn = Learn(TREE, sample=(0.25, 0.5), test=0.1)
    pool = Pool.of(learn, 600, 5)
    assert [int(pool.sample(draw).sum()) for draw in range(3)] == [135, 270, 135]
    assert int((~pool.everybody).sum()) == 60
    assert not (pool.sample(9) & ~pool.everybody).any()


def test_nobody_may_be_in_all_samples():
    """Of samples of nearly everybody some people are in all, however often they recur."""
    with pytest.raises(NoPromise, match="no person in common") as refused:
        found(Learn(dc.Statistics("mean", ("age",), step=1.0), sample=0.99, tries=30, integral=20))
    assert "larger step" in refused.value.hint


def test_what_does_not_recur_is_refused_and_says_what_to_do():
    with pytest.raises(NoPromise, match="no model recurred for 20 different samples") as refused:
        found(Learn(dc.Statistics("mean", ("income",), step=1e-6), tries=40))
    assert "coarser model" in refused.value.hint


def test_a_search_goes_on_where_it_was(tmp_path):
    place = tmp_path / "journal"
    whole = found(Learn(TREE, tries=60))
    seen = []

    def stop(share, what):
        seen.append(what)
        if share > 0.5:
            raise KeyboardInterrupt

    learn = Learn(TREE, tries=60, journal=place)
    with pytest.raises(KeyboardInterrupt):
        search(learn, TREE.frame(credit()), 1, stop)
    assert place.stat().st_mode & 0o777 == 0o600
    head, *lines = map(json.loads, place.read_text().splitlines())
    assert (head["seed"], head["given"]) == ("1", True)
    assert [one["draw"] for one in lines] == list(range(40))
    place.write_text(place.read_text() + '{"draw": 40, "mo')  # as a stopped process may leave it
    again = found(learn, seed=None)
    assert again.draws == whole.draws
    assert again.journal.seed == 1  # a seed that was given once is not forgotten
    assert len(place.read_text().splitlines()) == 61
    assert seen[0].startswith("20 samples; a model came ")


def test_a_seed_that_was_drawn_is_none_that_was_given(tmp_path):
    learn = Learn(TREE, tries=40, journal=tmp_path / "journal")
    assert found(learn, seed=None).journal.seed is None
    assert found(learn, seed=None).journal.seed is None


def test_a_search_that_found_nothing_goes_on_with_more_tries(tmp_path):
    place = tmp_path / "journal"
    coarse = dc.Statistics("mean", ("age",), step=0.1)
    with pytest.raises(NoPromise):
        found(Learn(coarse, tries=20, sample=(0.5, 0.01), journal=place))
    assert len(place.read_text().splitlines()) == 21
    assert found(Learn(coarse, tries=60, sample=(0.5, 0.01), journal=place)).draws[0] < 20
    assert len(place.read_text().splitlines()) == 61


def test_a_journal_that_is_not_right_is_taken_away(tmp_path):
    place = tmp_path / "journal"
    learn = Learn(dc.Statistics("mean", ("age",), step=0.001), tries=40, journal=place)
    with pytest.raises(NoPromise):
        dc.learn(credit(), learn)
    head, *lines = map(json.loads, place.read_text().splitlines())
    place.write_text("".join(json.dumps(one) + "\n" for one in [head, *(line | {"model": "same"} for line in lines)]))
    with pytest.raises(NoPromise, match="no longer yield the model") as refused:
        dc.learn(credit(), learn)
    assert "journal" in refused.value.hint
    assert not place.exists()


def test_people_of_whom_nothing_is_known_do_not_make_sets_different():
    """Two of 200 have a value: whoever else is in a sample, four sets are all there are."""
    card = dc.Card("few", (dc.Column("x", "real", bounds=(0, 10)), dc.Column("y", "real", bounds=(0, 10))))
    x = pa.array([5.0, 5.0, *[None] * 198])
    with pytest.raises(DataError, match="1 person has fewer"):
        dc.learn(read(pa.table({"x": x}), dc.Card("few", card.columns[:1])), Learn(dc.Statistics(), tries=60))
    both = read(pa.table({"x": x, "y": np.linspace(4.9, 5.1, 200)}), card)
    with pytest.raises(NoPromise):
        dc.learn(both, Learn(dc.Statistics(step=0.5), tries=60))
    learnt = dc.learn(both, Learn(dc.Statistics(columns=("y",), step=0.5), tries=60))
    assert dc.load_model(learnt.payload).figures == {"y": 5.0}


def test_other_people_with_the_same_rows_are_the_same_set():
    alike = read(pa.table({"x": [5.0] * 60}), dc.Card("few", (dc.Column("x", "real", bounds=(0, 10)),)))
    with pytest.raises(NoPromise):
        dc.learn(alike, Learn(dc.Statistics(), tries=60))


def test_whether_there_are_enough_samples_is_known_at_once():
    begun = time.process_time()
    assert Learn(TREE).sizes(1_000_000) == (500_000,)
    assert time.process_time() - begun < 1
    with pytest.raises(DataError):
        Learn(TREE, integral=11).sizes(5)
    assert Learn(TREE, integral=10).sizes(5) == (2,)  # 5 over 2 is 10


def test_a_journal_of_another_search_is_not_gone_on_with(tmp_path):
    place = tmp_path / "journal"
    found(Learn(TREE, tries=40, journal=place))
    with pytest.raises(BadInput, match="another search"):
        found(Learn(DecisionTree("default", grid=5), journal=place))
    place.write_text("what?\n")
    with pytest.raises(DataError, match="not the journal"):
        found(Learn(TREE, journal=place))


@pytest.mark.parametrize("count", [0, 1, 5])
def test_too_few_people_are_refused(count):
    with pytest.raises(DataError, match="fewer than 20 different samples"):
        dc.learn(read(rows(5).slice(0, count), CARD), Learn(TREE))


def test_where_everybody_is_alike_a_leaf_is_all_there_is():
    alike = rows(100).set_column(4, "default", pa.array(["yes"] * 100))
    release = dc.learn(read(alike, CARD), Learn(TREE, tries=30))
    assert release.payload["tree"] == {"answer": "yes"}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"integral": 1}, "at least 2"),
        ({"tries": 5}, "from 20 up"),
        ({"sample": 1.0}, "share of the people"),
        ({"sample": ()}, "share of the people"),
        ({"test": 0}, "test must be a number"),
        ({"choose": "best"}, "choose must be accurate"),
        ({"epsilon": 0}, "above 0"),
    ],
)
def test_what_cannot_be_searched_for(said, words):
    with pytest.raises(BadInput, match=words):
        Learn(TREE, **said)
    with pytest.raises(BadInput, match="is not a learner"):
        Learn("tree")
