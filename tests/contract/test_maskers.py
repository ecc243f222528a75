"""What every masking method keeps to. A new one is found by its declaration, and tested by its example."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from tests.publish.mask.people import CARD, people, rows

from discreet.core.document import dumps
from discreet.core.families import MASKING
from discreet.engines.read import read
from discreet.verbs.publish.mask.coding import Code
from discreet.verbs.publish.mask.ipso import Ipso
from discreet.verbs.publish.mask.masker import Masked, Masker, RecordMasker
from discreet.verbs.publish.mask.microaggregate import Microaggregate
from discreet.verbs.publish.mask.multiply import Multiply
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.pram import Pram
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.publish.mask.rounding import Round
from discreet.verbs.publish.mask.shuffle import Shuffle
from discreet.verbs.publish.mask.swap import DataSwap, RankSwap
from discreet.verbs.publish.mask.uniques import SuppressUniques
from discreet.verbs.publish.publish import publish

NUMBERS = ("age", "weight", "income", "same")
CHOSEN = {
    "noise": Noise(0.3, NUMBERS),
    "noise correlated": Noise(0.3, NUMBERS, correlated=True),
    "multiply": Multiply(0.3, NUMBERS),
    "multiply uniform": Multiply(0.3, NUMBERS, "uniform"),
    "microaggregate": Microaggregate(5, (*NUMBERS, "born", "seen", "town")),
    "microaggregate by column": Microaggregate(5, (*NUMBERS, "born", "seen"), "optimal"),
    "microaggregate better": Microaggregate(5, NUMBERS, improve=20),
    "rank-swap": RankSwap(10, (*NUMBERS, "born", "seen")),
    "rank-swap normal": RankSwap(10, (*NUMBERS, "born", "seen"), "normal"),
    "rank-swap buckets": RankSwap(8, (*NUMBERS, "born", "seen"), "buckets"),
    "data-swap": DataSwap(0.4, (*NUMBERS, "town", "born"), ("smokes",)),
    "pram": Pram(0.6, ("town", "smokes")),
    "pram even": Pram(0.6, ("town", "smokes"), "even"),
    "pram optimal": Pram(0.7, ("town", "smokes"), "optimal"),
    "round": Round(5, ("age", "weight", "same")),
    "round at random": Round(5, ("age", "weight", "same"), at_random=True),
    "resample": Resample(3, NUMBERS),
    "code": Code({"age": 70, "weight": 80, "same": 1}, {"age": 25}),
    "code by mean": Code({"age": 70, "weight": 80, "same": 1}, {"age": 25}, by_mean=True),
    "ipso A": Ipso("A", NUMBERS, ("height", "smokes")),
    "ipso B": Ipso("B", NUMBERS, ("height", "smokes")),
    "ipso C": Ipso("C", NUMBERS, ("height", "smokes")),
    "shuffle": Shuffle(NUMBERS, ("height",)),
    "suppress-uniques": SuppressUniques(2, ("age", "town", "smokes")),
}


def maskers():
    """Those above, and by its example every other one that is declared."""
    chosen = {masker.name for masker in CHOSEN.values()}
    others = {one.name: MASKING.parse(one.example, CARD) for one in MASKING.entries() if one.name not in chosen}
    return CHOSEN | others


MASKERS = maskers()
SURE = {"round", "code", "ipso A", "suppress-uniques", "microaggregate", "microaggregate by column"}
"""Nothing in these is random for real numbers."""
SWAPS = {"rank-swap", "rank-swap normal", "rank-swap buckets", "data-swap", "shuffle"}
every = pytest.mark.parametrize("name", MASKERS)


@cache
def masked_once(name):
    """The people, masked; no test changes them."""
    return MASKERS[name].mask(people(), seed=1)


def test_every_method_of_the_command_line_is_here():
    assert set(MASKING.names()) <= {masker.name for masker in MASKERS.values()}


@every
def test_the_shape_the_types_and_what_stays_behind(name):
    table, masked = people(), masked_once(name)
    assert isinstance(MASKERS[name], Masker)
    assert isinstance(masked, Masked)
    assert masked.rows.schema.equals(table.payload().schema)
    assert masked.rows.num_rows == table.count()
    assert "id" not in masked.rows.column_names


@every
def test_columns_not_named_are_untouched_and_named_ones_are_not(name):
    before, masked = people().payload(), masked_once(name)
    named = masked.parameters["columns"]
    changed = {column for column in before.column_names if not masked.rows[column].equals(before[column])}
    assert changed <= set(named)
    assert changed >= ({"age"} if name == "suppress-uniques" else set(named) - {"same", "smokes"})


@every
def test_what_is_missing_stays_missing(name):
    before, after = people().payload(), masked_once(name).rows
    for column in before.column_names:
        was, is_ = before[column].is_null(), after[column].is_null()
        if name == "suppress-uniques":
            assert pc.all(pc.or_(pc.invert(was), is_)).as_py()
        elif name == "data-swap":  # a gap is exchanged as a value is
            assert pc.sum(was) == pc.sum(is_)
        else:
            assert was.equals(is_), column


@every
def test_a_seed_repeats_the_result_and_another_does_not(name):
    masker, table = MASKERS[name], people()
    once, again, other = (masker.mask(table, seed=seed).rows for seed in (1, 1, 2))
    assert once.equals(again)
    if name not in SURE:
        assert not once.equals(other)
        assert not masker.mask(table).rows.equals(masker.mask(table).rows)


@every
def test_all_that_is_told_can_be_written_down_and_something_is_not_promised(name):
    masked = masked_once(name)
    assert json.loads(dumps(dict(masked.parameters)))
    assert masked.steps
    assert masked.not_promised
    assert all(sentence.endswith(".") for sentence in (*masked.steps, *masked.not_promised))


@every
def test_a_constant_of_reals_stays_where_the_method_keeps_spread(name):
    after = masked_once(name).rows["same"].to_numpy()
    if name.startswith(("noise", "micro", "rank", "data", "resample", "shuffle", "ipso")):
        assert np.allclose(after, 7.5, rtol=1e-9)


@every
@pytest.mark.parametrize("count", [0, 1, 2])
def test_next_to_no_rows_are_masked_or_refused_in_words(name, count):
    table = people(count)
    try:
        assert MASKERS[name].mask(table, seed=1).rows.num_rows == count
    except Exception as error:  # noqa: BLE001
        assert type(error).__module__ == "discreet.errors"


@every
def test_a_column_of_nothing_but_gaps_stays_one(name):
    data = rows()
    empty = pa.nulls(data.num_rows, pa.int64())
    table = read(data.set_column(1, "age", empty), CARD)
    try:
        after = MASKERS[name].mask(table, seed=1).rows
    except Exception as error:  # noqa: BLE001
        assert type(error).__module__ == "discreet.errors"
    else:
        assert after["age"].null_count == data.num_rows


@every
def test_values_that_are_only_swapped_are_all_still_there(name):
    if name not in SWAPS:
        return
    before, after = people().payload(), masked_once(name).rows
    for column in before.column_names:
        assert sorted(before[column].drop_null().to_pylist()) == sorted(after[column].drop_null().to_pylist())


@every
def test_a_release_can_be_judged_by_its_recipe_and_only_its_holder_has_the_links(name, tmp_path):
    masker, table = MASKERS[name], people()
    release = publish(table, masker, seed=4)
    assert release.recipe.method == masker.name
    assert release.recipe.seed == 4
    assert not release.private
    told = release.statement.caveats
    assert set(masker.mask(table, 4).not_promised) <= set(told)
    original = masker.mask(table, seed=4).rows
    assert release.payload.equals(original.take(pa.array(release.holder.links)))
    release.save(tmp_path / "r")
    assert not any("link" in path.name for path in (tmp_path / "r").iterdir())


@every
def test_the_order_of_a_release_tells_nothing(name):
    """The same rows in another order are released alike by a method in which nothing is random."""
    if name not in SURE - {"ipso A"}:  # which rounds ages at random
        return
    backwards = read(rows().take(pa.array(range(399, -1, -1))), CARD)
    there = publish(people(), MASKERS[name], seed=1).payload
    back = publish(backwards, MASKERS[name], seed=1).payload
    for column in ("weight", "height"):
        assert np.allclose(there[column].fill_null(-1), back[column].fill_null(-1), rtol=1e-9)


@every
def test_record_by_record_a_stream_gives_what_memory_gives(name, tmp_path, monkeypatch):
    masker, table = MASKERS[name], people()
    if not isinstance(masker, RecordMasker):
        return
    monkeypatch.setattr("discreet.verbs.publish.mask.masker.BLOCK", 150)
    written = publish(table, masker, seed=7, to=tmp_path / "r", holder=tmp_path / "links.parquet")
    held = masker.mask(table, seed=7).rows
    shown = pa.parquet.read_table(tmp_path / "r" / "payload.parquet")
    links = pa.parquet.read_table(tmp_path / "links.parquet")["row"]
    assert links.to_numpy().tolist() == written.holder.links.tolist()
    assert shown.equals(held.take(pa.array(written.holder.links)))


@every
@pytest.mark.parametrize("bounds", [None, (0.0, 300.0)])
def test_nothing_infinite_leaves(name, bounds, tmp_path):
    data = rows()
    weights = data["weight"].to_numpy(zero_copy_only=False).copy()
    weights[[3, 8, 20]] = np.inf, -np.inf, np.inf
    data = data.set_column(data.schema.get_field_index("weight"), "weight", pa.array(weights))
    columns = tuple(replace(column, bounds=bounds) if column.name == "weight" else column for column in CARD.columns)
    table = read(data, replace(CARD, columns=columns))
    if "weight" not in masked_once(name).parameters["columns"]:
        return  # it masks other columns
    found = [publish(table, MASKERS[name], seed=1).payload["weight"]]
    if isinstance(MASKERS[name], RecordMasker):  # others are masked as a whole, and written after that
        streamed = publish(table, MASKERS[name], seed=1, to=tmp_path / "out").payload.path
        found.append(pq.read_table(streamed)["weight"])
    for cells in found:
        assert not pc.any(pc.is_inf(cells)).as_py()
        if bounds is not None:
            assert pc.max(cells.drop_null()).as_py() < 300  # nobody infinite stands out at the bound
