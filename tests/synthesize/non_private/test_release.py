"""Synthetic tables on their way out: attacked first, and nothing of what was found leaves with them."""

import stat

import numpy as np
import pyarrow as pa
import pytest
from tests.publish.mask.people import people
from tests.synthesize.non_private.tables import table

import discreet as dc
from discreet.errors import BadInput
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.synthesize.non_private.cart import Cart
from discreet.verbs.synthesize.non_private.copies import Copies
from discreet.verbs.synthesize.non_private.copula import Copula
from discreet.verbs.synthesize.non_private.method import NonPrivate, _one_copy, _rehearsal
from discreet.verbs.synthesize.non_private.redrawn import Redrawn
from discreet.verbs.synthesize.non_private.synthesizer import Synthetic
from discreet.verbs.synthesize.synthesize import synthesize


def drafted(table, synthesizer, seed):
    """The release as it would leave, not attacked yet."""
    method = NonPrivate(synthesizer, seed=seed)
    return method._draft(table, method._rows(table))


class Copy:
    """The worst synthesizer there is."""

    name = "synthesize copy"

    def synthesize(self, table, seed=None):
        rows = table.payload()
        return Synthetic(rows, {"columns": rows.column_names, "kept": [], "made": rows.num_rows}, (), ())


class Noise:
    """One that has learnt nothing."""

    name = "synthesize noise"

    def synthesize(self, table, seed=None):
        rows, rng = table.payload(), np.random.default_rng((seed or 0) + 100)
        for place, name in enumerate(rows.column_names):
            rows = rows.set_column(place, name, pa.array(rng.integers(0, 10**6, rows.num_rows)))
        return Synthetic(rows, {"columns": rows.column_names, "kept": [], "made": rows.num_rows}, (), ())


def points(count=150, seed=1, kinds=6):
    rng = np.random.default_rng(seed)
    return table(x=rng.integers(0, 50, count), y=rng.integers(0, 50, count), z=rng.integers(0, kinds, count))


def test_a_release_is_attacked_and_the_page_is_for_its_holder(tmp_path):
    said, page = [], tmp_path / "r.holder.parquet"
    to = tmp_path / "r"
    release = synthesize(people(60), Cart(), to=to, csv=True, holder=page, seed=1, progress=lambda *at: said.append(at))
    assert said[0][0] == 0
    assert said[-1] == (1.0, "done")
    assert [at for at, _ in said] == sorted(at for at, _ in said)
    assert release.statement.loss is None
    assert not release.private
    assert any("Synthetic does not mean safe" in caveat for caveat in release.statement.caveats)
    assert {path.name for path in tmp_path.iterdir()} == {"r", "r.holder.parquet"}
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "(confidential)" in dc.read_holder_copy(page).page()
    saved = dc.Release.load(to)
    assert saved.payload.num_rows == 60
    assert "id" not in saved.payload.column_names
    assert saved.recipe.method == "synthesize cart"
    ran = [finding.attack for finding in release.holder.details.findings if finding.outcome is not Outcome.FAILED]
    assert {"uniques matched exactly", "inference", "membership by the closest record"} <= set(ran)
    for file in to.iterdir():
        if file.suffix in (".json", ".html"):
            assert "matched" not in file.read_text()


@pytest.fixture(scope="module")
def copied():
    return synthesize(points(), Copy())


def test_a_copy_is_warned_of(copied):
    release = copied
    alone = next(one for one in release.holder.details.findings if one.attack == "uniques matched exactly")
    assert any(
        f"{alone.details['unique']:,} are in the release with all their values" in alarm for alarm in release.notices
    )
    assert any("membership" in alarm for alarm in release.notices)
    assert all(alarm in str(release) for alarm in release.notices)
    assert "Before you release it" in release.holder.page()
    assert "Before you release it" in release._repr_html_()
    assert any(finding.victims for finding in release.holder.details.findings)


def test_nothing_is_warned_of_where_nothing_was_learnt():
    release = synthesize(points(600), Noise(), seed=1)  # so many that chance alone is never a quarter beyond guessing
    assert release.holder.details.findings
    assert not release.notices
    assert "Before you release it" not in release.holder.page()


def test_victims_of_a_rehearsal_are_rows_of_the_table(copied):
    found = next(one for one in copied.holder.details.findings if one.attack.startswith("membership"))
    assert "rehearsal" in found.meaning
    assert found.victims
    assert max(found.victims) < 150


def test_a_control_takes_the_place_of_the_rehearsal():
    release = synthesize(points(60), Noise(), control=points(60, seed=2))
    assert not any("rehearsal" in finding.meaning for finding in release.holder.details.findings)
    assert not release.holder.details.not_applicable
    few = table(x=np.arange(8), y=np.arange(8) % 2)
    assert _rehearsal(release, few, lambda people: drafted(people, Cart(), 1), 1).release is release


def test_a_rehearsal_learns_from_people_and_not_from_rows():
    columns = (dc.Column("id", dc.Kind.INTEGER, dc.Role.IDENTIFIER), dc.Column("x", dc.Kind.INTEGER))
    visits = table(dc.Card("visits", columns, unit="id"), id=np.arange(90) % 31, x=np.arange(90))
    learnt = []
    scene = _rehearsal(None, visits, learnt.append, 1)
    mine, others = (set(half.fetch()["id"].to_pylist()) for half in (scene.members, scene.control))
    assert learnt == [scene.members]
    assert not mine & others
    assert sorted((len(mine), len(others))) == [15, 16]
    assert scene.members.fetch()["x"].to_pylist() == scene.numbers.tolist()
    assert scene.members.count() + scene.control.count() == 90


def test_what_is_kept_is_attacked_too():
    release = synthesize(points(60), Redrawn(Resample(2, ["y"])), seed=1)
    assert "uniqueness" in [finding.attack for finding in release.holder.details.findings]
    assert any("Original values, row by row: x, z" in caveat for caveat in release.statement.caveats)
    several = drafted(points(60), Copies(Cart(given=["x"]), 2), 1)
    assert (several.payload.num_rows, _one_copy(several).payload.num_rows) == (120, 60)


def test_the_order_of_rows_tells_nothing(copied):
    rows = list(zip(*(copied.payload[name].to_pylist() for name in "xyz"), strict=True))
    assert rows == sorted(rows)


def test_bounds_hold():
    card = dc.Card("b", (dc.Column("x", dc.Kind.REAL, bounds=(0.0, 1.0)),))
    rng = np.random.default_rng(1)
    release = drafted(table(card, x=rng.normal(0, 1, 100)), Copula(margins="parametric"), 1)
    assert 0 <= min(release.payload["x"].to_pylist()) < max(release.payload["x"].to_pylist()) <= 1


def test_a_unit_with_several_rows_is_warned_of():
    card = dc.Card("people", people().card.columns, unit="id")
    release = drafted(dc.read(people(50).fetch(), card), Cart(), 1)
    assert any("belong to the same id is lost" in caveat for caveat in release.statement.caveats)


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(BadInput, match="is not a method of publish"):
        dc.publish(people(), Cart(), dc.KAnonymity(2))
    with pytest.raises(BadInput, match="is not a synthesizer"):
        synthesize(points(), dc.Noise(0.1))
    with pytest.raises(BadInput, match="takes a table with its card"):
        synthesize(people().payload(), Cart())
    taken = tmp_path / "taken.html"
    taken.write_text("a file")
    with pytest.raises(BadInput, match="already"):
        synthesize(people(), Cart(), to=tmp_path / "r", holder=taken)
    with pytest.raises(BadInput, match=r"copy is confidential, but .* is inside the release folder"):
        synthesize(people(), Cart(), to=tmp_path / "r", holder=tmp_path / "r" / "page.html")
    assert {path.name for path in tmp_path.iterdir()} == {"taken.html"}


def test_the_holders_copy_goes_if_the_release_cannot_be_written(tmp_path, monkeypatch):
    def fail(made, place):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("discreet.core.release.give_name", fail)
    with pytest.raises(BadInput, match="No space left"):
        synthesize(points(40), Noise(), to=tmp_path / "r", holder=tmp_path / "r.holder.parquet")
    assert not list(tmp_path.iterdir())
