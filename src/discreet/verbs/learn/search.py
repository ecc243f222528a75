"""Search for models that recur: draw samples of the people, learn from each, and put equal models together.

Why it proves what it says. All that is claimed is that some sets exist: k different ones that give the same model, with
no one in all of them. A search that finds such sets has shown it. Sets that were not drawn can only add to the number,
and only take away from what all have in common; so what was found is a lower bound, and *no one is in all* stays true.

Sets are different only if what is learnt from them is: sets of other people with the very same rows count once. Where
each column is learnt from for itself, every one of them must have been different often enough.

The journal says which sample gave which model, so that a search that was stopped goes on. A sample is a number and the
seed that all of them have in common. Anyone who has the journal and the table can draw all of them again: it is for the
holder alone. It is there until a model is released.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet._version import __version__
from discreet.core.document import dumps, open_private
from discreet.errors import BadInput, DataError, NoPromise
from discreet.noise.masking import Draws
from discreet.releases.method import Progress
from discreet.verbs.learn.frame import Frame, Rows
from discreet.verbs.learn.learner import Learn, Learner, Model, Trainer, digest_of, exact_sums

_BATCH = 20
"""Samples learnt from at a time."""
_TEST = 1
_SAMPLE = 0


@dataclass(frozen=True)
class Pool:
    """The people that samples are drawn from, and those who are set aside."""

    root: int
    people: int
    inside: Rows
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, learn: Learn, people: int, root: int) -> Pool:
        """Draw the people who are set aside."""
        order = Draws(root).at(_TEST).permutation(people)
        inside = np.sort(order[_number_set_aside(learn, people) :])
        return cls(root, people, inside, learn.sizes(len(inside)))

    def sample(self, draw: int) -> NDArray[np.bool_]:
        """Members of the sample with this number."""
        order = Draws(self.root).at(_SAMPLE, draw).permutation(len(self.inside))
        return self._chosen(self.inside[order[: self.sizes[draw % len(self.sizes)]]])

    @property
    def everybody(self) -> NDArray[np.bool_]:
        """All who are not set aside."""
        return self._chosen(self.inside)

    def _chosen(self, who: Rows) -> NDArray[np.bool_]:
        made = np.zeros(self.people, np.bool_)
        made[who] = True
        return made


@dataclass
class Group:
    """Samples that gave the same model."""

    draws: list[int] = field(default_factory=list)
    in_all: NDArray[np.uint8] | None = None
    """People in every one of them, a bit a person."""
    contents: tuple[set[bytes], ...] = ()
    """Digests of their rows: see ``Frame.contents``."""

    @property
    def many(self) -> int:
        """Number of different samples, in the column that differs least."""
        return min(map(len, self.contents), default=0)

    def add(self, draw: int, packed: NDArray[np.uint8], contents: tuple[bytes, ...]) -> None:
        """One more sample."""
        self.draws.append(draw)
        self.contents = self.contents or tuple(set() for _ in contents)
        for held, one in zip(self.contents, contents, strict=True):
            held.add(one)
        self.in_all = packed.copy() if self.in_all is None else self.in_all & packed

    def is_private(self, least: int) -> bool:
        """Whether there are enough of them, and no one is in all."""
        return self.many >= least and self.in_all is not None and not self.in_all.any()


@dataclass(frozen=True)
class Found:
    """The model that was chosen, and the samples that give it."""

    model: Model
    draws: tuple[int, ...]
    pool: Pool
    journal: Journal


def search(learn: Learn, frame: Frame, seed: int | None, progress: Progress) -> Found:
    """The model to release; an error if none recurs."""
    learn.sizes(max(0, frame.people - _number_set_aside(learn, frame.people)))
    journal = Journal.open(learn.journal, _about(learn, frame), seed)
    pool = Pool.of(learn, frame.people, journal.root)
    groups: dict[str, Group] = {}
    seen: set[tuple[bytes, ...]] = set()
    tried = 0
    most = 0
    with _learn_samples(learn, frame, pool, journal) as digests:
        for draw, digest in digests:
            tried += 1
            who = pool.sample(draw)
            if (one := frame.contents(frame.rows_of(who))) not in seen:  # the same rows twice count once
                seen.add(one)
                group = groups.setdefault(digest, Group())
                group.add(draw, np.packbits(who), one)
                most = max(most, group.many)
                if learn.choose == "first" and group.is_private(learn.integral):
                    break
            if tried % _BATCH == 0:
                progress(tried / learn.tries, f"{tried:,} samples; a model came {most:,} times")
    trainer = learn.learner.trainer(frame)
    chosen = _chosen(learn, [one for one in groups.values() if one.is_private(learn.integral)], trainer, pool)
    if chosen is None:
        raise NoPromise(
            f"In {tried:,} tries, no model recurred for {learn.integral} different samples that have no person in "
            "common. Nothing was released.",
            hint="Learn a coarser model (for a tree a smaller grid or depth, or a larger gain; otherwise a larger "
            "step), or from fewer columns or larger samples; or allow more tries, or fewer samples (integral).",
        )
    model, draws = chosen
    return Found(model, draws, pool, journal)


def _number_set_aside(learn: Learn, people: int) -> int:
    """Number of people set aside."""
    return max(1, round(learn.test * people))


def model_of(trainer: Trainer, who: NDArray[np.bool_]) -> Model:
    """The model learnt from these people."""
    return trainer.train(trainer.frame.rows_of(who), exact_sums)


def _chosen(
    learn: Learn, groups: Sequence[Group], trainer: Trainer, pool: Pool
) -> tuple[Model, tuple[int, ...]] | None:
    """The best of the models that recur; of equally good ones that which recurs more often, or came first."""
    rows = trainer.frame.rows_of(pool.everybody)
    best: tuple[tuple[float, int, int], Model, tuple[int, ...]] | None = None
    for group in groups:
        model = model_of(trainer, pool.sample(group.draws[0]))
        worth = trainer.score(model, rows) if learn.choose == "accurate" else 0.0
        rank = (worth, len(group.draws), -group.draws[0])
        if best is None or rank > best[0]:
            best = rank, model, tuple(group.draws)
    return None if best is None else best[1:]


@contextmanager
def _learn_samples(learn: Learn, frame: Frame, pool: Pool, journal: Journal) -> Iterator[Iterator[tuple[int, str]]]:
    """The digest of each sample's model, in the order of the samples: those that are known, and then others."""
    left = [draw for draw in range(learn.tries) if draw not in journal.known]
    batches = [left[at : at + _BATCH] for at in range(0, len(left), _BATCH)]
    known = ((draw, journal.known[draw]) for draw in range(learn.tries) if draw in journal.known)

    def written(made: Iterator[list[str]]) -> Iterator[tuple[int, str]]:
        yield from known
        for batch, digests in zip(batches, made, strict=False):
            journal.add(batch, digests)
            yield from zip(batch, digests, strict=True)

    if min(learn.processes, len(batches)) <= 1:
        trainer = learn.learner.trainer(frame)
        yield written(_digests(trainer, pool, batch) for batch in batches)
        return
    many, spawn = min(learn.processes, len(batches)), get_context("spawn")
    given: Queue[tuple[Learner, Frame, Pool]] = spawn.Queue()  # a process that ends early leaves its share there
    given.cancel_join_thread()
    for _ in range(many):
        given.put((learn.learner, frame, pool))
    try:
        with ProcessPoolExecutor(many, spawn, _Elsewhere.begin, (given,)) as workers:
            try:
                started = [workers.submit(_Elsewhere.digests, batch) for batch in batches]
                yield written(one.result() for one in started)
            finally:
                workers.shutdown(cancel_futures=True)
    except BrokenProcessPool:
        raise BadInput(
            f"One of the {many} processes of the search ended unexpectedly.",
            hint='In a script, ask for several processes below if __name__ == "__main__": since each process imports '
            "the script. If yours does so, memory may have run out: try processes=1.",
        ) from None


class _Elsewhere:
    """A process of its own: it is given the rows once."""

    held: ClassVar[tuple[Trainer, Pool]]

    @classmethod
    def begin(cls, given: Queue[tuple[Learner, Frame, Pool]]) -> None:
        learner, frame, pool = given.get()
        cls.held = learner.trainer(frame), pool

    @classmethod
    def digests(cls, draws: Sequence[int]) -> list[str]:
        return _digests(*cls.held, draws)


def _digests(trainer: Trainer, pool: Pool, draws: Sequence[int]) -> list[str]:
    return [digest_of(model_of(trainer, pool.sample(draw))) for draw in draws]


def _about(learn: Learn, frame: Frame) -> str:
    """Digest of a search: of the rows, and all that a sample's model depends on."""
    said = [__version__, np.__version__, frame.digest, learn.learner.name, dict(learn.learner.parameters())]
    return sha256(dumps([*said, list(learn.shares), learn.test]).encode()).hexdigest()


@dataclass(frozen=True)
class Journal:
    """Samples drawn so far, and the digests of their models."""

    root: int
    """The seed of all samples."""
    known: Mapping[int, str]
    """For the number of a sample the digest of its model."""
    place: Path | None
    seed: int | None
    """The root, if it was given and not drawn: then all samples can be drawn again by anyone who knows it."""

    @classmethod
    def open(cls, place: str | Path | None, about: str, seed: int | None) -> Journal:
        """The journal at ``place``, or a new one; ``about`` tells this search from any other."""
        if place is None or not Path(place).exists():
            root = Draws.of(seed).root
            if place is not None:
                with open_private(Path(place)) as file:
                    file.write(_line({"about": about, "seed": str(root), "given": seed is not None}))
            return cls(root, {}, None if place is None else Path(place), seed)
        file_ = Path(place)
        whole = file_.read_bytes()
        lines = whole[: whole.rfind(b"\n") + 1].splitlines()  # a last line may have been cut off
        try:
            head, *others = [json.loads(line) for line in lines]
            root, known = int(head["seed"]), {int(one["draw"]): str(one["model"]) for one in others}
            same, given = head["about"] == about, head["given"] is True or seed is not None
        except (ValueError, TypeError, KeyError):
            raise DataError(f"{place} is not the journal of a search.", hint="Name another file.") from None
        if not same or seed not in (None, root):
            raise BadInput(
                f"{place} is the journal of another search: of other rows, or with other parameters.",
                hint="Name another file, or remove it to start again.",
            )
        with file_.open("r+b") as file:
            file.truncate(whole.rfind(b"\n") + 1)
        return cls(root, known, file_, root if given else None)

    def add(self, draws: Sequence[int], models: Sequence[str]) -> None:
        """Write down what samples gave."""
        if self.place is not None:
            with self.place.open("ab") as file:
                file.writelines(_line({"draw": one, "model": model}) for one, model in zip(draws, models, strict=True))

    def done(self) -> None:
        """Take the journal away: the search is over."""
        if self.place is not None:
            self.place.unlink(missing_ok=True)


def _line(said: Mapping[str, object]) -> bytes:
    return json.dumps(said).encode() + b"\n"
