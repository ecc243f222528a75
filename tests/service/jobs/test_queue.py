"""Jobs as rows: whose a job is, and what becomes of it when its owner is gone; in a file and in PostgreSQL."""

import datetime as dt
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count

import pytest
from tests.curator.people.places import forget

from discreet.curator.people.audit import Audit
from discreet.curator.people.state import State
from discreet.curator.workspace import Workspace
from discreet.errors import BadInput, NotFound, Refused
from discreet.service.jobs.order import Estimate, JobLimits
from discreet.service.jobs.queue import Job, Queue

START = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def later():
    return dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)


@pytest.fixture(params=["sqlite", "postgres"])
def queue(request, tmp_path):
    if request.param == "postgres":
        import psycopg

        address = request.getfixturevalue("postgres_address")
        with psycopg.connect(address, autocommit=True) as connection:
            forget(connection)
        state = State.open(Workspace(tmp_path, address, {}))
    else:
        state = State.open(Workspace(tmp_path, "ledger.db", {}))
    yield Queue(state)
    assert Audit(state).verify().sound
    state.close()


@pytest.fixture
def add(queue):
    number = count(1)

    def put(by="ann", title="", key=None):
        n = next(number)
        spec = {"table": "stays", "title": title or f"Stays {n}"}
        job = Job(f"20260101-stays-{n:08}", "publish", by, "stays", spec, START, "waiting", None, "", None, "")
        return queue.find(queue.add(job, key))

    return put


def test_under_one_key_there_is_one_job_also_when_it_is_done(queue, add):
    first = add(title="Stays", key="a")
    assert add(title="Stays", key="a").id == add(title="Stays", key="b").id == first.id
    queue.done(queue.claim("here"), "made", first.id)
    assert [add(title="Stays", key=key).id for key in "ab"] == [first.id, first.id]
    with pytest.raises(BadInput, match="another job"):
        add(title="Others", key="a")
    others = [add("bob", title="Stays", key="a"), add(title="Stays", key="c")]
    assert len({first.id, *(job.id for job in others)}) == len(queue.all(10)) == 3


def test_a_job_that_came_to_nothing_is_submitted_again_under_its_key(queue, add):
    first = add(title="Stays", key="a")
    queue.cancel(first.id)
    second = add(title="Stays", key="a")
    assert second.id != first.id
    queue.failed(queue.claim("here"), "Nothing would be left.")
    third = add(title="Stays", key="a")
    assert (third.id, third.state) == (add(title="Stays", key="a").id, "waiting")
    assert [job.id for job in queue.all(10)] == [third.id, second.id, first.id]


def test_many_at_once_under_one_key_make_one_job(queue, add):
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: add(title="Stays", key="a").id, range(12)))
    assert len(set(found)) == len(queue.all(20)) == 1


def test_the_oldest_comes_first_and_the_others_know_how_many_are_before_them(queue, add):
    first, second, third = add(), add("bob"), add()
    assert queue.find(third.id).said == "2 jobs are before it."
    assert [job.id for job in queue.all(2)] == [third.id, second.id]
    claim = queue.claim("here")
    assert (claim.job.id, claim.run, claim.job.state) == (first.id, 1, "running")
    assert queue.beat(claim, 0.5, "halfway")
    assert (queue.find(first.id).progress, queue.find(first.id).said) == (0.5, "halfway")
    assert queue.find(second.id).said == "1 job is before it."
    assert queue.done(claim, "made", first.id)
    found = queue.find(first.id)
    assert (found.state, found.progress, found.said, found.result, found.over) == ("done", 1.0, "made", first.id, True)
    assert found.at == first.at and found.spec == first.spec
    with pytest.raises(NotFound):
        queue.find("nothing")


def test_a_job_has_one_owner(queue, add):
    for _ in range(6):
        add()
    taken = []
    threads = [threading.Thread(target=lambda name=name: taken.append(queue.claim(name).job.id)) for name in "abcdef"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(taken)) == 6 and queue.claim("g") is None


def test_an_owner_who_is_silent_loses_the_job_and_changes_nothing_any_more(queue, add):
    job = add()
    old = queue.claim("old")
    assert queue.take_over("new", START) is None
    new = queue.take_over("new", later())
    assert (new.job.id, new.run, new.settling) == (job.id, 1, False)
    assert queue.died(new, "Its service was gone.")
    assert "restarts from the beginning" in queue.find(job.id).said
    again = queue.claim("new")
    assert again.run == 2
    for late in (queue.beat(old, 0.9, "still here"), queue.settle(old), queue.done(old, "", None)):
        assert not late
    assert not queue.failed(old, "no") and not queue.died(old, "no") and not queue.give_back(old, "no")
    assert queue.died(again, "Its process ended by signal 9.")
    lost = queue.find(job.id)
    assert lost.state == "lost" and lost.error.startswith("Its process ended by signal 9.") and not lost.said
    queue.let_go(again)
    assert queue.claim("new") is None and queue.take_over("new", later()) is None


def test_how_a_job_ended_is_in_the_audit_log(queue, add):
    made, failed, stopped = add(), add("bob"), add()
    assert queue.done(queue.claim("here"), "made", made.id)
    claim = queue.claim("here")
    assert queue.failed(claim, "It cannot be.")
    assert not queue.failed(claim, "once more")
    queue.cancel(stopped.id)
    lines = queue._audit.lines()
    assert [(line.who, line.action, line.about["job"], line.about["ended"], line.well) for line in lines] == [
        ("ann", "publish", made.id, "done", True),
        ("bob", "publish", failed.id, "failed", False),
        ("ann", "publish", stopped.id, "cancelled", False),
    ]
    assert lines[0].about["release"] == made.id
    assert "cannot" not in str(lines)


def test_the_request_that_asked_for_a_job_is_in_the_log_and_in_the_audit_log(queue, caplog):
    job = Job("20260101-stays-1", "publish", "ann", "stays", {}, START, "waiting", None, "", None, "", None, "e5b1")
    queue.add(job)
    assert queue.counts() == {"waiting": 1, "running": 0, "done": 0, "failed": 0, "lost": 0, "cancelled": 0}
    for _ in range(2):
        claim = queue.claim("here")
        assert claim.job.request == "e5b1"
        assert queue.died(claim, "Its process ended by signal 9.")
    assert not queue.died(claim, "Once more.")
    assert [(one.levelname, one.request) for one in caplog.records] == [("WARNING", "e5b1"), ("ERROR", "e5b1")]
    assert "is lost: Its process ended by signal 9." in caplog.records[1].getMessage()
    assert queue.counts()["lost"] == 1
    [line] = queue._audit.lines()
    assert (line.about["ended"], line.about["request"]) == ("lost", "e5b1")


def test_a_planned_stop_does_not_count(queue, add):
    job = add()
    for _ in range(3):
        claim = queue.claim("here")
        assert claim.run == 1
        assert queue.give_back(claim, "The service was stopped.")
    assert queue.find(job.id).state == "waiting"


def test_what_is_made_is_put_away_and_not_cancelled(queue, add):
    job = add()
    assert queue.settle(queue.claim("old"))
    with pytest.raises(BadInput, match="almost done"):
        queue.cancel(job.id)
    claim = queue.take_over("new", later())
    assert claim.settling
    assert queue.done(claim, "made", None)
    with pytest.raises(BadInput, match="is done"):
        queue.cancel(job.id)


def test_a_cancelled_job_is_over_and_its_owner_is_told(queue, add):
    waiting, running = add(), add()
    queue.cancel(waiting.id)
    claim = queue.claim("here")
    queue.cancel(running.id)
    assert not queue.beat(claim, 0.5, "") and not queue.settle(claim)
    assert {queue.find(one.id).state for one in (waiting, running)} == {"cancelled"}
    orphan = queue.take_over("new", later())  # if the owner is gone, somebody clears up
    assert orphan.job.over
    queue.let_go(orphan)
    assert queue.take_over("new", later()) is None
    with pytest.raises(NotFound):
        queue.cancel("nothing")


def test_the_durations_of_jobs_that_ended_well_are_known(queue, add):
    done, failed = add(), add()
    assert queue.estimate("publish", "stays") == Estimate([], None)
    assert queue.find(done.id).began is None
    queue.done(queue.claim("here"), "made", done.id)
    queue.failed(queue.claim("here"), "Nothing would be left.")
    assert queue.find(failed.id).began >= queue.find(done.id).began
    [seconds] = queue.estimate("publish", "stays").seconds
    assert 0 <= seconds < 60
    assert queue.estimate("publish", "others") == queue.estimate("tabulate", "stays") == Estimate([], None)


def test_people_take_turns_and_one_has_no_more_than_may_run(queue, add):
    queue._limits = JobLimits(at_once=4, per_person=2)
    first = [add("ann") for _ in range(4)]
    [last] = [add("bob")]
    taken = [queue.claim(f"here:1:{runner}") for runner in range(4)]
    assert [claim and claim.job.id for claim in taken] == [first[0].id, last.id, first[1].id, None]
    assert queue.done(taken[0], "made", None)
    assert queue.claim("here:1:5").job.id == first[2].id


def test_no_more_than_so_many_jobs_of_a_person_wait(queue, add):
    queue._limits = JobLimits(waiting=2)
    jobs = [add("ann"), add("ann")]
    with pytest.raises(Refused, match="2 jobs of ann wait already"):
        add("ann")
    add("bob")
    queue.cancel(jobs[0].id)
    add("ann")


def test_what_a_job_will_take_is_known_from_those_before_it(queue, add):
    done = add()
    claim = queue.claim("here:1:a")
    queue.note_peak(claim, 300_000_000)
    queue.note_peak(claim, 5_000_000_000)
    assert queue.done(claim, "made", None)
    waiting = add(title="Another")
    assert queue.find(waiting.id).expected_bytes == 5_000_000_000
    assert queue.find(waiting.id).expected_seconds < 60
    assert (queue.find(done.id).expected_seconds, queue.find(done.id).expected_bytes) == (None, None)
