"""Group commit: nobody is forgotten, nobody waits for a crowd that does not come."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from discreet.budget.group import Group
from discreet.errors import LedgerError


def test_everybody_gets_the_answer_to_their_own_request() -> None:
    group: Group[int, int] = Group(lambda numbers: [number * number for number in numbers])
    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(group.submit, range(500))) == [n * n for n in range(500)]
    group.close()


def test_those_who_wait_together_are_written_together() -> None:
    batches: list[int] = []
    first, go_on = threading.Event(), threading.Event()

    def work(numbers: Sequence[int]) -> list[int]:
        batches.append(len(numbers))
        first.set()
        go_on.wait()
        return list(numbers)

    group: Group[int, int] = Group(work)
    with ThreadPoolExecutor(9) as pool:
        lone = pool.submit(group.submit, 0)
        first.wait()
        crowd = [pool.submit(group.submit, n) for n in range(1, 9)]
        while group._waiting.qsize() < 8:
            pass
        go_on.set()
        assert lone.result() == 0
        assert [one.result() for one in crowd] == list(range(1, 9))
    assert batches == [1, 8]
    group.close()


def test_an_error_for_one_is_not_one_for_all() -> None:
    group: Group[int, int] = Group(lambda ns: [LedgerError("odd") if n % 2 else n for n in ns])
    assert group.submit(2) == 2
    with pytest.raises(LedgerError, match="odd"):
        group.submit(3)
    group.close()


def test_when_writing_fails_all_who_waited_hear_of_it_and_the_next_are_served() -> None:
    def work(numbers: Sequence[int]) -> list[int]:
        return [10 // number for number in numbers]

    group: Group[int, int] = Group(work)
    with pytest.raises(ZeroDivisionError):
        group.submit(0)
    assert group.submit(5) == 2
    group.close()


def test_a_closed_group_serves_nobody_and_closes_twice() -> None:
    group: Group[int, int] = Group(list)
    group.close()
    group.close()
    with pytest.raises(LedgerError, match="closed"):
        group.submit(1)


def test_a_forked_process_is_told_and_does_not_wait_for_a_thread_it_does_not_have() -> None:
    group: Group[int, int] = Group(list)
    child = os.fork()
    if child == 0:
        try:
            group.submit(1)
        except LedgerError as error:
            os._exit(7 if "another process" in error.message else 1)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert group.submit(1) == 1
    group.close()
