"""Jobs in processes of their own, which are killed, and are never silently gone."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from tests.releases.registers import listed

from discreet.core.loss import Approximate
from discreet.curator.curator import Curator
from discreet.curator.people.state import State
from discreet.curator.release_index import Shelf
from discreet.curator.workspace import open_workspace
from discreet.errors import BadInput, NotFound
from discreet.service.jobs.jobs import Jobs
from discreet.service.jobs.order import JobLimits
from discreet.service.jobs.specs import Attack, Compare, Hide, Learn, Publish, Tabulate
from discreet.service.jobs.work import work

SPEC = Publish("stays", (), "noise alpha=0.1 on age", title="Stays")
SERVICE = """
import sys, time
from pathlib import Path
from discreet.curator.people.state import State
from discreet.curator.workspace import open_workspace
from discreet.service.jobs.jobs import Jobs
from discreet.service.jobs.order import JobLimits

folder = Path(sys.argv[1])
jobs = Jobs(State.open(open_workspace(folder)), folder, limits=JobLimits(1))
jobs.start()
while jobs._runners[0].child is None:
    time.sleep(0.01)
print(jobs._runners[0].child.pid, flush=True)
time.sleep(600)
"""


KILLED = """
import json, os, signal, sys
from discreet.service.jobs.work import Task, work
from discreet.verbs.learn.private.naive_bayes import NaiveBayes

NaiveBayes.run = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
work(Task(**json.loads(sys.argv[1])), lambda share, what: None)
"""


def left_in(folder):
    """All that jobs left in a workspace, whole or not."""
    return sorted(path.name for room in ("papers", "published") for path in (folder / room).iterdir())


def gone(pid):
    """Whether a process is no more, or waits only to be noticed."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def begun(folder, job):
    """Whether the first process of a job has begun to write."""
    return (folder / "papers" / f".{job.id}.1").is_dir()


def whole(folder, job):
    """Whether there is a release, its papers, and nothing else."""
    return left_in(folder) == [job.id, job.id, f"{job.id}.holder.html", f"{job.id}.holder.parquet"]


def test_a_service_that_is_killed_takes_its_job_with_it_and_the_next_begins_it_again(jobs, folder, until):
    job = jobs.submit(SPEC, "steward")
    assert (job.state, job.by, job.table, job.progress) == ("waiting", "steward", "stays", None)
    with subprocess.Popen([sys.executable, "-c", SERVICE, str(folder)], stdout=subprocess.PIPE, text=True) as service:
        child = int(service.stdout.readline())
        until(lambda: begun(folder, job))
        service.kill()
    until(lambda: gone(child))
    assert jobs.find(job.id).state == "running"
    with pytest.raises(BadInput, match="is running, so it has no result"):
        jobs.result(job.id)
    jobs.start()
    until(lambda: jobs.find(job.id).over and whole(folder, job))
    found = jobs.find(job.id)
    assert (found.state, found.result, found.error, found.progress) == ("done", job.id, "", 1.0)
    assert jobs.result(job.id)["release"] == job.id
    assert jobs.paper(job.id, "holder.html").is_file()
    [shelved] = Shelf(jobs._queue._state, open_workspace(folder)).all()
    assert (shelved.id, shelved.kind, shelved.tables, shelved.title) == (job.id, "published", ("stays",), "Stays")
    assert (shelved.by, shelved.shared, shelved.private) == ("steward", False, False)
    [written] = listed(folder / "register.db")
    assert written.release == str(folder / "published" / job.id) and written.rows == 200


@pytest.mark.slow
def test_a_model_whose_process_is_killed_after_the_charge_is_charged_once(jobs, folder, until):
    job = jobs.submit(Learn("stays", "naive-bayes target=disease epsilon=0.5 on ward"), "steward")
    jobs._places.prepare()
    claim = jobs._queue.claim("a service that dies")
    jobs._places.run(job.id, 1).begin()
    dead = subprocess.run(
        [sys.executable, "-c", KILLED, json.dumps(asdict(jobs._task(claim)))],
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert dead.returncode == -signal.SIGKILL
    with Curator(folder) as curator:
        assert curator.ledger.account("stays").spent == Approximate("0.5", 0), "it was charged"
        assert list(curator.workspace.releases.iterdir()) == []
    jobs.start()
    until(lambda: jobs.find(job.id).over)
    found = jobs.find(job.id)
    assert (found.state, found.error) == ("done", "")
    with Curator(folder) as curator:
        assert curator.ledger.account("stays").spent == Approximate("0.5", 0), "and once"
        assert [place.name for place in curator.workspace.releases.iterdir()] == [found.result]
        assert curator.verify().sound
    [shelved] = Shelf(jobs._queue._state, open_workspace(folder)).all()
    assert (shelved.id, shelved.kind, shelved.title) == (found.result, "learnt", "stays, naive-bayes")
    assert (shelved.by, shelved.shared, shelved.private) == ("steward", False, True)


def test_a_job_whose_process_is_killed_twice_is_lost_and_says_so(jobs, folder, until):
    job = jobs.submit(SPEC, "steward")
    jobs.start()
    until(lambda: begun(folder, job))
    os.kill(first := jobs._runners[0].child.pid, signal.SIGKILL)
    until(lambda: (child := jobs._runners[0].child) is not None and child.pid != first)
    os.kill(jobs._runners[0].child.pid, signal.SIGKILL)
    until(lambda: jobs.find(job.id).over)
    found = jobs.find(job.id)
    assert found.state == "lost" and "ended by signal 9" in found.error and "Nothing was released" in found.error
    assert left_in(folder) == [] and listed(folder / "register.db") == []


def test_the_same_job_is_submitted_once_until_it_is_over(jobs):
    with ThreadPoolExecutor(4) as threads:
        clicked = [one.result() for one in [threads.submit(jobs.submit, SPEC, "steward") for _ in range(8)]]
    assert len({job.id for job in clicked}) == len(jobs.all()) == 1
    others = [jobs.submit(replace(SPEC, title="Other"), "steward"), jobs.submit(SPEC, "stella")]
    assert len(jobs.all()) == 3, "another title, or another person"
    jobs.cancel(clicked[0].id)
    assert jobs.submit(SPEC, "steward").id not in {clicked[0].id, *(job.id for job in others)}


def test_a_cancelled_job_leaves_nothing_and_a_stop_gives_one_back(jobs, folder, until):
    first, second, third = (jobs.submit(replace(SPEC, title=title), "steward") for title in ("one", "two", "three"))
    assert [job.id for job in jobs.all()] == [third.id, second.id, first.id]
    jobs.cancel(second.id)
    jobs.start()
    until(lambda: begun(folder, first))
    child = jobs._runners[0].child.pid
    jobs.cancel(first.id)
    until(lambda: gone(child) and left_in(folder) == [])
    until(lambda: jobs.find(third.id).state == "running" and jobs._runners[0].child is not None)
    child = jobs._runners[0].child.pid
    jobs.stop(0)
    assert [job.state for job in jobs.all()] == ["waiting", "cancelled", "cancelled"]
    assert "restarts with the service" in jobs.find(third.id).said
    assert gone(child) and left_in(folder) == []


def test_a_fault_is_told_without_what_it_says(jobs, folder, until, caplog):
    job = jobs.submit(Tabulate("stays", ("ward × disease",), None, (), "cell-key"), "steward")
    jobs._places.prepare()
    (folder / "papers" / "stays.secret").mkdir()
    jobs.start()
    until(lambda: jobs.find(job.id).over and left_in(folder) == ["stays.secret"])
    found = jobs.find(job.id)
    assert found.state == "failed" and "internal error" in found.error
    log = found.error.partition("(log ")[2].partition(")")[0]
    [line] = [record.getMessage() for record in caplog.records if log in record.getMessage()]
    assert "IsADirectoryError" in line and "perturb/record_keys.py" in line and str(folder) not in line


def test_nothing_leaves_while_the_register_is_something_else(jobs, folder, until):
    job = jobs.submit(SPEC, "steward")
    (folder / "register.db").mkdir()
    jobs.start()
    until(lambda: jobs.find(job.id).over and left_in(folder) == [])
    found = jobs.find(job.id)
    assert found.state == "failed" and "register.db is a folder, not a register" in found.error


def test_what_was_made_is_put_away_by_the_next_service(jobs, folder, until):
    """A service that is killed after all is made, while it gets its names."""
    job = jobs.submit(SPEC, "steward")
    jobs._places.prepare()
    claim = jobs._queue.claim("a service that dies")
    jobs._places.run(job.id, 1).begin()
    work(jobs._task(claim), lambda share, what: None)
    assert jobs._queue.settle(claim)
    (folder / "papers" / f".{job.id}.1" / "papers").rename(folder / "papers" / job.id)
    jobs.start()
    until(lambda: jobs.find(job.id).over and whole(folder, job))
    assert jobs.find(job.id).state == "done"
    assert len(listed(folder / "register.db")) == 1


def test_what_can_be_said_against_a_job_is_said_at_once(jobs):
    wrong = {
        "no table about people": Publish("nothing", ("k=3",)),
        "No privacy model given": Publish("stays", ()),
        "no privacy model": Publish("stays", ("magic",)),
        "the service cannot take": Publish("stays", ("k-map=3 in /etc/passwd",)),
        "no method 'magic'": Publish("stays", ("k=3",), "magic"),
        "suppress does not apply to method mondrian": Publish("stays", ("k=3",), "mondrian", "5%"),
        "suppress must be at most 100 %, got 200%": Publish("stays", ("k=3",), suppress="200%"),
        "has no column 'wards'": Tabulate("stays", ("wards",), None, ("min=3",)),
        "has no column 'price'": Tabulate("stays", ("ward",), "price", ("min=3",)),
        "add rules": Tabulate("stays", ("ward",), None, ()),
        "no table method 'noise": Tabulate("stays", ("ward",), None, (), "noise epsilon=1"),
        "no column 'wards'": Hide("stays", "5%", itemsets=("ward=north",), columns=("wards",)),
        "is an identifier": Hide("stays", "5%", itemsets=("ward=north",), columns=("person", "ward")),
        "'wards=north' is not an item": Hide("stays", "5%", itemsets=("wards=north",)),
        "'age=30' is not an item": Hide(
            "stays", "5%", itemsets=("ward=north",), columns=("ward", "disease"), keep=("age=30",)
        ),
        "No secret given": Hide("stays", "5%"),
        "No confidence given": Hide("stays", "5%", rules=("ward=north => disease=flu",)),
        "The support must be at most 100 %, got 200%": Hide("stays", "200%", itemsets=("ward=north",)),
        "no hiding method 'magc'": Hide("stays", "5%", itemsets=("ward=north",), method="magc"),
        "no learner": Learn("stays", "magic integral=20"),
        "has no column 'illness'": Learn("stays", "tree target=illness integral=20"),
        "no masking method": Compare("stays", methods=("magic",)),
        "no such release": Attack("20260101-stays-00000000"),
    }
    for said, spec in wrong.items():
        with pytest.raises(BadInput, match=said):
            jobs.submit(spec, "steward")
    assert jobs.all() == []
    for name in ("../../etc/passwd", "report.html"):
        with pytest.raises(NotFound):
            jobs.paper("nothing", name)


def test_two_jobs_run_at_once(folder, until):
    state = State.open(open_workspace(folder))
    jobs = Jobs(state, folder, limits=JobLimits(2))
    both = [jobs.submit(replace(SPEC, title=title), "steward") for title in ("one", "two")]
    jobs.start()
    until(lambda: all(begun(folder, job) for job in both))
    jobs.stop(0)
    assert {jobs.find(job.id).state for job in both} <= {"waiting", "done"}
    state.close()


def test_a_job_that_was_killed_for_memory_says_so(jobs, folder, until, monkeypatch):
    """The system counts the processes that it ends for memory; here the count grows with the kill."""
    from discreet.service.jobs import runner

    kills = [7]
    monkeypatch.setattr(runner, "out_of_memory_kills", lambda: kills[0])
    job = jobs.submit(SPEC, "steward")
    jobs.start()
    until(lambda: begun(folder, job) and jobs._runners[0].child.peak)
    first = jobs._runners[0].child.pid
    kills[0] += 1
    os.kill(first, signal.SIGKILL)
    until(lambda: (child := jobs._runners[0].child) is not None and child.pid != first)
    said = jobs.find(job.id).said
    until(lambda: jobs._runners[0].child.peak)
    kills[0] += 1
    os.kill(jobs._runners[0].child.pid, signal.SIGKILL)
    until(lambda: jobs.find(job.id).over)
    found = jobs.find(job.id)
    assert found.state == "lost", said
    assert found.error.startswith("The system ended its process because memory ran out, when it had ")
    assert " megabyte" in found.error
