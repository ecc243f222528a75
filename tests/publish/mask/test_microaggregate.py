"""Microaggregation of a table: every kind of column, what is missing, what is told and what is refused."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
from tests.publish.mask.people import CARD, people, rows

from discreet.core.card import Card, Column, Role
from discreet.core.document import dumps
from discreet.core.hierarchy.ordered import Ordered
from discreet.core.kind import Kind
from discreet.engines.read import read
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.models.diversity import EntropyLDiversity, LDiversity, PSensitivity, RecursiveLDiversity
from discreet.models.k_anonymity import KAnonymity
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.attack.transparency import MicroaggregationIntersection
from discreet.verbs.publish.mask.microaggregate import Microaggregate
from discreet.verbs.publish.publish import publish

NUMBERS = ("age", "weight", "height", "income")
QUASI = (*NUMBERS, "born", "town")


def crowds(table, names):
    """How many rows there are of each combination."""
    cells = table.select(list(names)).to_pylist()
    counts = {}
    for row in cells:
        key = tuple(row.values())
        counts[key] = counts.get(key, 0) + 1
    return counts


# -- what is promised


@pytest.mark.parametrize(
    "masker",
    [
        Microaggregate(5),
        Microaggregate(5, algorithm="cbfs"),
        Microaggregate(5, algorithm="v-mdav", gamma=1.1),
        Microaggregate(5, improve=20),
        Microaggregate(5, median=True),
        Microaggregate(5, as_is=True),
        Microaggregate(5, at_once=100),
    ],
    ids=["mdav", "cbfs", "v-mdav", "improved", "median", "as it is", "in blocks"],
)
def test_nobody_can_be_singled_out_by_the_quasi_identifiers(masker):
    masked = masker.mask(people(), seed=1)
    assert masked.parameters["columns"] == list(QUASI)
    assert min(crowds(masked.rows, QUASI).values()) >= 5
    publish(people(), masker, [KAnonymity(5)], seed=1)


@pytest.mark.parametrize(
    "model",
    [
        LDiversity(2, "smokes"),
        PSensitivity(2, 5, "smokes"),
        EntropyLDiversity("1.8", "smokes"),
        RecursiveLDiversity("3", 2, "smokes"),
    ],
    ids=lambda model: model.name,
)
def test_what_groups_hold_of_a_confidential_column_is_held_by_the_release(model):
    release = publish(people(), Microaggregate(5, diverse=model), [KAnonymity(5), model], seed=1)
    assert release.recipe.parameters["diverse"] == model.claim.text
    assert any(model.claim.text in step for step in release.recipe.steps)


def test_a_model_may_be_given_as_text():
    masked = Microaggregate(5, diverse="l=2").mask(people(), seed=1)
    assert masked.parameters["diverse"] == LDiversity(2, "smokes").claim.text
    assert masked.rows.equals(Microaggregate(5, diverse=LDiversity(2, "smokes")).mask(people(), seed=1).rows)


def test_blocks_are_k_fold_each_by_itself():
    masked = Microaggregate(5, NUMBERS, blocks=2).mask(people(), seed=1)
    assert min(crowds(masked.rows, NUMBERS[:2]).values()) >= 5
    assert min(crowds(masked.rows, NUMBERS[2:]).values()) >= 5
    assert min(crowds(masked.rows, NUMBERS).values()) < 5
    assert masked.parameters["blocks"] == [list(NUMBERS[:2]), list(NUMBERS[2:])]
    assert any("2 blocks" in sentence for sentence in masked.not_promised)
    named = Microaggregate(5, NUMBERS, blocks=[("income", "age"), ("weight", "height")]).mask(people(), seed=1)
    assert min(crowds(named.rows, ("income", "age")).values()) >= 5


def test_one_column_at_a_time_is_grouped_best_of_all():
    best = Microaggregate(5, NUMBERS, "optimal").mask(people(), seed=1)
    other = Microaggregate(5, NUMBERS, "mdav", blocks=1).mask(people(), seed=1)
    for name, one, two in zip(NUMBERS, best.parameters["found"], other.parameters["found"], strict=True):
        assert min(crowds(best.rows, [name]).values()) >= 5
        assert 0 < one["loss"] <= two["loss"]


def test_what_is_best_of_all_is_never_divided():
    whole, parts = (Microaggregate(5, ("height",), "optimal", at_once=at_once) for at_once in (1000, 50))
    assert whole.mask(people()).rows.equals(parts.mask(people()).rows)
    assert len(parts.mask(people()).steps) == 1


@pytest.mark.parametrize("seed", range(4))
def test_what_was_improved_is_never_worse_than_its_start(seed):
    start, better = (Microaggregate(4, NUMBERS, improve=improve).mask(people(), seed) for improve in (0, 1))
    assert better.parameters["found"][0]["loss"] <= start.parameters["found"][0]["loss"] * (1 + 1e-12)


def test_an_attacker_who_reads_the_recipe_finds_people_by_columns_grouped_one_by_one_and_not_by_all_together():
    columns = tuple(Column(name, Kind.REAL, Role.QUASI) for name in "abcd")
    values = np.random.default_rng(6).exponential(size=(4, 300))
    table = small(columns, **dict(zip("abcd", values, strict=True)))
    figures = []
    for masker in (Microaggregate(10, algorithm="optimal"), Microaggregate(10)):
        release = publish(table, masker, seed=1)
        found = MicroaggregationIntersection().run(release, table, release.holder.links)
        assert found.outcome is not Outcome.FAILED
        figures.append(found.figure)
    assert figures[0] > 0.95
    assert figures[1] <= 0.1 + 1e-9


# -- what stands for a group


def small(columns, **cells):
    return read(pa.table(cells), Card("small", columns))


def test_numbers_get_their_mean_categories_the_most_frequent_and_orders_the_median():
    sizes = Ordered(("s", "m", "l", "xl"), (2,))
    table = small(
        (
            Column("x", Kind.REAL, Role.QUASI),
            Column("n", Kind.INTEGER, Role.QUASI),
            Column("day", Kind.DATE, Role.QUASI),
            Column("colour", Kind.TEXT, Role.QUASI),
            Column("size", Kind.TEXT, Role.QUASI, hierarchy=sizes),
        ),
        x=[1.0, 2.0, 4.5, 101.0, 102.0, 103.0],
        n=[1, 2, 5, 50, 50, 51],
        day=[dt.date(2000, 1, day) for day in (1, 2, 6)] + [dt.date(2020, 1, day) for day in (1, 1, 4)],
        colour=["red", "blue", "blue", "green", "red", "green"],
        size=["s", "xl", "m", "l", "l", "s"],
    )
    masked = Microaggregate(3).mask(table)
    assert masked.rows.to_pydict() == {
        "x": [2.5] * 3 + [102.0] * 3,
        "n": [3] * 3 + [50] * 3,
        "day": [dt.date(2000, 1, 3)] * 3 + [dt.date(2020, 1, 2)] * 3,
        "colour": ["blue"] * 3 + ["green"] * 3,
        "size": ["m"] * 3 + ["l"] * 3,
    }
    assert masked.parameters["found"][0]["stands"] == {
        "x": "mean",
        "n": "mean",
        "day": "mean",
        "colour": "mode",
        "size": "median",
    }
    middle = Microaggregate(3, median=True).mask(table).rows
    assert middle["x"].to_pylist() == [2.0] * 3 + [102.0] * 3


def test_means_of_the_column_are_kept_and_what_is_lost_is_told():
    table = people()
    masked = Microaggregate(4, ("height", "weight")).mask(table)
    before, after = table.payload(), masked.rows
    within = total = 0.0
    for name in ("height", "weight"):
        was, is_ = (side[name].drop_null().to_numpy() for side in (before, after))
        assert is_.mean() == pytest.approx(was.mean())
    [told] = Microaggregate(4, ("height",)).mask(table).parameters["found"]
    was, is_ = before["height"].to_numpy(), Microaggregate(4, ("height",)).mask(table).rows["height"].to_numpy()
    within, total = ((was - is_) ** 2).sum(), ((was - was.mean()) ** 2).sum()
    assert told["loss"] == float(f"{within / total:.3g}"), "more digits would tell of small groups"
    assert sum(int(size) * count for size, count in told["sizes"].items()) == told["rows"] == 400
    assert told["smallest"] == 4


def test_equal_values_stay_as_they_are_to_the_last_digit():
    table = small((Column("x", Kind.REAL, Role.QUASI),), x=[0.1] * 7)
    assert Microaggregate(3).mask(table).rows["x"].to_pylist() == [0.1] * 7


def test_columns_count_alike_whatever_they_are_measured_in():
    """Standardised, the narrow column decides as much as the wide one; as they are, it does not matter."""
    columns = (Column("wide", Kind.REAL, Role.QUASI), Column("narrow", Kind.REAL, Role.QUASI))
    cells = {"wide": [0.0, 1000, 0, 1000], "narrow": [0.0, 0, 3, 3.1]}
    alike = Microaggregate(2, ("wide", "narrow")).mask(small(columns, **cells)).rows
    metres = Microaggregate(2, ("wide", "narrow")).mask(small(columns, **cells | {"wide": [0.0, 1, 0, 1]})).rows
    assert alike["narrow"].equals(metres["narrow"])
    plain = Microaggregate(2, ("wide", "narrow"), as_is=True).mask(small(columns, **cells)).rows
    assert plain["wide"].to_pylist() == [0.0, 1000.0, 0.0, 1000.0]


def test_two_categories_without_an_order_are_all_equally_far_apart():
    columns = (Column("c", Kind.TEXT, Role.QUASI), Column("b", Kind.BOOLEAN, Role.QUASI))
    table = small(columns, c=["x", "y", "z", "x", "y", "z"], b=[True, False, True, True, False, True])
    masked = Microaggregate(2).mask(table)
    assert masked.rows.equals(table.payload())
    assert masked.parameters["found"][0]["loss"] == 0


# -- what is missing


def test_what_is_missing_stays_missing_and_more_only_where_too_few_lack_the_same():
    data = rows()
    masked = Microaggregate(5, QUASI).mask(people(), seed=1)
    for name in QUASI:
        assert masked.rows[name].is_null().equals(people().payload()[name].is_null())
    assert masked.parameters["found"][0]["left_out"] == 0
    rare = pa.array([None if at in (7, 9) else value for at, value in enumerate(data["height"].to_pylist())])
    few = Microaggregate(5, QUASI).mask(read(data.set_column(3, "height", rare), CARD), seed=1)
    assert min(crowds(few.rows, QUASI).values()) >= 5
    assert few.rows["height"].is_null().to_pylist()[7]
    [told] = few.parameters["found"]
    assert told["left_out"] > 0
    assert any("values were removed so that enough rows lack the same ones" in step for step in few.steps)


def test_what_is_no_number_is_missing():
    table = small((Column("x", Kind.REAL, Role.QUASI),), x=[1.0, 2.0, float("nan"), float("inf"), 5.0, None])
    after = Microaggregate(3).mask(table).rows["x"].to_pylist()
    assert after == [pytest.approx(8 / 3), after[0], None, None, after[0], None]


def test_no_rows_are_no_rows_and_too_few_are_refused():
    assert Microaggregate(3).mask(people(0)).rows.num_rows == 0
    for count in (1, 2):
        with pytest.raises(NoPromise, match="too few"):
            Microaggregate(3).mask(people(count))
    assert min(crowds(Microaggregate(3).mask(people(3)).rows, QUASI).values()) == 3
    with pytest.raises(NoPromise, match="too few different values"):
        Microaggregate(3, ("age",), diverse=LDiversity(2, "smokes")).mask(
            read(rows(20).set_column(8, "smokes", pa.array([True] * 20)), CARD)
        )


# -- what is told


def test_the_recipe_can_be_written_down_and_says_what_is_not_promised():
    masked = Microaggregate(5, ("age",), "v-mdav", gamma=0.5, at_once=100).mask(people(), seed=1)
    assert dumps(dict(masked.parameters))
    assert masked.parameters["gamma"] == 0.5
    told = " ".join(masked.not_promised)
    assert "all members of a group may share one" in told
    assert any("At most 100 rows" in step for step in masked.steps)
    assert all(sentence.endswith(".") for sentence in (*masked.steps, *masked.not_promised))


def test_a_unit_with_several_rows_is_told():
    card = Card("visits", (Column("who", Kind.INTEGER), Column("age", Kind.INTEGER, Role.QUASI)), "who", 3)
    table = read(pa.table({"who": [1, 1, 2, 3], "age": [1, 2, 3, 4]}), card)
    assert any("a who with several" in one for one in Microaggregate(2).mask(table).not_promised)


def test_a_seed_repeats_the_search_and_nothing_else_is_random():
    plain, better = Microaggregate(3, NUMBERS), Microaggregate(3, NUMBERS, improve=50)
    assert plain.mask(people(), 1).rows.equals(plain.mask(people()).rows)
    once, again, other = (better.mask(people(), seed).rows for seed in (1, 1, 2))
    assert once.equals(again)
    assert not once.equals(other)
    losses = [one.mask(people(), 1).parameters["found"][0]["loss"] for one in (better, plain)]
    assert losses[0] < losses[1]


# -- what is refused


@pytest.mark.parametrize(
    ("said", "what"),
    [
        ({"k": 1}, "k must be a whole number, at least 2"),
        ({"k": True}, "k must be a whole number"),
        ({"k": "3"}, "k must be a whole number"),
        ({"k": 5, "improve": -1}, "improve must be a whole number"),
        ({"k": 50, "at_once": 199}, "at-once must be a whole number, at least 4 k = 200"),
        ({"k": 5, "gamma": float("nan")}, "gamma must be a number"),
        ({"k": 5, "algorithm": "magic"}, "got 'magic'"),
        ({"k": 500, "improve": 1}, "can be improved, not of 500"),
        ({"k": 5, "algorithm": "optimal", "improve": 1}, "supports neither improvement nor diversity"),
        ({"k": 5, "median": "no"}, "median must be yes or no"),
        ({"k": 5, "as_is": 1}, "as-is must be yes or no"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(said, what):
    with pytest.raises(BadInput, match=what):
        Microaggregate(**said)


@pytest.mark.parametrize(
    ("masker", "what"),
    [
        (Microaggregate(3, ("town",), "optimal"), "needs one ordered column"),
        (Microaggregate(3, NUMBERS, "optimal", blocks=2), "needs one ordered column"),
        (Microaggregate(3, NUMBERS, blocks=0), "one column or more"),
        (Microaggregate(3, NUMBERS, blocks=[("age",)]), "every column that is masked once"),
        (Microaggregate(3, NUMBERS, blocks=[NUMBERS, ("age",)]), "every column that is masked once"),
        (Microaggregate(3, ("id",)), "not released"),
        (Microaggregate(3, NUMBERS, blocks=["age", "income"]), "Blocks are lists of names"),
        (Microaggregate(3, ("age",), diverse=LDiversity(2, "age")), "masked and confidential at once"),
        (Microaggregate(5, diverse=PSensitivity(2, 9, "smokes")), "are not 2-sensitive 9-anonymous"),
        (Microaggregate(5, diverse="k=5"), "cannot be formed with"),
        (Microaggregate(5, diverse=3), "cannot be formed with"),
    ],
)
def test_what_a_table_does_not_have_is_refused(masker, what):
    with pytest.raises(BadInput, match=what):
        masker.mask(people())


def test_unknown_columns_are_not_found():
    with pytest.raises(NotFound):
        Microaggregate(3, ("shoe",)).mask(people())


def test_too_many_categories_are_refused():
    table = small((Column("zip", Kind.TEXT, Role.QUASI),), zip=[f"{number:05}" for number in range(300)])
    with pytest.raises(BadInput, match="more than 256 categories"):
        Microaggregate(3).mask(table)


def test_large_numbers_do_not_overflow():
    values = np.array([1e300, -1e300, 9e299, -9e299, 0.0, 1.0])
    after = Microaggregate(2).mask(small((Column("x", Kind.REAL, Role.QUASI),), x=values)).rows["x"].to_numpy()
    assert np.isfinite(after).all()
    assert len(set(after.tolist())) == 3
