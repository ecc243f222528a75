"""Coupled replay: a method runs on a table, then on a neighbouring table that is fed with the first run's noise.

Every draw of a mechanism of ``discreet.noise`` is recorded: what it was drawn for and what came out. The second run
gets the same outputs. So everything that is made of noisy figures must come out the same, byte for byte, and what the
figures differ by under the noise is the loss: added up exactly, it is no more than the charge. Bits that are drawn
outside of a mechanism (rows sampled from a model) are the same in both runs. Whatever looks at rows past a mechanism
shows: as another output, another mechanism, or another number of them.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.noise.bits import Repeatable

from discreet.budget.convert import to_approximate
from discreet.core.document import dumps
from discreet.core.exact import exp_minus_between
from discreet.core.loss import Approximate, Concentrated, Loss, Pure
from discreet.core.release import Release, Rows, write_rows
from discreet.core.table import Table
from discreet.noise.additive import Additive
from discreet.noise.entropy import Entropy
from discreet.noise.gaussian import DiscreteGaussian
from discreet.noise.laplace import DiscreteLaplace
from discreet.noise.selection import Exponential, PermuteAndFlip, Selection
from discreet.verbs.publish import safepub
from discreet.verbs.publish.safepub import SafePub

MECHANISMS = (
    (Additive, "add"),
    (Additive, "add_all"),
    *((one, "choose") for one in (Exponential, PermuteAndFlip)),
)
"""Where rows meet noise. What else draws for a figure shows as a difference, until it is here and in ``lost``."""
BITS = "bits"


class Finding(AssertionError):
    """Something that a neighbouring table changed."""


@dataclass(frozen=True)
class Call:
    """One use of randomness: by a mechanism, on exact figures, or for bits that hide nothing."""

    mechanism: object
    shape: tuple[int, ...]
    true: tuple[Any, ...] = ()
    output: Any = None

    def __str__(self) -> str:
        return f"{self.mechanism} for {self.shape}"


class Tape:
    """What was drawn in one run; the second run is given what the first one drew."""

    def __init__(self, seed: int, first: Tape | None = None) -> None:
        self.calls: list[Call] = []
        self._seed = seed
        self._first = first
        self._noise = Repeatable(seed)
        self._inside = False

    @contextmanager
    def running(self) -> Iterator[None]:
        """Record, and replay, all that is drawn in the block."""
        with pytest.MonkeyPatch.context() as patch:
            for owner, name in MECHANISMS:
                patch.setattr(owner, name, self._recorded(getattr(owner, name)))
            record_classes(self, patch)
            patch.setattr(Entropy, "bytes", self._bytes())
            yield
        if self._first is not None and len(self.calls) < len(self._first.calls):
            raise Finding(f"There is one draw less: {self._first.calls[len(self.calls)]}.")

    def draw(self, mechanism: object, shape: tuple[int, ...], true: tuple[Any, ...], drawn: Callable[[], Any]) -> Any:
        """The output of a mechanism for some figures: drawn now, or that of the first run."""
        expected = self._expected(mechanism, shape)
        if expected is not None:
            output = expected.output
        else:
            self._inside = True
            try:
                output = drawn()
            finally:
                self._inside = False
        self.calls.append(Call(mechanism, shape, true, output))
        return output.copy() if isinstance(output, np.ndarray) else output

    def _expected(self, mechanism: object, shape: tuple[int, ...]) -> Call | None:
        if self._first is None:
            return None
        here = Call(mechanism, shape)
        if len(self.calls) == len(self._first.calls):
            raise Finding(f"There is one draw more: {here}.")
        expected = self._first.calls[len(self.calls)]
        if (expected.mechanism, expected.shape) != (mechanism, shape):
            raise Finding(f"Draw {len(self.calls) + 1} was {expected}, and is {here}.")
        return expected

    def _recorded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def recorded(mechanism: Any, true: Any, entropy: Entropy | None = None) -> Any:
            figures = np.asarray(true, dtype=object)
            exact = tuple(figures.ravel().tolist())
            return self.draw(mechanism, figures.shape, exact, lambda: original(mechanism, true, self._noise))

        return recorded

    def _bytes(self) -> Callable[[Entropy, int], bytes]:
        def drawn(_: Entropy, count: int) -> bytes:
            if self._inside:
                return self._noise.bytes(count)
            self._expected(BITS, (count,))
            self.calls.append(Call(BITS, (count,)))
            return Repeatable(_number(self._seed, len(self.calls))).bytes(count)

        return drawn


@dataclass(frozen=True)
class Outcome:
    """What a run charges, and all that leaves of it."""

    loss: Loss
    leaves: dict[str, bytes]


def leaves(release: Release[Any]) -> dict[str, bytes]:
    """All parts of a release as bytes."""
    payload = release.payload
    if isinstance(payload, Rows):
        rows = payload.path.read_bytes()
    elif isinstance(payload, pa.Table):
        buffer = io.BytesIO()
        write_rows(payload, buffer)
        rows = buffer.getvalue() + str(payload.schema).encode() + str(payload.schema.metadata).encode()
    else:
        rows = dumps(payload).encode()
    return {
        "payload": rows,
        "statement": dumps(release.statement.to_dict()).encode(),
        "recipe": dumps(release.recipe.to_dict()).encode(),
        "pictures": "\n".join(picture.figure for picture in release.pictures).encode(),
        "title": release.title.encode(),
        "report": release._repr_html_().encode(),
    }


def recorded(run: Callable[[], Outcome], seed: int) -> tuple[Outcome, Tape]:
    """A run, and what it drew."""
    tape = Tape(seed)
    with tape.running():
        return run(), tape


def replayed(run: Callable[[], Outcome], first: Outcome, tape: Tape, seed: int) -> Lost:
    """What a run on a neighbouring table loses; a ``Finding`` if it is more than the charge, or if anything differs."""
    again = Tape(seed, tape)
    with again.running():
        second = run()
    if second.loss != first.loss:
        raise Finding(f"The charge is {first.loss}, and is {second.loss}.")
    parts = [part for part in {**first.leaves, **second.leaves} if first.leaves.get(part) != second.leaves.get(part)]
    if parts:
        raise Finding(f"The {parts[0]} differs.")
    total = Lost(Fraction(0), Fraction(0))
    for one, other in zip(tape.calls, again.calls, strict=True):
        total += lost(one, other)
    if not total.within(first.loss):
        raise Finding(f"{first.loss} was charged; lost was {total}.")
    return total


@dataclass(frozen=True)
class Lost:
    """A loss as epsilon, if it has one, and as rho; or as the delta that is left beyond the charge's epsilon."""

    epsilon: Fraction | None
    rho: Fraction
    delta: Fraction = Fraction(0)

    def __add__(self, other: Lost) -> Lost:
        both = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return Lost(both, self.rho + other.rho, self.delta + other.delta)

    def within(self, charge: Loss) -> bool:
        """Whether a charge covers it."""
        match charge:
            case Pure():
                return self.epsilon is not None and self.epsilon <= charge.epsilon and not self.delta
            case Concentrated():
                return self.rho <= charge.rho and not self.delta
            case Approximate() if self.delta:
                return self.delta <= charge.delta and not self.rho
            case Approximate():
                return to_approximate(Concentrated(self.rho), charge.delta).epsilon <= charge.epsilon
        raise NotImplementedError(charge)

    def share(self, charge: Loss) -> float:
        """How much of a charge it is."""
        if isinstance(charge, Pure):
            return float((self.epsilon or 0) / charge.epsilon)
        if isinstance(charge, Concentrated):
            return float(self.rho / charge.rho)
        assert isinstance(charge, Approximate)
        if self.delta:
            return float(self.delta / charge.delta)
        return float(to_approximate(Concentrated(self.rho), charge.delta).epsilon / charge.epsilon)


def lost(one: Call, other: Call) -> Lost:
    """What a mechanism loses on figures that differ as these do, exactly."""
    if isinstance(one.mechanism, SampledClasses):
        return Lost(Fraction(0), Fraction(0), one.mechanism.excess(dict(one.true), dict(other.true)))
    moved = [Fraction(a) - Fraction(b) for a, b in zip(one.true, other.true, strict=True)]
    if not any(moved):
        return Lost(Fraction(0), Fraction(0))
    match one.mechanism:
        case DiscreteLaplace(scale=scale):
            epsilon = sum(map(abs, moved), Fraction(0)) / scale
            return Lost(epsilon, epsilon**2 / 2)
        case DiscreteGaussian(sigma_squared=variance):
            return Lost(None, sum((move**2 for move in moved), Fraction(0)) / (2 * variance))
        case Selection(scale=scale):
            # the length of the range of the log-likelihood ratios; of the exponential mechanism ε² / 8 (Dong, Durfee,
            # Rogers 2020; Cesar, Rogers 2021), of others ε² / 2
            epsilon = (max(moved) - min(moved)) / scale
            return Lost(epsilon, epsilon**2 / (8 if isinstance(one.mechanism, Exponential) else 2))
    raise NotImplementedError(f"What {one.mechanism} loses has no rule here.")


@dataclass(frozen=True)
class SampledClasses:
    """What ``SafePub`` draws: of each class of equal rows a sample, which is dropped where it is smaller than k.

    Which classes there are follows from the data, so that draws are told apart by their class and not by their order.
    """

    method: SafePub

    def excess(self, ours: dict[Any, int], theirs: dict[Any, int]) -> Fraction:
        """By how much the charge's epsilon is exceeded: the larger of both directions, over all classes that differ."""
        found = Fraction(0)
        for one in ours.keys() | theirs.keys():
            here, there = (self._law(counts.get(one, 0)) for counts in (ours, theirs))
            found += max(self._beyond(here, there), self._beyond(there, here))
        return found

    def _law(self, rows: int) -> dict[int, Fraction]:
        p, k = self.method.sample, self.method.k
        kept = {j: comb(rows, j) * p**j * (1 - p) ** (rows - j) for j in range(k, rows + 1)}
        return kept | {0: 1 - sum(kept.values(), Fraction(0))}

    def _beyond(self, one: dict[int, Fraction], other: dict[int, Fraction]) -> Fraction:
        factor = 1 / exp_minus_between(self.method.epsilon)[1]  # not above e**epsilon
        apart = (chance - factor * other.get(j, Fraction(0)) for j, chance in one.items())
        return sum((max(each, Fraction(0)) for each in apart), Fraction(0))


def record_classes(tape: Tape, patch: pytest.MonkeyPatch) -> None:
    """Record what ``SafePub`` draws: its classes when it counts them, then the sample of each that is large enough."""
    run, histogram, heads = SafePub.run, Table.histogram, safepub._heads
    waiting: list[tuple[int, int]] = []

    def counted(table: Table, *names: str) -> pa.Table:
        found = histogram(table, *names)
        if running:
            *keys, counts = (found.column(place).to_pylist() for place in range(found.num_columns))
            classes = dict(zip(zip(*keys, strict=True), counts, strict=True))
            method = running[-1]
            drawn = tape.draw(
                SampledClasses(method),
                (),
                tuple(classes.items()),
                lambda: {one: heads(method.sample, n, Entropy()) for one, n in classes.items() if n >= method.k},
            )
            waiting[:] = [(n, drawn.get(one, 0)) for one, n in classes.items() if n >= method.k]
        return found

    def sampled(_: Fraction, coins: int, __: Entropy) -> int:
        n, size = waiting.pop(0)
        assert n == coins
        return size

    running: list[SafePub] = []

    def ran(method: SafePub, table: Table, entropy: Entropy) -> pa.Table:
        running.append(method)
        try:
            return run(method, table, entropy)
        finally:
            running.pop()

    patch.setattr(SafePub, "run", ran)
    patch.setattr(Table, "histogram", counted)
    patch.setattr(safepub, "_heads", sampled)


def _number(*parts: int) -> int:
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:8], "big")
