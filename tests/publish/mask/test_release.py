"""Masked tables on their way out: streams, files, models, Spark, the command."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.publish.mask.people import CARD, drawn, people, rows

import discreet as dc
from discreet.core.card import Column, Role
from discreet.core.kind import Kind
from discreet.errors import BadInput, NoPromise, NotFound
from discreet.verbs.publish.mask import masker as masking
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.rounding import Round
from discreet.verbs.publish.mask.swap import RankSwap
from discreet.verbs.publish.publish import publish


@pytest.mark.parametrize("masker", [Noise(0.2), RankSwap(5)], ids=lambda masker: masker.name)
def test_a_release_is_written_and_its_links_beside_it(masker, tmp_path):
    said = []
    links = tmp_path / "r.holder.parquet"
    release = publish(people(), masker, to=tmp_path / "r", csv=True, holder=links, progress=lambda *at: said.append(at))
    assert said[0][0] == 0
    assert said[-1] == (1.0, "done")
    assert sorted(pq.read_table(links)["row"].to_pylist()) == list(range(400))
    saved = dc.Release.load(tmp_path / "r")
    assert saved.payload.num_rows == 400
    assert saved.recipe == release.recipe
    untouched = people().payload()["town"].take(pa.array(release.holder.links))
    assert saved.payload["town"].to_pylist() == untouched.to_pylist()
    assert {path.name for path in tmp_path.iterdir()} == {"r", "r.holder.parquet"}


def test_models_are_checked_on_what_was_masked(tmp_path):
    coarse = Round({"age": 100, "weight": 1000.0, "height": 1000.0, "income": 100_000_000.0})
    keys = dc.Card("p", tuple(c for c in CARD.columns if c.name in ("age", "weight", "height", "income", "smokes")))
    table = dc.read(rows(), keys)
    release = publish(table, coarse, dc.KAnonymity(3))
    assert release.statement.models
    assert release.private
    assert release.recipe.parameters["models"] == [release.statement.models[0].text]
    with pytest.raises(NoPromise, match="Nothing was released"):
        publish(table, Noise(0.1), dc.KAnonymity(3), to=tmp_path / "r")
    assert not list(tmp_path.iterdir())


def test_a_unit_with_several_rows_is_warned_of():
    card = dc.Card(CARD.name, CARD.columns, unit="id")
    release = publish(dc.read(rows(), card), Noise(0.1))
    assert any("several rows" in caveat for caveat in release.statement.caveats)
    twice = dc.read(pa.concat_tables([rows(20)] * 2), card)
    with pytest.raises(BadInput, match="40 rows of 20 ids"):
        publish(twice, Noise(0.1), dc.KAnonymity(1))
    assert "id" not in release.payload.column_names


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(BadInput, match="No privacy model"):
        publish(people(), dc.Mondrian())
    with pytest.raises(BadInput, match="nothing here is random"):
        publish(people(), dc.Mondrian(), dc.KAnonymity(2), seed=1)
    with pytest.raises(BadInput, match="cannot be checked together with others"):
        publish(people(), Noise(0.1), earlier=[publish(people(), Noise(0.1))])
    with pytest.raises(NotFound, match="no folder"):
        publish(people(), Noise(0.1), to=tmp_path / "not" / "there")
    (tmp_path / "taken").write_text("a file")
    for masker in (Noise(0.1), RankSwap(5)):
        with pytest.raises(BadInput, match="not an empty folder"):
            publish(people(), masker, to=tmp_path / "taken", holder=tmp_path / "links")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"], "without a release there are no links"


def test_blocks_do_not_depend_on_how_rows_come(monkeypatch):
    monkeypatch.setattr(masking, "BLOCK", 7)
    data = rows(50).select(["id"])
    for size in (1, 3, 7, 20, 50):
        blocks = list(masking._blocks(data.to_batches(max_chunksize=size)))
        assert [block.num_rows for block in blocks] == [7] * 7 + [1]
        assert pa.Table.from_batches(blocks)["id"].to_pylist() == list(range(50))


def test_spark_masks_on_its_workers(spark, tmp_path):
    pq.write_table(rows(3000), tmp_path / "people.parquet")
    table = dc.read(tmp_path / "people.parquet", CARD, engine=spark)
    masker = Noise(0.5, ["height"])
    first = publish(table, masker, seed=5, to=tmp_path / "one")
    publish(table, masker, seed=5, to=tmp_path / "two")
    assert first.holder.links is None
    assert "Original and released values" in first.holder.page()
    one, two = (pq.read_table(tmp_path / name / "payload.parquet") for name in ("one", "two"))
    assert one.equals(two)
    assert one.schema.equals(people().payload().schema)
    for name in ("income", "age", "born", "seen"):
        key = [(n, "ascending") for n in ("income", "seen")]
        assert one.sort_by(key)[name].equals(rows(3000).sort_by(key)[name]), name
    noise = one.sort_by(key)["height"].to_numpy() - rows(3000).sort_by(key)["height"].to_numpy()
    assert noise.var() == pytest.approx(first.recipe.parameters["noise_variance"]["height"], rel=0.2)


def test_what_is_left_as_it_was_is_said():
    said = publish(people(), Noise(0.2, ("age",)), seed=1).statement.caveats
    assert (
        "Quasi-identifiers that were not masked: weight, height, income, born, town. They may single people out."
        in said
    )
    once = replace(CARD, columns=(Column("id", Kind.INTEGER, Role.OTHER), *CARD.columns[1:]), unit="id")
    for many, warned in ((1, False), (3, True)):
        table = dc.read(rows(), replace(once, rows_per_unit=many))
        told = publish(table, Noise(0.2), seed=1).statement.caveats
        assert any("with several rows" in one for one in told) == warned


def test_dates_are_drawn_by_year_or_decade():
    release = publish(people(), RankSwap(5, ("born",)), seed=1)
    assert "By decade." in release.holder.page()
    page = drawn(release.holder.page())
    assert "1950s: before" in page
    assert page.index("1950s: before") < page.index("2000s: before")
    (released,) = release.pictures
    assert "1960s" in released.svg
