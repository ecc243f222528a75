"""Retention: what is old goes, and no question is answered twice for one charge."""

import datetime as dt
from contextlib import closing
from dataclasses import replace

import pytest
from tests.curator.clinics import COUNT, clinic

from discreet.core.loss import Pure
from discreet.curator import trimming
from discreet.curator.backup import back_up, restore
from discreet.curator.curator import Curator
from discreet.curator.people.audit import Audit
from discreet.curator.people.state import State
from discreet.curator.release_index import Shelf
from discreet.curator.trimming import RetentionRule, trim
from discreet.errors import BadInput, NotFound, Refused
from discreet.releases.store import Store

OTHER = "SELECT COUNT(*) AS m FROM visits WHERE city = 'Rome'"


def later(days):
    return dt.datetime.now(dt.UTC) + dt.timedelta(days=days)


@pytest.fixture
def folder(tmp_path):
    """A clinic that was asked twice, each answer in the release index."""
    with clinic(tmp_path / "clinic") as curator:
        curator.ask(COUNT, epsilon="0.25")
        curator.ask(OTHER, epsilon="0.25")
        with closing(State.open(curator.workspace)) as state:
            assert Shelf(state, curator.workspace).adopt() == 2
    return tmp_path / "clinic"


def test_a_deleted_answer_is_not_given_again_and_not_drawn_anew(folder, tmp_path):
    with Curator(folder) as curator:
        before = curator.left("visits")
    assert trim(folder, RetentionRule(answers=30), by="sue", now=later(29)) == []
    found = trim(folder, RetentionRule(answers=30), by="sue", now=later(31))
    assert [one.kind for one in found] == ["answers", "answers"] and all(one.bytes for one in found)
    assert list((folder / "releases").iterdir()) == []
    with Curator(folder) as curator:
        assert curator.verify().sound
        for _ in range(3):
            with pytest.raises(Refused, match="the answer was deleted on"):
                curator.ask(COUNT, epsilon="0.25")
            with pytest.raises(Refused, match="the answer was deleted on"):
                curator.ask_all([COUNT, OTHER], epsilon="0.5")
        assert curator.left("visits") == before
        paid = curator.ask(COUNT, epsilon="0.125")  # at another price it is another question
        assert not paid.free and curator.left("visits").analyst != before.analyst
        with closing(State.open(curator.workspace)) as state:
            [line] = [one for one in Audit(state).lines() if one.action == "trim"]
            assert (line.who, line.about["answers"], line.about["jobs"]) == ("sue", "2", "0")
            with pytest.raises(NotFound):
                Shelf(state, curator.workspace).find(found[0].place.name)
    back_up(folder, tmp_path / "clinic.tar")  # which misses nothing
    restore(tmp_path / "clinic.tar", tmp_path / "again", forget=True)
    with Curator(tmp_path / "again") as curator, pytest.raises(Refused, match="the answer was deleted on"):
        curator.ask(COUNT, epsilon="0.25")


def test_a_dry_run_deletes_nothing(folder):
    before = {path for path in folder.rglob("*") if path.is_file()}
    assert len(trim(folder, RetentionRule(answers=1), by="sue", dry_run=True, now=later(2))) == 2
    assert before <= set(folder.rglob("*"))
    with Curator(folder) as curator:
        assert curator.ask(COUNT, epsilon="0.25").free


def test_a_crash_before_the_deletion_leaves_the_answer_that_was_given(folder, monkeypatch):
    with Curator(folder) as curator:
        before = curator.ask(COUNT, epsilon="0.25")
    with monkeypatch.context() as crash:
        crash.setattr(trimming, "_delete", lambda place: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            trim(folder, RetentionRule(answers=1), by="sue", now=later(2))
    with Curator(folder) as curator:
        after = curator.ask(COUNT, epsilon="0.25")
        assert after.free and after.table.equals(before.table)
    assert len(trim(folder, RetentionRule(answers=1), by="sue", now=later(2))) == 2
    with Curator(folder) as curator, pytest.raises(Refused):
        curator.ask(COUNT, epsilon="0.25")


def test_an_answer_that_a_crash_left_unsealed_is_not_drawn_anew_once_it_was_deleted(folder, monkeypatch):
    """A steward may have downloaded it from the release index."""
    third = "SELECT COUNT(*) AS m FROM visits WHERE city = 'Turin'"

    def killed(*_):
        raise KeyboardInterrupt

    with Curator(folder) as curator, monkeypatch.context() as patch:
        patch.setattr(Store, "_seal", killed)
        with pytest.raises(KeyboardInterrupt):
            curator.ask(third, epsilon="0.25")
    with Curator(folder) as curator, closing(State.open(curator.workspace)) as state:
        assert Shelf(state, curator.workspace).adopt() == 1
    assert len(trim(folder, RetentionRule(answers=30), by="sue", now=later(31))) == 3
    with Curator(folder) as curator, pytest.raises(Refused, match="the answer was deleted on"):
        curator.ask(third, epsilon="0.25")


def test_what_a_table_a_stand_in_or_a_stream_needs_stays(tmp_path):
    import discreet as dc

    with clinic(tmp_path / "clinic") as curator:
        curator.make_synthetic(dc.Synthesize(epsilon="0.5", delta="1e-9", by="independent", columns=["city"]), "visits")
    folder = tmp_path / "clinic"
    old = {}
    for name in (
        "uploads/0123456789ab-visits.csv",
        "published/one.holder.parquet",
        "papers/20260101-visits-00ff/map.html",
    ):
        old[name] = folder / name
        old[name].parent.mkdir(parents=True, exist_ok=True)
        old[name].write_text("rows")
    kept = [folder / name for name in ("published/one/payload.csv", "papers/points/one", "papers/visits.secret")]
    for path in kept:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("kept")
    twins = list(folder.glob("tables/**/twin.parquet"))
    found = trim(folder, RetentionRule(1, 1, 1, 1, 1), by="sue", now=later(2))
    assert {one.kind for one in found} == {"jobs", "holder_copies", "uploads"}
    assert not any(path.exists() for path in old.values())
    assert all(path.exists() for path in kept + twins) and twins
    with Curator(folder) as curator:
        assert curator.synthetic("visits") is not None
        assert curator.verify().sound


def test_an_upload_that_a_table_was_made_of_stays_by_whatever_path_the_workspace_is_opened(tmp_path):
    import pyarrow.parquet as pq
    from tests.curator.clinics import CARD, visits

    with clinic(tmp_path / "clinic") as curator:
        source = curator.workspace.folder / "uploads" / "0123456789ab-visits.parquet"
        source.parent.mkdir()
        pq.write_table(visits(), source)
        curator.add_table("more", str(source), replace(CARD, name="more"), Pure(1))
    (tmp_path / "live").symlink_to(tmp_path / "clinic", target_is_directory=True)
    assert trim(tmp_path / "live", RetentionRule(uploads=1), by="sue", now=later(2)) == []
    assert source.exists()


def test_replaced_bounded_tables_go_and_the_present_one_stays(tmp_path):
    import pyarrow.parquet as pq
    from tests.curator.clinics import BUDGET, CARD, visits
    from tests.curator.test_revisions import WIDER

    pq.write_table(visits(), tmp_path / "visits.parquet")
    with Curator.create(tmp_path / "clinic", {"visits": (tmp_path / "visits.parquet", CARD)}, BUDGET) as curator:
        curator.ask(COUNT, epsilon=1)
        curator.revise_card("visits", WIDER)
    [one] = trim(tmp_path / "clinic", RetentionRule(versions=1), by="sue", now=later(2))
    assert one.kind == "versions" and not one.place.exists()
    with Curator(tmp_path / "clinic") as curator:
        assert curator.verify().sound
        curator.ask(OTHER, epsilon="0.5")


@pytest.mark.parametrize("days", [{}, {"answers": 0}, {"jobs": -1}])
def test_a_rule_names_something_and_keeps_it_for_a_day(days):
    with pytest.raises(BadInput):
        RetentionRule(**days)
