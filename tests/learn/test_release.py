"""What is released, what stays, and whether the evidence holds for somebody who trusts nothing of the search."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.learn.planted import PLANTED, credit, in_order, rows, slow_tree

import discreet as dc
from discreet.core.report import render
from discreet.errors import BadInput, DataError, NotFound

LEARN = dc.Learn(dc.DecisionTree("default"), tries=60)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    release = dc.learn(credit(), LEARN, to=folder / "model", holder=folder / "generators")
    return release, folder


def test_the_evidence_holds_for_an_independent_checker(made):
    """Sets of people are read as they lie in the file, and a tree is grown of each in the plainest way."""
    release, folder = made
    packed = pq.read_table(folder / "generators").column("people").to_pylist()
    people = in_order(credit())
    sets = [np.flatnonzero(np.unpackbits(np.frombuffer(one, np.uint8), count=1500)) for one in packed]
    assert len({tuple(one) for one in sets}) == len(sets) >= 20
    assert not set(range(1500)).intersection(*map(set, sets))
    for one in sets[:3]:
        assert slow_tree([people[place] for place in one]) == release.payload == PLANTED
    said = dc.verify_integral(folder / "generators", credit(), release)
    assert said.holds
    assert str(said).startswith("It holds: ")
    assert said.generators == len(sets)


def test_evidence_that_does_not_hold_is_found_out(made):
    release, folder = made
    kept = dc.Generators.load(folder / "generators")
    twice = dc.Generators(**{**vars(kept), "sets": np.concatenate([kept.sets, kept.sets[:1]])})
    assert dc.verify_integral(twice, credit()).others == 1
    first = int(np.argmax(kept.who(0)))
    somebody = kept.sets[[place for place in range(len(kept.sets)) if kept.who(place)[first]]]
    one_in_all = dc.Generators(**{**vars(kept), "sets": somebody, "least": 2})
    said = dc.verify_integral(one_in_all, credit())
    assert not said.holds
    assert said.in_all >= 1
    few = dc.Generators(**{**vars(kept), "least": 10_000})
    assert not dc.verify_integral(few, credit()).holds
    other = dc.learn(credit(), dc.Learn(dc.Statistics("mean", ("age",), step=0.1), integral=10, tries=30))
    assert "another model" in str(dc.verify_integral(kept, credit(), other))
    few = dc.Generators(**{**vars(kept), "sets": kept.sets[:2]})
    assert dc.verify_integral(few, credit(), release).same_claim
    said = dc.verify_integral(replace(few, least=2), credit(), release)
    assert not said.same_claim
    assert "claims another number of sets" in str(said)
    elsewhere = replace(release, recipe=replace(release.recipe, parameters={**release.recipe.parameters, "grid": 5}))
    assert not dc.verify_integral(few, credit(), elsewhere).same_claim
    with pytest.raises(BadInput, match="do not belong to credit as it is now"):
        dc.verify_integral(kept, credit(300))
    assert release.holder.details[0].left_out >= 1


def test_what_leaves_holds_nothing_that_is_for_the_holder(made):
    _, folder = made
    loaded = dc.Release.load(folder / "model")
    assert loaded.payload == PLANTED
    assert loaded.private
    assert (folder / "generators").stat().st_mode & 0o777 == 0o600
    text = "".join(path.read_text() for path in (folder / "model").glob("*.json")) + render(loaded)
    for hidden in ("were set aside", "leave out any one person", "differentially private, ε"):
        assert hidden in str(made[0])
        assert hidden not in text
    assert '"seed": null' in text
    assert "income &lt; 20.0?" in (folder / "model" / "report.html").read_text()
    assert dc.load_model(loaded.payload).predict(rows()).to_pylist()[:1]


def test_the_statement_says_what_is_promised_and_what_is_not(made):
    said = str(made[0].statement)
    assert "at least 20 different sets of people yield this very model, and no one is in all of them" in said
    assert "This was checked on the released data." in said
    assert "This is not differential privacy" in said
    assert "depends on the rows of all people" in said
    assert made[0].statement.models[0].to_dict()["parameters"] == {"generators": 20}


def test_the_holder_sees_how_it_compares(made):
    release, _ = made
    (ours, first), (plain, second), (noisy, third) = release.holder.details[1].scores
    assert (ours, plain, noisy) == ("integral, k = 20", "plain", "differentially private, ε = 1")
    assert first == second > 0.9
    assert 0.4 < third <= 1
    for text in (str(release), release.holder.page(), release._repr_html_()):
        assert "On 300 people who were set aside" in text


def test_a_seed_makes_it_repeatable_and_not_private():
    learn = dc.Learn(dc.Statistics("mean", ("age",), step=0.1), integral=10, tries=30)
    one, two = dc.learn(credit(), learn, seed=3), dc.learn(credit(), learn, seed=3)
    assert (one.holder.details[0].sets == two.holder.details[0].sets).all()
    assert not one.private
    assert dc.learn(credit(), learn).private


def test_people_with_several_rows_count_once_and_without_a_bound_there_is_no_noise_to_compare_with():
    card = dc.Card("credit", credit().card.columns, unit="name")
    release = dc.learn(dc.read(rows(), card), dc.Learn(dc.Statistics("mean", step=0.4), integral=5, tries=30))
    assert release.holder.details[0].people == 1500
    assert [name for name, _ in release.holder.details[1].scores] == ["integral, k = 5", "plain"]
    assert release.statement.unit == "name"


def test_a_bound_on_rows_that_people_do_not_keep_gives_no_noise_to_compare_with():
    learn = dc.Learn(dc.Statistics("mean", ("age",), step=0.4), integral=5, tries=30)
    twice = rows().set_column(0, "name", pa.array([f"p{one // 2}" for one in range(1500)]))
    twice = twice.slice(0, 400)
    for bound, compared in ((1, 2), (2, 3)):
        card = dc.Card("credit", credit().card.columns, unit="name", rows_per_unit=bound)
        assert len(dc.learn(dc.read(twice, card), learn).holder.details[1].scores) == compared


def test_a_tree_of_truths_is_released_and_read_back():
    data = rows(600)
    low = np.array(data["income"]) < 20
    columns = (dc.Column("low", "boolean"), credit().card["age"], dc.Column("late", "boolean", "sensitive"))
    table = dc.read(pa.table({"low": low, "age": data["age"], "late": low}), dc.Card("credit", columns))
    model = dc.load_model(dc.learn(table, dc.Learn(dc.DecisionTree("late"), tries=30)).payload)
    assert model.root.value is False
    assert model.predict(pa.table({"low": [True, False]})).to_pylist() == [True, False]
    assert model.predict(pa.table({"low": [None]})).to_pylist() == [True]  # it passes no test


def test_bounds_that_were_read_off_the_data_are_no_public_grid():
    card = credit().card
    columns = [dc.Column("age", "integer", bounds=(20, 80), from_data=("bounds",)), card["default"]]
    table = dc.read(rows().select(["age", "default"]), dc.Card("credit", tuple(columns)))
    release = dc.learn(table, dc.Learn(dc.Statistics("mean", step=0.4), integral=10, tries=30))
    assert release.recipe.from_data == ("bounds of age",)
    assert not release.private


def test_what_is_no_model_to_learn_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is not a learner"):
        dc.learn(credit(), dc.Noise(0.1))
    with pytest.raises(BadInput, match="learn takes a table with its card"):
        dc.learn(rows(), LEARN)
    with pytest.raises(BadInput, match="is not a method of publish"):
        dc.publish(credit(), LEARN)
    with pytest.raises(BadInput, match="is confidential"):
        dc.learn(credit(), LEARN, to=tmp_path / "model", holder=tmp_path / "model" / "copy")
    assert not list(tmp_path.iterdir())


def test_a_file_that_holds_no_evidence(tmp_path):
    with pytest.raises(NotFound):
        dc.Generators.load(tmp_path / "nothing")
    pq.write_table(rows(5), tmp_path / "rows")
    with pytest.raises(DataError, match="not the holder's copy"):
        dc.Generators.load(tmp_path / "rows")
    (tmp_path / "text").write_text("what?")
    with pytest.raises(DataError, match="cannot be read"):
        dc.Generators.load(tmp_path / "text")
