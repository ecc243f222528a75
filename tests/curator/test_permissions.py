"""Nobody but its owner reads anything of a workspace, whatever the umask."""

import os
import stat
from contextlib import closing

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.curator.clinics import BUDGET, CARD, COUNT, clinic, visits

import discreet as dc
from discreet.core.document import readable_by_others
from discreet.curator.backup import back_up, receipts_in, restore
from discreet.curator.curator import Curator
from discreet.curator.people.state import State
from discreet.releases.register import Entry, Register
from discreet.service.jobs.places import Places
from discreet.service.jobs.specs import Publish
from discreet.service.jobs.work import Task, work


@pytest.fixture(autouse=True, params=[0o022, 0], ids=["umask 022", "umask 0"])
def _umask(request):
    before = os.umask(request.param)
    yield
    os.umask(before)


def open_to_others(folder):
    """What has any permission beyond its owner's."""
    return [str(path) for path in (folder, *folder.rglob("*")) if stat.S_IMODE(path.stat().st_mode) & 0o077]


def test_a_workspace_its_answers_and_its_copies_are_for_their_owner(tmp_path):
    folder = tmp_path / "clinic"
    with clinic(folder) as curator:
        curator.ask(COUNT, epsilon="0.5")
        curator.make_synthetic(dc.Synthesize(epsilon=1, by="independent", columns=["city"]), "visits")
        curator.ask("SELECT city, COUNT(*) AS n FROM visits GROUP BY city", epsilon=2, instead=True)
        with closing(State.open(curator.workspace)):
            assert (folder / "service.db").is_file()
            assert (folder / "tables" / "visits" / "twin.parquet").is_file()
            assert open_to_others(folder) == []  # while it is open, with the logs of its databases
        curator.add_table("more", visits(50), CARD, BUDGET)
        assert open_to_others(folder) == []
    with Register(str(folder / "register.db")) as register:
        register.add(Entry(0, "visits", "visits", "x", str(tmp_path / "r"), "k=5", 10), b"facts", b"people")
        assert open_to_others(folder) == []
    back_up(folder, tmp_path / "clinic.tar")
    assert (tmp_path / "clinic.tar").stat().st_mode & 0o077 == 0
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    back_up(folder, tmp_path / "loose.tar")  # of a workspace that others can read
    restore(tmp_path / "loose.tar", tmp_path / "again", newest=receipts_in(folder))
    assert open_to_others(tmp_path / "again") == []


def test_what_a_job_publishes_is_for_its_owner(tmp_path):
    folder = tmp_path / "clinic"
    card = dc.Card(
        "people",
        (
            dc.Column("age", dc.Kind.INTEGER, dc.Role.QUASI, bounds=(0, 9)),
            dc.Column("ill", dc.Kind.TEXT, dc.Role.SENSITIVE),
        ),
    )
    data = pa.table({"age": [n % 5 for n in range(100)], "ill": ["no"] * 100})
    pq.write_table(data, tmp_path / "people.parquet")
    Curator.create(folder, {"people": (tmp_path / "people.parquet", card)}, dc.Pure(1)).close()
    places = Places(folder)
    places.prepare()
    spec, id = Publish("people", (), "noise alpha=0.1 on age"), "20260101-people-00000000"
    places.run(id, 1).begin()
    task = Task(id, str(folder), spec.kind, "people", spec.to_dict(), str(places.run(id, 1).folder), "")
    work(task, lambda share, what: None)
    places.put_away(id, 1)
    assert (places.release(id) / "payload.parquet").is_file()
    assert open_to_others(folder) == []


def test_what_others_can_read_is_found(tmp_path):
    folder = tmp_path / "clinic"
    clinic(folder).close()
    assert readable_by_others(folder) == []
    folder.chmod(0o755)
    (folder / "tables" / "visits" / "twin.parquet").chmod(0o644)
    assert [path.name for path in readable_by_others(folder)] == ["clinic", "twin.parquet"]


def test_a_release_that_is_given_away_is_as_readable_as_anything(tmp_path):
    release = dc.publish(dc.samples.age6(), dc.Generalize(), dc.KAnonymity(2), to=tmp_path / "out")
    assert release is not None
    assert (tmp_path / "out" / "statement.json").stat().st_mode & 0o044
