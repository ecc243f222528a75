"""Run a release in processes that are killed, one at each step of the pipeline, and then again: ``python killed.py VERB
FOLDER``. Each step has its own folder, in which the release is ``r`` and the holder's copy ``r.holder.parquet``."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import discreet as dc
from discreet.core import release as release_module
from discreet.core.holder_copy import HolderCopy
from discreet.releases import pipeline
from discreet.releases.registration import Weighed

METHODS: dict[str, Callable[..., Any]] = {
    "publish": lambda table, **places: dc.publish(table, "mondrian", "k=2", **places),
    "mask": lambda table, **places: dc.publish(table, "noise alpha=1", **places),
    "synthesize": lambda table, **places: dc.synthesize(table, "resample", **places),
    "learn": lambda table, **places: dc.learn(
        table, "statistics of=mean step=0.5 integral=2 tries=30 test=10% on age", **places
    ),
    "tabulate": lambda table, **places: dc.tabulate(table, "town", rules="min=2", **places),
    "hide": lambda table, **places: dc.hide(table, itemsets=["town=a, ill=yes"], support=2, **places),
}
STEPS = (  # of which each leaves other files behind than the one before, or runs other code
    "after earlier_releases",
    "checking",
    "after weigh",
    "before draft",
    "after _write",
    "after register",
    "after saving the copy",
    "after give_name",
)


def main(verb: str, folder: Path) -> None:
    """Kill at every step, then make the release again, in processes of their own."""
    if verb in ("hide", "tabulate"):  # what takes long to load is loaded once; none of it leaves threads behind
        _release(verb, folder, "first", lambda done, what: None)
    for place in STEPS:
        here = folder / place.replace(" ", "-")
        killed = _run(lambda here=here, place=place: _die_at(place, lambda tell: _release(verb, here, "r", tell)))
        assert os.WIFSIGNALED(killed) and os.WTERMSIG(killed) == signal.SIGKILL, f"{verb} never came to {place!r}"
        again = "r2" if (here / "r").exists() else "r"
        assert _run(lambda here=here, again=again: _release(verb, here, again, lambda done, what: None)) == 0, place


def _release(verb: str, here: Path, name: str, tell: Callable[[float, str], None]) -> None:
    table = dc.read(here / "people.parquet", here / "people.toml")
    METHODS[verb](table, to=here / name, holder=here / f"{name}.holder.parquet", progress=tell)


def _run(work: Callable[[], None]) -> int:
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            sys.stdout.flush()
            os._exit(code)
    return os.waitpid(child, 0)[1]


def _die_at(place: str, make: Callable[[Callable[[float, str], None]], None]) -> None:
    def reach(step: str) -> None:
        if step == place:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(module: Any, name: str) -> None:
        real = getattr(module, name)

        def watched(*args: Any, **options: Any) -> Any:
            reach(f"before {name}")
            result = real(*args, **options)
            reach(f"after {name}")
            return result

        setattr(module, name, watched)

    for name in ("earlier_releases", "weigh", "draft"):
        watch(pipeline, name)
    watch(Weighed, "register")
    for name in ("_write", "give_name"):
        watch(release_module, name)
    real = HolderCopy.saving

    @contextmanager
    def saving(copy: HolderCopy, file: Any) -> Any:
        with real(copy, file):
            reach("after saving the copy")
            yield

    HolderCopy.saving = saving  # type: ignore[method-assign]
    make(lambda done, what: reach(what))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
