"""A process that takes steps of a stream: ``streaming.py FOLDER STEPS``; ``… PLACE`` is killed at a step's place."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from tests.curator.clinics import visits

from discreet.budget.ledger import SqlLedger
from discreet.curator import streams
from discreet.curator.curator import Curator
from discreet.noise.laplace import DiscreteLaplace
from discreet.verbs.ask.stream import Stream

PLACES = ("read", "noise", "written", "sealed", "told")
"""Before rows are read, before noise is added, before the commit, before the seal, before it is told."""


def die(*_: object, **__: object) -> Any:
    os.kill(os.getpid(), signal.SIGKILL)


def last_of(count: int, then: Callable[..., Any]) -> Callable[..., Any]:
    """What works so many times less one, and then kills the process."""
    left = [count]

    def called(*given: object, **named: object) -> Any:
        left[0] -= 1
        return then(*given, **named) if left[0] else die()

    return called


def arm(place: str, draw: int) -> None:
    """Kill this process at a place of the next step; ``draw`` says at which noise."""
    if place == "read":
        Stream.arrivals = die  # type: ignore[method-assign]
    elif place == "noise":
        DiscreteLaplace.add = last_of(draw, DiscreteLaplace.add)  # type: ignore[method-assign]
    elif place == "written":
        streams.digest = die  # type: ignore[assignment]
    elif place == "sealed":
        SqlLedger.charge = die  # type: ignore[method-assign]
    elif place == "told":
        streams.answered = die  # type: ignore[assignment]


def main(folder: str, last: str, place: str = "", draw: str = "1") -> None:
    with Curator(folder) as curator:
        running = curator.find_stream("visits", "admissions")
        for step in range(running.step + 1, int(last) + 1):
            if place and step == int(last):
                arm(place, int(draw))
            told = running.advance(visits(step), step=step).payload
            print(step, told.to_pylist(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
