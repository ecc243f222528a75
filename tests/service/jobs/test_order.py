"""Which job begins next."""

import os

import pytest

from discreet.service.jobs.order import (
    Estimate,
    JobLimits,
    Queued,
    free_memory,
    next_job,
    out_of_memory_kills,
    peak_memory,
)

LONG, SHORT, LARGE = Estimate([500.0]), Estimate([5.0]), Estimate([5.0], 8_000)
KNOWN = {"publish": LONG, "tabulate": SHORT, "learn": LARGE}


def job(name, person="ann", kind="tabulate", *, here=True):
    return Queued(name, kind, person, "stays", here=here)


def chosen(waiting, running=(), *, last=None, free=10_000, **limits):
    found = next_job(
        waiting,
        running,
        last or {},
        JobLimits(**limits),
        estimate=lambda kind, _: KNOWN.get(kind, Estimate()),
        free_bytes=lambda: free,
    )
    return found and found.id


def test_the_person_with_fewest_jobs_running_is_next_then_who_waited_longest_then_the_oldest_job():
    waiting = [job("a1"), job("a2"), job("b1", "bob"), job("c1", "cleo")]
    assert chosen(waiting) == "a1"
    assert chosen(waiting, [job("a0")]) == "b1"
    assert chosen(waiting, [job("a0")], last={"bob": "2026-01-02", "cleo": "2026-01-01"}) == "c1"
    assert chosen(waiting, last={"ann": "2026-01-03"}) == "b1"
    assert chosen(waiting, last={"ann": "2026-01-01", "bob": "2026-01-02", "cleo": "2026-01-03"}) == "a1"


def test_a_person_has_no_more_than_may_run():
    running = [job("a0"), job("a9", here=False)]
    assert chosen([job("a1")], running, per_person=2) is None
    assert chosen([job("a1")], running[:1], per_person=2) == "a1"
    assert chosen([job("a1"), job("b1", "bob")], running, per_person=2) == "b1"


def test_one_place_is_left_to_jobs_that_are_not_long():
    long, short, new = job("l", kind="publish"), job("s", kind="tabulate"), job("n", kind="attack")
    assert chosen([long, short], [long]) == "s"
    assert chosen([long, new], [long]) == "n"
    assert chosen([long], [long]) is None
    assert chosen([long], [job("x", kind="publish", here=False)]) == "l"  # the places are those of a process
    assert chosen([long], [long], at_once=3) == "l"
    assert chosen([long], [], at_once=1) == "l"


def test_a_large_job_waits_until_its_memory_is_there_or_nothing_else_runs():
    large = job("m", kind="learn")
    assert chosen([large, job("s")], [job("r")], free=7_999) == "s"
    assert chosen([large], [job("r")], free=8_000) == "m"
    assert chosen([large], free=0) == "m"
    assert chosen([large], [job("r")], free=None) == "m"


def test_nothing_waits():
    assert chosen([]) is None


def test_the_system_says_what_memory_there_is():
    if (free := free_memory()) is None:
        pytest.skip("not Linux")
    assert free > 10**6
    assert (peak_memory(os.getpid()) or 0) > 10**6
    assert peak_memory(2**22 + 1) is None
    assert (out_of_memory_kills() or 0) >= 0
