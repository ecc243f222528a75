"""What a large question leaves behind is collected in its own turn, and nothing else is."""

from __future__ import annotations

import gc
import sys
import threading
import weakref
from collections.abc import Iterator

import pytest
from tests.loops import run

from discreet.service import garbage
from discreet.service.turns import Turns


class Node:
    """Part of a tree that knows its parent, as those of SQL do."""

    def __init__(self, parent: Node | None = None) -> None:
        self.parent = parent
        self.children: list[Node] = []

    def grow(self, count: int) -> Node:
        self.children = [Node(self) for _ in range(count)]
        return self


@pytest.fixture(autouse=True)
def collected(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The generations that were collected, with a collector set up as in a service, for much smaller questions."""
    generations: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            generations.append(info["generation"])

    monkeypatch.setattr(garbage, "_THRESHOLDS", (1_000, 1_000, 1_000))
    thresholds, switch = gc.get_threshold(), sys.getswitchinterval()
    garbage.configure()
    gc.callbacks.append(note)
    yield generations
    gc.callbacks.remove(note)
    gc.callbacks.remove(garbage._count)
    gc.set_threshold(*thresholds)
    sys.setswitchinterval(switch)


def _large(trees: list[weakref.ref[Node]], count: int = 20_000) -> None:
    tree = Node().grow(count)
    trees.append(weakref.ref(tree))


def _refused(trees: list[weakref.ref[Node]]) -> None:
    tree = Node().grow(20_000)
    trees.append(weakref.ref(tree))
    try:
        _large(trees)
        raise KeyError("inside")
    except KeyError:
        other = Node().grow(10)
        trees.append(weakref.ref(other))
        raise ValueError(f"{len(tree.children)} are too many") from None


def test_the_trees_of_a_large_question_are_gone_without_a_full_collection(collected: list[int]) -> None:
    trees: list[weakref.ref[Node]] = []
    garbage.tidied(lambda: _large(trees))
    assert [tree() for tree in trees] == [None]
    assert collected[-1] == 1 and 2 not in collected


def test_so_are_those_of_a_question_that_is_refused_and_the_error_says_where(collected: list[int]) -> None:
    trees: list[weakref.ref[Node]] = []
    with pytest.raises(ValueError, match="too many") as caught:
        garbage.tidied(lambda: _refused(trees))
    assert [tree() for tree in trees] == [None, None, None]
    assert caught.traceback[-1].name == "_refused"
    assert collected[-1] == 1 and 2 not in collected


def test_small_questions_collect_nothing(collected: list[int]) -> None:
    trees: list[weakref.ref[Node]] = []
    for _ in range(10):
        garbage.tidied(lambda: _large(trees, 10))
    assert 1 not in collected and 2 not in collected


def test_nobody_collects_what_others_make(collected: list[int]) -> None:
    """It would count as old, since it is in use: a small question ends while a large one is under way."""
    trees: list[weakref.ref[Node]] = []

    def small() -> None:
        other = threading.Thread(target=_large, args=[trees])
        other.start()
        other.join(60)

    garbage.tidied(small)
    assert len(trees) == 1
    assert 0 in collected and 1 not in collected


def test_turns_collect(collected: list[int]) -> None:
    trees: list[weakref.ref[Node]] = []

    async def act() -> None:
        turns = Turns(1, 1)
        await turns.work("eve", lambda: _large(trees))
        await turns.answer("eve", lambda: _large(trees), lambda _: None)

    run(act())
    assert [tree() for tree in trees] == [None, None]
    assert 1 in collected and 2 not in collected
