"""Turns are fair between people, and answers are released at few moments."""

from __future__ import annotations

import asyncio
import itertools
import threading

import pytest
from tests.loops import run

from discreet.errors import TooMany
from discreet.service.turns import FIRST_STEP, RATIO, Turns, released_after


class Gate:
    """Work that ends when it is let go, and says in which order it began."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.go = threading.Event()

    def work(self, name: str) -> str:
        self.began.append(name)
        assert self.go.wait(60)
        return name


async def _until(condition: object) -> None:
    while not condition():  # type: ignore[operator]
        await asyncio.sleep(0)


def test_everybody_has_one_question_under_way_and_the_others_wait() -> None:
    async def act() -> None:
        turns, gate = Turns(8, 8), Gate()
        asked = [asyncio.create_task(turns.work("eve", lambda n=n: gate.work(f"eve {n}"))) for n in range(4)]
        await _until(lambda: gate.began)
        other = asyncio.create_task(turns.work("ann", lambda: gate.work("ann")))
        await _until(lambda: "ann" in gate.began)
        assert gate.began == ["eve 0", "ann"], "ann does not wait for eve's"
        gate.go.set()
        await asyncio.gather(*asked, other)
        assert gate.began == ["eve 0", "ann", "eve 1", "eve 2", "eve 3"]

    run(act())


def test_turns_go_round_when_there_are_few() -> None:
    async def act() -> None:
        turns, gate = Turns(1, 8), Gate()
        names = ["eve", "eve", "eve", "ann", "bob", "ann"]
        asked = [asyncio.create_task(turns.work(name, lambda name=name: gate.work(name))) for name in names]
        await _until(lambda: gate.began)
        gate.go.set()
        await asyncio.gather(*asked)
        assert gate.began == ["eve", "ann", "bob", "eve", "ann", "eve"]

    run(act())


def test_a_line_is_short_and_ends_what_is_given_up() -> None:
    async def act() -> None:
        turns, gate = Turns(4, 2), Gate()
        first = asyncio.create_task(turns.work("eve", lambda: gate.work("first")))
        await _until(lambda: gate.began)
        second, third = (asyncio.create_task(turns.work("eve", lambda n=n: gate.work(n))) for n in ("2", "3"))
        await asyncio.sleep(0)
        with pytest.raises(TooMany, match="waiting"):
            await turns.work("eve", lambda: gate.work("4"))
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        gate.go.set()
        assert [await first, await third] == ["first", "3"]
        assert await turns.work("eve", lambda: "free again") == "free again"

    run(act())


def test_a_queue_is_stalled_while_someone_waits_for_others_and_no_turn_begins() -> None:
    async def act() -> None:
        waited: list[float] = []
        turns, gate = Turns(1, 8, waited.append), Gate()
        first = asyncio.create_task(turns.work("eve", lambda: gate.work("first")))
        await _until(lambda: gate.began)
        own = asyncio.create_task(turns.work("eve", lambda: gate.work("second")))
        await _until(lambda: turns.in_line)
        assert (turns.running, turns.in_line, turns.stalled()) == (1, 1, 0.0), "eve waits behind herself"
        other = asyncio.create_task(turns.work("ann", lambda: gate.work("ann")))
        await _until(lambda: turns.in_line == 2)
        assert turns.stalled() > 0
        gate.go.set()
        await asyncio.gather(first, own, other)
        assert (turns.running, turns.in_line, turns.stalled()) == (0, 0, 0.0)
        assert len(waited) == 3

    run(act())


def test_what_fails_gives_its_turn_back() -> None:
    async def act() -> None:
        turns = Turns(1, 1)
        released: list[str] = []
        for _ in range(3):
            with pytest.raises(ZeroDivisionError):
                await turns.answer("eve", lambda: 1 // 0, lambda _: released.append("never"))
        assert await turns.answer("ann", lambda: "a", released.append) == "a"
        assert released == ["a"]

    run(act())


def test_answers_are_released_at_few_moments() -> None:
    moments = {released_after(seconds / 1000) for seconds in range(1, 60_001)}
    assert len(moments) < 35
    assert min(moments) == FIRST_STEP
    for seconds in (0.0, 0.05, 0.050001, 0.0625, 0.3, 1.0, 59.9):
        assert seconds <= released_after(seconds) <= max(FIRST_STEP, seconds * RATIO * (1 + 1e-9))
    ordered = sorted(moments)
    assert all(after / before == pytest.approx(RATIO) for before, after in itertools.pairwise(ordered))


def test_an_answer_is_shown_to_nobody_before_its_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither given nor listed; and whoever asked begins nothing else, while others do."""

    async def act() -> None:
        slept: list[float] = []
        moment, order = asyncio.Event(), []

        async def sleep(seconds: float) -> None:
            slept.append(seconds)
            await moment.wait()

        monkeypatch.setattr("discreet.service.turns.asyncio.sleep", sleep)
        turns = Turns(1, 8)
        mine = asyncio.create_task(turns.answer("eve", lambda: order.append("made"), lambda _: order.append("listed")))
        while not slept:
            await asyncio.wait([mine], timeout=0.01)
        next_ = asyncio.create_task(turns.work("eve", lambda: order.append("next")))
        await turns.work("ann", lambda: order.append("ann"))
        assert order == ["made", "ann"] and 0 < slept[0] <= FIRST_STEP
        moment.set()
        await asyncio.gather(mine, next_)
        assert order == ["made", "ann", "listed", "next"]

    run(act())
