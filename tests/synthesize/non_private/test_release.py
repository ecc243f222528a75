"""Synthetic tables on their way out: attacked first, and nothing of what was found leaves with them."""

import stat

import numpy as np
import pyarrow as pa
import pytest
from discreet.verbs.synthesize.non_private.release import _kept, _made
from tests.publish.mask.people import people
from tests.synthesize.non_private.tables import table

import discreet as dc
from discreet.errors import BadInput
from discreet.verbs.attack.finding import Outcome
from discreet.verbs.publish.mask.resample import Resample
from discreet.verbs.publish.publish import publish
from discreet.verbs.synthesize.non_private.attacked import _one_copy, _rehearsal
from discreet.verbs.synthesize.non_private.cart import Cart
from discreet.verbs.synthesize.non_private.copies import Copies
from discreet.verbs.synthesize.non_private.copula import Copula
from discreet.verbs.synthesize.non_private.redrawn import Redrawn
from discreet.verbs.synthesize.non_private.synthesizer import Synthetic


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
    said, page = [], tmp_path / "r.attacked.html"
    to = tmp_path / "r"
    release = publish(people(60), Cart(), to=to, csv=True, holder=page, seed=1, progress=lambda *at: said.append(at))
    assert said[0][0] == 0
    assert said[-1] == (1.0, "done")
    assert [at for at, _ in said] == sorted(at for at, _ in said)
    assert release.statement.loss is None
    assert not release.private
    assert any("Synthetic does not mean safe" in caveat for caveat in release.statement.caveats)
    assert {path.name for path in tmp_path.iterdir()} == {"r", "r.attacked.html"}
    assert stat.S_IMODE(page.stat().st_mode) == 0o600
    assert "for its holder alone" in page.read_text()
    saved = dc.Release.load(to)
    assert saved.payload.num_rows == 60
    assert "id" not in saved.payload.column_names
    assert saved.recipe.method == "synthesize cart"
    ran = [finding.attack for finding in release.report.findings if finding.outcome is not Outcome.FAILED]
    assert {"uniques matched exactly", "inference", "membership by the closest record"} <= set(ran)
    for file in to.iterdir():
        if file.suffix in (".json", ".html"):
            assert "matched" not in file.read_text()


@pytest.fixture(scope="module")
def copied():
    return publish(points(), Copy())


def test_a_copy_is_warned_of(copied):
    release = copied
    alone = next(one for one in release.report.findings if one.attack == "uniques matched exactly")
    assert any(f"{alone.details['unique']:,} are in the release, value by value" in alarm for alarm in release.alarms)
    assert any("membership" in alarm for alarm in release.alarms)
    assert all(alarm in str(release) for alarm in release.alarms)
    assert "Before this leaves" in release.page()
    assert "Before this leaves" in release._repr_html_()
    assert any(finding.victims for finding in release.report.findings)


def test_nothing_is_warned_of_where_nothing_was_learnt():
    release = publish(points(600), Noise(), seed=1)  # so many that chance alone is never a quarter beyond guessing
    assert release.report.findings
    assert not release.alarms
    assert "Before this leaves" not in release.page()


def test_victims_of_a_rehearsal_are_rows_of_the_table(copied):
    found = next(one for one in copied.report.findings if one.attack.startswith("membership"))
    assert "rehearsal" in found.meaning
    assert found.victims
    assert max(found.victims) < 150


def test_a_control_takes_the_place_of_the_rehearsal():
    release = publish(points(60), Noise(), control=points(60, seed=2))
    assert not any("rehearsal" in finding.meaning for finding in release.report.findings)
    assert not release.report.not_applicable
    few = table(x=np.arange(8), y=np.arange(8) % 2)
    assert _rehearsal(release, few, lambda people: _made(people, Cart(), 1), 1).release is release
    with pytest.raises(BadInput, match="control is for synthetic"):
        publish(points(), dc.Noise(0.1), control=points(seed=2))


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
    release = publish(points(60), Redrawn(Resample(2, ["y"])), seed=1)
    assert "uniqueness" in [finding.attack for finding in release.report.findings]
    assert any("as they were, row by row: x, z" in caveat for caveat in release.statement.caveats)
    several = _made(points(60), Copies(Cart(earlier=["x"]), 2), 1)
    assert (several.payload.num_rows, _one_copy(several).payload.num_rows) == (120, 60)


def test_the_order_of_rows_tells_nothing(copied):
    rows = list(zip(*(copied.payload[name].to_pylist() for name in "xyz"), strict=True))
    assert rows == sorted(rows)


def test_bounds_hold():
    card = dc.Card("b", (dc.Column("x", dc.Kind.REAL, bounds=(0.0, 1.0)),))
    rng = np.random.default_rng(1)
    release = _made(table(card, x=rng.normal(0, 1, 100)), Copula(margins="parametric"), 1)
    assert 0 <= min(release.payload["x"].to_pylist()) < max(release.payload["x"].to_pylist()) <= 1


def test_a_unit_with_several_rows_is_warned_of():
    card = dc.Card("people", people().card.columns, unit="id")
    release = _made(dc.read(people(50).fetch(), card), Cart(), 1)
    assert any("belong to the same id is lost" in caveat for caveat in release.statement.caveats)


def test_what_makes_no_sense_is_refused(tmp_path):
    with pytest.raises(BadInput, match="nobody's"):
        publish(people(), Cart(), dc.KAnonymity(2))
    with pytest.raises(BadInput, match="What a synthetic release adds"):
        publish(people(), Cart(), earlier=[publish(points(), dc.Noise(0.1))])
    taken = tmp_path / "taken.html"
    taken.write_text("a file")
    with pytest.raises(BadInput, match="already"):
        publish(people(), Cart(), to=tmp_path / "r", holder=taken)
    with pytest.raises(BadInput, match="must never leave"):
        publish(people(), Cart(), to=tmp_path / "r", holder=tmp_path / "r" / "page.html")
    assert {path.name for path in tmp_path.iterdir()} == {"taken.html"}


def test_the_page_goes_if_the_release_cannot_be_written(copied, tmp_path):
    page = tmp_path / "r.attacked.html"
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "file").write_text("somebody else was here")
    with pytest.raises(BadInput, match="empty"), _kept(copied, page):
        assert "for its holder alone" in page.read_text()
        copied.save(tmp_path / "r")
    assert {path.name for path in tmp_path.iterdir()} == {"r"}
