"""Masked numbers stay within declared bounds, however they are made; and what masked columns look like."""

import sys
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.publish.mask.people import CARD, MONEY, drawn, rows

import discreet as dc
from discreet.errors import MissingPart
from discreet.verbs.publish.mask.multiply import Multiply
from discreet.verbs.publish.mask.noise import Noise
from discreet.verbs.publish.mask.pram import Pram, optimal_matrix
from discreet.verbs.publish.mask.shuffle import Shuffle
from discreet.verbs.publish.mask.swap import RankSwap
from discreet.verbs.publish.mask.values import bounds_steps, clamp_to_bounds, limits_of
from discreet.verbs.publish.publish import publish

BOUNDS = {"age": (18, 89), "height": (150.0, 190.0), "income": (0, Decimal("2000.005"))}
BOUNDED = replace(CARD, columns=tuple(replace(c, bounds=BOUNDS.get(c.name)) for c in CARD.columns))


def table(count=400):
    return dc.read(rows(count), BOUNDED)


@pytest.mark.parametrize("masker", [Noise(1.0), Multiply(1.0)], ids=lambda m: m.name)
@pytest.mark.parametrize("to", [None, "r"])
def test_what_is_masked_stays_within_bounds(masker, to, tmp_path):
    release = publish(table(), masker, to=to and tmp_path / to)
    made = release.payload if to is None else dc.Release.load(tmp_path / to).payload
    for name, (low, high) in BOUNDS.items():
        values = [value for value in made[name].to_pylist() if value is not None]
        assert low <= min(values) <= max(values) <= high, name
    assert made["age"].null_count == rows()["age"].null_count
    assert "age 18 to 89" in release.recipe.steps[-1]
    assert release.recipe.steps[-1].endswith("so statements about means and variances hold only approximately.")
    free = [value for value in made["weight"].to_pylist() if value is not None]
    assert min(free) < min(value for value in rows()["weight"].to_pylist() if value is not None)


def test_memory_and_stream_give_the_same(tmp_path):
    held = publish(table(), Noise(1.0), seed=5)
    publish(table(), Noise(1.0), seed=5, to=tmp_path / "r")
    assert dc.Release.load(tmp_path / "r").payload.equals(held.payload)
    assert dc.Release.load(tmp_path / "r").recipe == held.recipe


def test_only_what_is_beyond_is_moved():
    data = pa.table(
        {
            "age": pa.array([17, 18, 50, 90, None], pa.int64()),
            "height": pa.array([float("nan"), float("-inf"), 150.0, 200.0, None]),
            "income": pa.array([Decimal("-0.01"), Decimal("2000.00"), Decimal("2000.01"), None, None], MONEY),
        }
    )
    card = replace(BOUNDED, columns=tuple(c for c in BOUNDED.columns if c.name in data.column_names))
    limits = limits_of(card, {"columns": ["age", "height", "income"]})
    made = clamp_to_bounds(data, limits)
    assert made.schema == data.schema
    assert made["age"].to_pylist() == [18, 18, 50, 89, None]
    assert np.isnan(made["height"][0].as_py())
    assert made["height"].to_pylist()[1:] == [None, 150.0, 190.0, None]  # what is infinite cannot be masked
    assert made["income"].to_pylist() == [Decimal("0.00"), Decimal("2000.00"), Decimal("2000.00"), None, None]
    assert clamp_to_bounds(data, {}) is data
    assert bounds_steps({}) == ()


def test_the_report_shows_released_values_and_never_the_originals(tmp_path):
    release = publish(table(), Pram(0.8, ["town", "smokes"]), to=tmp_path / "r", holder=tmp_path / "copy")
    saved = dc.Release.load(tmp_path / "r")
    assert [picture.title for picture in saved.pictures] == [
        "town, per cent of the rows",
        "smokes, per cent of the rows",
    ]
    assert "before" not in saved.pictures[0].svg
    assert saved.holder is None
    for page in (release.holder.page(), release._repr_html_(), dc.read_holder_copy(tmp_path / "copy").page()):
        assert "Confidential" in page
        assert "Linz: before" in drawn(page)
        assert "NULL: before" in drawn(page)
        assert "true: before" in drawn(page)
    assert "(confidential)" in release.holder.page()
    assert "never release this page" in release.holder.page()
    assert "never release this page" not in (tmp_path / "r" / "report.html").read_text()


def test_steps_hang_on_what_is_released_alone():
    """One original lies far out; masking takes it in, and no mark of the saved picture tells of it."""
    data = rows(50)
    ages = pa.array([1_000_000, *data["age"].to_pylist()[1:]], pa.int64())
    far = dc.read(data.set_column(1, "age", ages), replace(CARD, columns=BOUNDED.columns))
    release = publish(far, Noise(0.01, ["age"]))
    assert max(value for value in release.payload["age"].to_pylist() if value is not None) == 89
    assert "1,000,000" not in release.pictures[0].svg
    assert "1e+06" not in release.pictures[0].svg
    assert "1e+06" in drawn(release.holder.page())


@pytest.mark.parametrize("count", [0, 1, 2])
def test_few_rows_make_few_pictures(count, tmp_path):
    release = publish(table(count), RankSwap(5, ["age", "same", "born"]), to=tmp_path / "r")
    assert dc.Release.load(tmp_path / "r").payload.num_rows == count
    titles = [picture.title for picture in release.pictures]
    assert titles == ["age"] * (count == 2) + ["born, per cent of the rows"] * (count > 0)  # one value has no spread


def test_links_are_there_if_the_release_is(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(dc.errors.NotFound, match="no folder"):
        publish(table(), RankSwap(5), to=tmp_path / "r", holder=tmp_path / "nowhere" / "links")
    assert not (tmp_path / "r").exists()
    publish(table(), RankSwap(5), to=tmp_path / "r", holder=tmp_path / "links")
    assert pq.read_table(tmp_path / "links").num_rows == 400


def test_without_scipy_or_highs_it_is_said_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    monkeypatch.setitem(sys.modules, "highspy", None)
    with pytest.raises(MissingPart, match=r"discreet\[attack\]"):
        Shuffle(["weight"], given=["height"]).mask(table())
    with pytest.raises(MissingPart, match=r"discreet\[solver\]"):
        optimal_matrix(np.array([3, 4]), 0.6, "town")
